/* SPDX-License-Identifier: MIT */
/*
 * Owns the model of a run: all contents of a run block or a run document, in the structures of the
 * interface (run/records.def). There are two producers (run/decode.c from a block,
 * format/document_read.c from JSON) and many consumers (sinks, report, the public accessors). They
 * share nothing but this model.
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

/* The parts of a capture. */
#define RM_PART_SERIES  1U
#define RM_PART_SUMMARY 2U /* columns and their statistics */
#define RM_PART_SCOPES  4U
#define RM_PART_SOURCES 8U
#define RM_PART_TAGS    16U
#define RM_PART_EVENTS  32U
#define RM_PART_STACKS  64U
#define RM_PART_ALL     127U
#define RM_PART_NAMES   128U /* symbolize stacks once the monitor has stopped; this reads files */

/* A thread that has events. */
struct rm_run_thread {
    uint64_t id; /* the kernel's thread id */
    const char *name;
};

/* One instance of a scope.  Sorted by thread, then by start, outer ones first. */
struct rm_run_event {
    int64_t start_ns; /* since the start of the run */
    int64_t duration_ns;
    uint32_t name;    /* index */
    uint32_t thread;  /* index */
    uint16_t depth;   /* 0: outermost */
    uint16_t is_open; /* the scope is open at the end of the run; its duration lasts until then */
};

#define RM_SERIES_KINDS 4 /* RESMON_SERIES_LAST ... MEAN */

/* "last", "min", "max", "mean": the names in documents and tables. */
RM_SHARED extern const char *const rm_series_names[RM_SERIES_KINDS];

struct resmon_run {
    uint32_t references; /* atomic */
    struct rm_arena strings;
    struct rm_arena working; /* used only while the run is filled */
    resmon_run_info info;
    resmon_run_usage usage; /* valid if rm_run_has_usage() */
    resmon_run_end end;     /* as recorded; rm_run_end() considers the state, too */

    struct rm_fact *facts;
    size_t fact_count;
    resmon_run_source *sources;
    size_t source_count;
    resmon_column *columns; /* `metric` is the table's own text, if the table has it */
    size_t column_count;
    uint32_t
        *metric_starts; /* where the metric of the columns changes; none: look at all columns */
    size_t metric_start_count;
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
    resmon_run_process *processes; /* processes of joined runs */
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
    int keeps_events;                /* events are kept; there may be none yet */
    uint64_t event_room;             /* while the run is filled: reserved capacity */
    struct rm_caught_events *caught; /* while the run is filled; in `working` */

    resmon_run_line *lines;
    size_t line_count;
    struct rm_run_profile profile;
};

/** Increments the reference count, which rm_run_free() decrements; NULL stays NULL. */
RM_SHARED struct resmon_run *rm_run_ref(const struct resmon_run *run);

/** Decrements the reference count; at 0, frees the run. */
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

/** The number of dropped scope instances whose call path is in the tree. */
static inline uint64_t rm_run_scopes_past_bounds(const resmon_run_info *info)
{
    return info->dropped_scopes > info->dropped_paths ? info->dropped_scopes - info->dropped_paths
                                                      : 0;
}

/** Adds the cost of the scopes of a part, and the numbers of dropped scopes. */
void rm_run_add_costs(resmon_run_info *info, const resmon_run_info *part);

/** Sets the sum of all costs. */
RM_SHARED void rm_run_sum_costs(resmon_run_info *info);

/** One series of a column: row_count doubles. */
static inline double *rm_run_series(const struct resmon_run *run, size_t column, int kind)
{
    return run->values + (column * RM_SERIES_KINDS + (size_t)kind) * run->row_count;
}

/** The series that RESMON_SERIES_VALUE selects in a column; any other series is returned unchanged.
 */
static inline int32_t rm_run_series_meant(const resmon_column *column, int32_t series)
{
    int32_t value = column->kind == RESMON_COUNTER ? RESMON_SERIES_LAST : RESMON_SERIES_MEAN;
    return series == RESMON_SERIES_VALUE ? value : series;
}

/** Whether a column is of the whole run, not of one node of a merged run. */
static inline bool rm_run_is_of_all(const struct resmon_run *run, const resmon_column *column)
{
    return run->node_count == 0 || column->level == RESMON_LEVEL_JOB;
}

/* The name of a column in tables, in parts: "node.fs.used[/home]". */
struct rm_column_name {
    const char *parts[4];
};

static inline struct rm_column_name rm_run_column_name(const resmon_column *column)
{
    bool has_instance = column->instance[0] != '\0';
    return (struct rm_column_name){
        {column->metric, has_instance ? "[" : "", column->instance, has_instance ? "]" : ""}};
}

/** How the program ended; from the run's state if the end is not recorded. */
RM_SHARED resmon_run_end rm_run_end(const struct resmon_run *run);

/** Whether the program ended before its second sample and recorded no end (an exec, SIGKILL). Then
 * its duration is not known, nor the growth of any value. */
static inline bool rm_run_has_one_sample(const struct resmon_run *run)
{
    const char *state = run->info.state;
    return run->info.samples < 2 && state != NULL && strcmp(state, "interrupted") == 0;
}

/** Whether the run has the kernel's account of the process at its end. */
static inline bool rm_run_has_usage(const struct resmon_run *run)
{
    return run->usage.user_s + run->usage.system_s > 0.0;
}

/* The text of the end of a program that the kernel killed for lack of memory. The kernel reports
 * OOM kills for a control group, not for a process. So the end is taken as such if SIGKILL ended
 * the program and oom_kill of its control group has risen. */
#define RM_END_OUT_OF_MEMORY "out of memory"

RM_SHARED bool rm_end_is_out_of_memory(const resmon_run_end *end);

#define RM_RANK_NAME_BYTES 96

/** The name of a rank of a merged run: "rank 3 on n2"; or "process 815 on n2" for a run without a
 * rank. */
RM_SHARED void rm_rank_describe(const struct resmon_run *run, size_t rank,
                                char text[RM_RANK_NAME_BYTES]);

/** A time of the run as real time. A time beyond the representable range becomes the last
 * representable time. */
RM_SHARED int64_t rm_run_realtime_ns(const struct resmon_run *run, int64_t t_ns);

/** A fact, or NULL; its value, or ""; its number, or NaN. */
RM_SHARED const struct rm_fact *rm_run_fact(const struct resmon_run *run, const char *group,
                                            const char *key);
RM_SHARED const char *rm_run_fact_text(const struct resmon_run *run, const char *group,
                                       const char *key);
RM_SHARED double rm_run_fact_number(const struct resmon_run *run, const char *group,
                                    const char *key);

/** The pid of the run's process; 0 if it is not known, as in a changed document. */
RM_SHARED int64_t rm_run_pid(const struct resmon_run *run);

/** The title of a run: its given name, else the program or script; "run" if neither is known. */
RM_SHARED const char *rm_run_title(const struct resmon_run *run);

/** The name of the node in the batch system, else the name of the host; "" if not known. */
RM_SHARED const char *rm_run_node_name(const struct resmon_run *run);

/** Whether this run reports the metrics of the host. Of all processes of a job on a host, one run
 * reports them. */
RM_SHARED bool rm_run_reports_host(const struct resmon_run *run);

/** Whether the processes of a job, or of any group (a cgroup or a job), were observed from outside.
 */
RM_SHARED bool rm_run_is_of_job(const struct resmon_run *run);
RM_SHARED bool rm_run_is_of_group(const struct resmon_run *run);

/** Makes the index of a run with many columns, as merged runs have; after the last change of its
 * columns. A failed allocation sticks in its arenas. */
RM_SHARED void rm_run_index_columns(struct resmon_run *run);

/** The column of a metric and instance (NULL: the first of the metric), or -1. */
RM_SHARED int64_t rm_run_find_column(const struct resmon_run *run, const char *metric,
                                     const char *instance);

/** The column of a metric by its id, and instance (NULL: the first of the metric), or -1. */
RM_SHARED int64_t rm_run_column_of(const struct resmon_run *run, uint32_t metric,
                                   const char *instance);

/** For a merged run: the column of node `node` for a metric and instance, where `all` is its column
 * of all nodes. -1 if there is no such column, or `all` is -1. */
RM_SHARED int64_t rm_run_node_column(const struct resmon_run *run, int64_t all, size_t node);

/** The statistics of a metric's column; NULL if it was never read. */
RM_SHARED const resmon_column *rm_run_statistics_of(const struct resmon_run *run, uint32_t metric,
                                                    const char *instance);

/** The last value of a metric's column; NaN if it was never read. */
RM_SHARED double rm_run_last_of(const struct resmon_run *run, uint32_t metric,
                                const char *instance);

/** The growth of a counter. NaN if it was read once only and counts from this reading on (counters
 * of energy may count from the start on). */
double rm_run_growth_of(const struct resmon_run *run, uint32_t metric, const char *instance);

/** The statistics of a metric on one node of a merged run; NULL if it was not measured. */
RM_SHARED const resmon_column *rm_run_node_statistics(const struct resmon_run *run, uint32_t metric,
                                                      size_t node);

/* How to decode a block. */
struct rm_decode {
    unsigned parts; /* RM_PART_* */
    int is_live;    /* this process writes it: open scopes last until `now` */
    int is_written; /* another process writes it: the run is "running" */
    struct rm_clock_pair now;
};

/** Sets the statistics of a column except its quantiles; sets nothing if the column was never read.
 */
void rm_run_set_statistics(resmon_column *column, const struct rm_stats *stats);

/** Sorts events of untrusted origin. */
void rm_run_sort_events(struct resmon_run *run);

/** Decodes a block into a run. */
resmon_status rm_run_decode(const struct rm_block *block, const struct rm_decode *how,
                            struct resmon_run **ret_run);

/** Adds the processes of `block` to `run`, which has no processes. They may change meanwhile.
 * Trusts nothing in the block. RESMON_ENOMEM. */
resmon_status rm_run_decode_processes(const struct rm_block *block, struct resmon_run *run);

/*
 * rm_run_decode() in steps, for a live block. The caller holds the engine's locks for measuring and
 * for filling, but not for the allocation in between. The allocation includes a reserve for records
 * that are added meanwhile. The last step also needs no locks; it frees the working memory,
 * whatever it returns.
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

/** Bytes of working memory for merging so many nodes of scopes, plus the bytes of the result. */
size_t rm_run_scopes_working(uint64_t nodes);
size_t rm_run_scopes_result(uint64_t nodes);

/** Part of rm_run_fill(): the scopes, aggregated over threads by the names along their paths. */
void rm_run_decode_scopes(const struct rm_block *block, const struct rm_decode *how,
                          double ns_per_tick, struct resmon_run *run);

/** Number of instances that shortest, longest and deviation cover. Each stretch of a suspended call
 * counts. */
static inline uint64_t rm_scope_ended(const resmon_run_scope *scope)
{
    return scope->calls + scope->resumed - scope->open;
}

/** The highest RSS in the process's life, from the kernel's high-water mark; NaN: not known. */
RM_SHARED double rm_run_life_rss(const struct resmon_run *run);

/** The highest number of events to copy; and the memory that they are copied to. */
uint64_t rm_run_events_extent(const struct rm_block *block);
size_t rm_run_events_working(const struct rm_block_sizes *sizes, uint64_t events);

/** Part of rm_run_fill(): copies the events; rm_run_finish() converts them. */
void rm_run_catch_events(const struct rm_block *block, const struct rm_decode *how,
                         double ns_per_tick, struct resmon_run *run);

#endif
