/* SPDX-License-Identifier: MIT */
/*
 * Owns the model of a run: everything that a run block or a run document says, in the structures of
 * the interface (run/records.def).
 * There are two producers (run/decode.c from a block, format/document_read.c from JSON) and
 * many consumers (sinks, report, the public accessors); nothing else passes between them.
 */
#ifndef RM_RUN_RUN_H
#define RM_RUN_RUN_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include <resmon/records.h>
#include <resmon/run.h>

#include "base/alloc.h"
#include "base/compiler.h"
#include "run/profile.h"
#include "store/run_records.h"
#include "store/scope_records.h"
#include "store/scope_tree.h"
#include "store/series.h"

/* Which parts a capture holds. */
#define RM_PART_SERIES  1U
#define RM_PART_SUMMARY 2U /* columns and their statistics */
#define RM_PART_SCOPES  4U
#define RM_PART_SOURCES 8U
#define RM_PART_TAGS    16U
#define RM_PART_EVENTS  32U
#define RM_PART_STACKS  64U
#define RM_PART_ALL     127U
#define RM_PART_NAMES   128U /* of the stacks, once the monitor has stopped: files are read */

/* A thread that has events. */
struct rm_run_thread {
    uint64_t id; /* the kernel's */
    const char *name;
};

/* One instance of a scope.  Sorted by thread, then by start, outer ones first. */
struct rm_run_event {
    int64_t start_ns; /* since the start of the run */
    int64_t duration_ns;
    uint32_t name;    /* index */
    uint32_t thread;  /* index */
    uint16_t depth;   /* 0: outermost */
    uint16_t is_open; /* at the end of the run, until when it is taken to last */
};

#define RM_SERIES_KINDS 4 /* RESMON_SERIES_LAST ... MEAN */

/* "last", "min", "max", "mean": what documents and tables call them. */
RM_SHARED extern const char *const rm_series_names[RM_SERIES_KINDS];

struct resmon_run {
    uint32_t references; /* atomic */
    struct rm_arena strings;
    struct rm_arena working; /* only while it is filled */
    resmon_run_info info;
    resmon_run_usage usage; /* if rm_run_has_usage() */
    resmon_run_end end;     /* as it was said: rm_run_end() knows the state, too */

    struct rm_fact *facts;
    size_t fact_count;
    resmon_run_source *sources;
    size_t source_count;
    resmon_column *columns; /* `metric` is the table's own text, if that has it */
    size_t column_count;
    int64_t *t_first; /* per row */
    int64_t *t_last;
    uint64_t *row_samples;
    double *values; /* [column][RM_SERIES_KINDS][row] */
    size_t row_count;
    resmon_run_tag *tags;
    size_t tag_count;
    resmon_run_scope *scopes;
    size_t scope_count;
    resmon_run_scope *names; /* scopes by name (run/scope_sums.h) */
    size_t name_count;
    resmon_run_counter *counters; /* RM_SCOPE_COUNTERS at most */
    size_t counter_count;
    resmon_run_process *processes; /* that were joined */
    size_t process_count;
    resmon_run_node *nodes; /* of a merged run (lib/reader/merge) */
    size_t node_count;
    resmon_run_rank *ranks; /* by rank */
    size_t rank_count;
    double *rank_walls;            /* [scope][rank], ns; NaN: the rank was not in it */
    struct rm_run_thread *threads; /* by id */
    size_t thread_count;
    const char **event_names;
    size_t event_name_count;
    struct rm_run_event *events;
    size_t event_count;
    int keeps_events;                /* none may have come yet */
    uint64_t event_room;             /* while it is filled: what was reserved */
    struct rm_caught_events *caught; /* while it is filled: in `working` */

    resmon_run_line *lines;
    size_t line_count;
    struct rm_run_profile profile;
};

/** An empty run with one reference, or NULL. */
RM_SHARED struct resmon_run *rm_run_new(void);

/** Adds a reference, which rm_run_free() drops; NULL stays NULL. */
RM_SHARED struct resmon_run *rm_run_ref(const struct resmon_run *run);

/** Drops a reference; the last one frees the run. */
RM_SHARED void rm_run_free(struct resmon_run *run);

/** Whether an allocation in the arenas of the run has failed. */
static inline bool rm_run_is_broken(const struct resmon_run *run)
{
    return run->strings.is_broken || run->working.is_broken;
}

/** RESMON_ENOMEM if rm_run_is_broken(). */
resmon_status rm_run_check_memory(const struct resmon_run *run);

/** RESMON_ENOMEM with its text. */
resmon_status rm_run_out_of_memory(void);

/** The wall times of the ranks in a scope, rank_count of them. */
static inline double *rm_run_rank_walls(const struct resmon_run *run, size_t scope)
{
    return run->rank_walls + scope * run->rank_count;
}

/** How many of the dropped scope instances were dropped although their call path is in the tree. */
static inline uint64_t rm_run_scopes_past_bounds(const resmon_run_info *info)
{
    return info->dropped_scopes > info->dropped_paths ? info->dropped_scopes - info->dropped_paths
                                                      : 0;
}

/** Adds what the scopes of a part cost, and what was dropped of them. */
void rm_run_add_costs(resmon_run_info *info, const resmon_run_info *part);

/** Sets what the costs are together. */
RM_SHARED void rm_run_sum_costs(resmon_run_info *info);

/** One series of a column: row_count doubles. */
static inline double *rm_run_series(const struct resmon_run *run, size_t column, int kind)
{
    return run->values + (column * RM_SERIES_KINDS + (size_t)kind) * run->row_count;
}

/** The series that RESMON_SERIES_VALUE is in a column; every other is itself. */
static inline int32_t rm_run_series_meant(const resmon_column *column, int32_t series)
{
    int32_t value = column->kind == RESMON_COUNTER ? RESMON_SERIES_LAST : RESMON_SERIES_MEAN;
    return series == RESMON_SERIES_VALUE ? value : series;
}

/* What tables call a column, in parts: "node.fs.used[/home]". */
struct rm_column_name {
    const char *parts[4];
};

static inline struct rm_column_name rm_run_column_name(const resmon_column *column)
{
    bool has_instance = column->instance[0] != '\0';
    return (struct rm_column_name){
        {column->metric, has_instance ? "[" : "", column->instance, has_instance ? "]" : ""}};
}

/** How the program ended: where nobody said it, by the run's state. */
RM_SHARED resmon_run_end rm_run_end(const struct resmon_run *run);

/** Whether it ended before its second sample, without a word (an exec, SIGKILL): then nothing is
 * known of its time, nor of what grew meanwhile. */
static inline bool rm_run_has_one_sample(const struct resmon_run *run)
{
    const char *state = run->info.state;
    return run->info.samples < 2 && state != NULL && strcmp(state, "interrupted") == 0;
}

/** Whether somebody said what the kernel had accounted to the process when it ended. */
static inline bool rm_run_has_usage(const struct resmon_run *run)
{
    return run->usage.user_s + run->usage.system_s > 0.0;
}

/* The text of the end of a program that the kernel killed for lack of memory, which it says of a
 * control group, and not of a process: by SIGKILL, where oom_kill of its group has risen. */
#define RM_END_OUT_OF_MEMORY "out of memory"

RM_SHARED bool rm_end_is_out_of_memory(const resmon_run_end *end);

/** "failed", "killed by SIGKILL (out of memory)", else the run's state: for the middle of a
 * sentence. */
RM_SHARED void rm_end_describe(const struct resmon_run *run, char text[64]);

#define RM_RANK_NAME_BYTES 96

/** Of a merged run: "rank 3 on n2", and "process 815 on n2" of a run without a rank. */
RM_SHARED void rm_rank_describe(const struct resmon_run *run, size_t rank,
                                char text[RM_RANK_NAME_BYTES]);

/** A time of the run as real time; what cannot be told is the last moment that can. */
RM_SHARED int64_t rm_run_realtime_ns(const struct resmon_run *run, int64_t t_ns);

/** A fact, or NULL; its value, or ""; its number, or NaN. */
RM_SHARED const struct rm_fact *rm_run_fact(const struct resmon_run *run, const char *group,
                                            const char *key);
RM_SHARED const char *rm_run_fact_text(const struct resmon_run *run, const char *group,
                                       const char *key);
RM_SHARED double rm_run_fact_number(const struct resmon_run *run, const char *group,
                                    const char *key);

/** The process that it is of; 0: it is not known, as in a document that was changed. */
RM_SHARED int64_t rm_run_pid(const struct resmon_run *run);

/** What people call it: the name that it was given, else the program or script; "run" where neither
 * is known. */
RM_SHARED const char *rm_run_title(const struct resmon_run *run);

/** The node as the batch system calls it, else the name of the host; "" when not known. */
RM_SHARED const char *rm_run_node_name(const struct resmon_run *run);

/** Whether the figures of the machine are this run's: of a job's processes on a host, one run has
 * them. */
RM_SHARED bool rm_run_reports_host(const struct resmon_run *run);

/** The column of a metric and instance (NULL: the first of the metric), or -1. */
RM_SHARED int64_t rm_run_find_column(const struct resmon_run *run, const char *metric,
                                     const char *instance);

/** The column of a metric by its id, and instance (NULL: the first of the metric), or -1. */
RM_SHARED int64_t rm_run_column_of(const struct resmon_run *run, uint32_t metric,
                                   const char *instance);

/** Of a merged run: the column of node `node` of the metric whose column of all nodes is `all`; -1:
 * there is none, or `all` is none. */
RM_SHARED int64_t rm_run_node_column(const struct resmon_run *run, int64_t all, size_t node);

/** The statistics of a metric's column; NULL where it was never read. */
RM_SHARED const resmon_column *rm_run_statistics_of(const struct resmon_run *run, uint32_t metric,
                                                    const char *instance);

/** The last value of a metric's column; NaN where it was never read. */
RM_SHARED double rm_run_last_of(const struct resmon_run *run, uint32_t metric,
                                const char *instance);

/** By how much a counter grew; NaN of one that was read once, and counts from there on (counters of
 * energy may count from the start on). */
double rm_run_growth_of(const struct resmon_run *run, uint32_t metric, const char *instance);

/** The statistics of a metric on one node of a merged run; NULL when it was not measured. */
RM_SHARED const resmon_column *rm_run_node_statistics(const struct resmon_run *run, uint32_t metric,
                                                      size_t node);

/* How a block is to be seen. */
struct rm_decode {
    unsigned parts; /* RM_PART_* */
    int is_live;    /* this process writes it: open scopes last until `now` */
    int is_written; /* another process does: it is not interrupted */
    struct rm_clock_pair now;
};

/** Sets the statistics of a column but its quantiles; nothing where it was never read. */
void rm_run_set_statistics(resmon_column *column, const struct rm_stats *stats);

/** Puts events of outside origin into their order. */
void rm_run_sort_events(struct resmon_run *run);

/** Makes a run of what a block holds. */
resmon_status rm_run_decode(const struct rm_block *block, const struct rm_decode *how,
                            struct resmon_run **ret_run);

/** Adds the processes of `block` to `run`, which has none.  They may change meanwhile.  Trusts
 * nothing in the block; RESMON_ENOMEM. */
resmon_status rm_run_decode_processes(const struct rm_block *block, struct resmon_run *run);

/*
 * rm_run_decode() in steps, for a block that is live.  The caller holds the engine's locks for
 * measuring and for filling, but not for allocating in between; there is room for what may come
 * meanwhile. Nor for the last step, which frees what it worked in, whatever it returns.
 */
struct rm_run_extent {
    uint64_t rows, tags, nodes, fact_bytes, events;
};

struct rm_run_extent rm_run_measure(const struct rm_block *block);
resmon_status rm_run_prepare(const struct rm_block *block, struct rm_run_extent extent,
                             unsigned parts, struct resmon_run **ret_run);
resmon_status rm_run_fill(const struct rm_block *block, const struct rm_decode *how,
                          struct resmon_run *run);
resmon_status rm_run_finish(const struct rm_block *block, struct resmon_run *run);

/** What merging that many nodes of scopes works in, and what their result takes. */
size_t rm_run_scopes_working(uint64_t nodes);
size_t rm_run_scopes_result(uint64_t nodes);

/** Part of rm_run_fill(): the scopes, aggregated over threads by the names along their paths. */
void rm_run_decode_scopes(const struct rm_block *block, const struct rm_decode *how,
                          double ns_per_tick, struct resmon_run *run);

/** How many instances shortest, longest and deviation are of: with each stretch of a call that was
 * suspended. */
static inline uint64_t rm_scope_ended(const resmon_run_scope *scope)
{
    return scope->calls + scope->resumed - scope->open;
}

/** The highest RSS of the process's life by the kernel's mark; NaN: not known. */
RM_SHARED double rm_run_life_rss(const struct resmon_run *run);

/** How many events there are to copy at most, and what they are copied to. */
uint64_t rm_run_events_extent(const struct rm_block *block);
size_t rm_run_events_working(const struct rm_block_sizes *sizes, uint64_t events);

/** Part of rm_run_fill(): copies the events; rm_run_finish() converts them. */
void rm_run_catch_events(const struct rm_block *block, const struct rm_decode *how,
                         double ns_per_tick, struct resmon_run *run);

#endif
