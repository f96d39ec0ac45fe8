/* SPDX-License-Identifier: MIT */
/*
 * Owns the model of a run: everything that a run block or a run document says, in plain structures.
 * There are two producers (store/run_decode.c from a block, sink/document_read.c from JSON) and
 * many consumers (sinks, report, the public accessors); nothing else passes between them.
 */
#ifndef RM_STORE_RUN_H
#define RM_STORE_RUN_H

#include <stdbool.h>
#include <stdint.h>

#include <resmon/metric.h>
#include <resmon/run.h>

#include "base/arena.h"
#include "store/facts.h"
#include "store/profile.h"
#include "store/scope_counts.h"
#include "store/scope_tree.h"
#include "store/series.h"
#include "store/source.h"

/* Which parts a capture holds. */
#define RM_PART_SERIES  1U
#define RM_PART_SUMMARY 2U /* columns and their statistics */
#define RM_PART_SCOPES  4U
#define RM_PART_SOURCES 8U
#define RM_PART_TAGS    16U
#define RM_PART_EVENTS  32U
#define RM_PART_STACKS  64U
#define RM_PART_ALL     127U

struct rm_run_statistics {
    uint64_t n;
    uint64_t resets;
    double first, last, min, max, mean, integral, p50, p95;
    double duration_s; /* that the mean is over */
    double over_s[RM_OVER_COUNT];
};

struct rm_run_column {
    const char *metric; /* name */
    const char *unit;
    const char *instance;
    const char *source;
    int32_t kind;
    int32_t level;
    struct rm_run_statistics stats;
};

struct rm_run_tag {
    int64_t t_ns;
    const char *label;
};

struct rm_run_source {
    const char *name;
    const char *reason; /* "" when there is nothing to say */
    int32_t status;
    int32_t provenance;
    uint64_t reads, failures, cost_ns, cost_max_ns, every;
};

/* A call path, all threads together.  Preorder: a parent stands before its children. */
struct rm_run_scope {
    const char *name, *file, *function;
    uint32_t line;
    int64_t parent; /* index; -1: top */
    uint32_t depth;
    uint32_t threads;
    uint64_t calls, folded, open;
    double total_ns, self_ns, min_ns, max_ns, stddev_ns, open_ns;
    /* Meters: instances that were metered, and figures scaled to all calls; NaN: not metered. */
    uint64_t cpu_calls, io_calls, rss_calls;
    double cpu_ns, io[RM_IO_FIELDS], rss_peak_bytes;
    int32_t cpu_provenance, io_provenance, rss_provenance;
    double energy_j, energy_doubt_j; /* NaN: not known */
    /* Counters, in their order; NaN: not counted. */
    uint64_t counter_calls;
    double counts[RM_SCOPE_COUNTERS], counter_running; /* share of the time, 0 ... 1 */
    int32_t counter_provenance;
};

/* A performance counter of scopes. */
struct rm_run_counter {
    const char *name, *unit;
    const char *reason; /* why it is not counted, or what it stands for; "" */
    int32_t status;
};

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

/* A checkpoint of a line: the stretches that ended there. */
struct rm_run_line {
    const char *file, *function;
    uint32_t line;
    uint64_t hits, rss_hits;
    double wall_ns;
    double rss_bytes;     /* by which the RSS grew; NaN: not known */
    double rss_max_bytes; /* the highest when the line was passed; NaN: not known */
};

/* What observing cost, and what was dropped for want of room. */
struct rm_run_overhead {
    struct rm_sampler_cost sampler;
    double scopes_ns;      /* estimated: instances * measured cost of one */
    uint64_t memory_bytes; /* of the run block */
};

struct rm_run_dropped {
    uint64_t tags, threads, scopes, paths, stale_ends, misordered_ends, events, lines;
};

#define RM_SERIES_KINDS 4 /* RESMON_SERIES_LAST ... MEAN */

/* "last", "min", "max", "mean": what documents and tables call them. */
extern const char *const rm_series_names[RM_SERIES_KINDS];

struct resmon_run {
    uint32_t references; /* atomic */
    struct rm_arena strings;
    struct rm_arena working; /* only while it is filled */
    const char *state;       /* "running", "stopped" or "interrupted" */
    const char *label;
    int64_t start_realtime_ns;
    int64_t duration_ns;
    uint64_t samples, stride, halvings;

    struct rm_fact *facts;
    size_t fact_count;
    struct rm_run_source *sources;
    size_t source_count;
    struct rm_run_column *columns;
    size_t column_count;
    int64_t *t_first; /* per row */
    int64_t *t_last;
    uint64_t *row_samples;
    double *values; /* [column][RM_SERIES_KINDS][row] */
    size_t row_count;
    struct rm_run_tag *tags;
    size_t tag_count;
    struct rm_run_scope *scopes;
    size_t scope_count;
    struct rm_run_counter *counters; /* RM_SCOPE_COUNTERS at most */
    size_t counter_count;
    struct rm_run_thread *threads; /* by id */
    size_t thread_count;
    const char **event_names;
    size_t event_name_count;
    struct rm_run_event *events;
    size_t event_count;
    int keeps_events;                /* none may have come yet */
    uint64_t event_room;             /* while it is filled: what was reserved */
    struct rm_caught_events *caught; /* while it is filled: in `working` */

    struct rm_run_line *lines;
    size_t line_count;
    struct rm_run_profile profile;
    struct rm_run_overhead overhead;
    struct rm_run_dropped dropped;
};

/** An empty run with one reference, or NULL. */
struct resmon_run *rm_run_new(void);

/** One more holder, who gives it back with rm_run_free(); NULL stays NULL. */
struct resmon_run *rm_run_ref(const struct resmon_run *run);

/** Gives a reference back; the last one frees. */
void rm_run_free(struct resmon_run *run);

/** Statistics of nothing: all NaN. */
struct rm_run_statistics rm_run_statistics_none(void);

/** One series of a column: row_count doubles. */
static inline double *rm_run_series(const struct resmon_run *run, size_t column, int kind)
{
    return run->values + (column * RM_SERIES_KINDS + (size_t)kind) * run->row_count;
}

/** The series that RESMON_SERIES_VALUE is in a column; every other is itself. */
static inline int32_t rm_run_series_meant(const struct rm_run_column *column, int32_t series)
{
    int32_t value = column->kind == RESMON_COUNTER ? RESMON_SERIES_LAST : RESMON_SERIES_MEAN;
    return series == RESMON_SERIES_VALUE ? value : series;
}

/* What tables call a column, in parts: "node.fs.used[/home]". */
struct rm_column_name {
    const char *parts[4];
};

static inline struct rm_column_name rm_run_column_name(const struct rm_run_column *column)
{
    bool has_instance = column->instance[0] != '\0';
    return (struct rm_column_name){
        {column->metric, has_instance ? "[" : "", column->instance, has_instance ? "]" : ""}};
}

/** A time of the run as real time; what cannot be told is the last moment that can. */
int64_t rm_run_realtime_ns(const struct resmon_run *run, int64_t t_ns);

/** The value of a fact, or NULL. */
const struct rm_fact *rm_run_fact(const struct resmon_run *run, const char *group, const char *key);

/** The node as the batch system calls it, else the name of the host; "" when not known. */
const char *rm_run_node_name(const struct resmon_run *run);

/** Whether the process that it is of speaks for its host: the one of many in a job that does. */
bool rm_run_reports_host(const struct resmon_run *run);

/** The column of a metric and instance (NULL: the first of the metric), or -1. */
int64_t rm_run_find_column(const struct resmon_run *run, const char *metric, const char *instance);

/* How a block is to be seen. */
struct rm_decode {
    unsigned parts; /* RM_PART_* */
    int is_live;    /* this process writes it: open scopes last until `now` */
    int is_written; /* another process does: it is not interrupted */
    struct rm_clock_pair now;
};

/** Puts events of outside origin into their order. */
void rm_run_sort_events(struct resmon_run *run);

/** Makes a run of what a block holds. */
resmon_status rm_run_decode(const struct rm_block *block, const struct rm_decode *how,
                            struct resmon_run **ret_run);

/*
 * The same in steps, for a block that is live.  The caller holds the engine's locks for measuring
 * and for filling, but not for allocating in between; there is room for what may come meanwhile.
 * Nor for the last step, which frees what it worked in, whatever it returns.
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

/** Part of the above: the scopes, merged over threads by the names along their paths. */
resmon_status rm_run_decode_scopes(const struct rm_block *block, const struct rm_decode *how,
                                   double ns_per_tick, struct resmon_run *run);

/** How many events there are to copy at most, and what they are copied to. */
uint64_t rm_run_events_extent(const struct rm_block *block);
size_t rm_run_events_working(const struct rm_block_sizes *sizes, uint64_t events);

/** Part of rm_run_fill(): copies the events; rm_run_finish() makes them those of the run. */
resmon_status rm_run_catch_events(const struct rm_block *block, const struct rm_decode *how,
                                  double ns_per_tick, struct resmon_run *run);

#endif
