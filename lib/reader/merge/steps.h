/* SPDX-License-Identifier: MIT */
/*
 * Owns the data of a merge, and its steps: a run as input, what each step takes from it, and the
 * result.  Shared by the files of this layer: merge.c (nodes, ranks, scopes), columns.c (metrics
 * over time), account.c (facts and sums) and result.c; api/merge.c has a merge as a member.
 */
#ifndef RM_MERGE_STEPS_H
#define RM_MERGE_STEPS_H

#include "base/map.h"
#include "metric/metric.h"
#include "run/run.h"
#include "run/scope_sums.h"

#define RM_MERGE_ROWS  400U             /* of the result, at most */
#define RM_MERGE_WIDTH INT64_C(1000000) /* of a cell, times a power of two; ns */
#define RM_MERGE_TAGS  4096U

/* Of all columns together: the merge and its result then have 512 MiB of cells. */
#define RM_MERGE_CELLS ((size_t)8 << 20)

#define RM_MERGE_LONGEST (INT64_MAX / 8) /* of a run, in ns: 36 years */

#define RM_MERGE_WATCHES 16 /* of a machine, one after the other */

/* What columns of several nodes measure: a metric of an instance.  Instance "": of a node as a
 * whole, by the metric's rule. */
struct rm_merge_kind {
    const char *metric, *unit, *instance;
    uint32_t id; /* of the metric; UINT32_MAX: the table does not have it */
    int32_t level;
    enum rm_metric_rule rule;
    bool is_counter;
    bool is_of_host; /* measured once on a node, not by each process */
    /* Of the tree: as the monitor of the job measured it for all of the job's processes on a node.
     * The kind before this one is the same metric as the processes measured it, each for itself. */
    bool is_of_job;
};

/** Whether the value of several devices or nodes is a mean of theirs, not their sum. */
static inline bool rm_merge_kind_is_mean(const struct rm_merge_kind *kind)
{
    return kind->rule == RM_RULE_MEAN || kind->rule == RM_RULE_SHARE;
}

/*
 * Time is divided into cells of one width, which begin at multiples of it since 1970: so all nodes
 * have the same cells, and halving their number is exact.  Rows of other widths are divided among
 * cells by the time that they share: no second and no byte is lost or counted twice.
 */
struct rm_grid_cell {
    double sum;       /* gauge: value times seconds; counter: growth */
    double seconds;   /* in which the value is known */
    double low, high; /* readings, of counters rates; NaN: none */
};

/* Adjacent cells: number first, first + 1, ... since 1970. */
struct rm_grid_span {
    int64_t first;
    size_t count;
};

/* A column of a node, from one or several runs. */
struct rm_merge_column {
    uint32_t node, kind;        /* indexes */
    uint32_t next_1;            /* of the same node: index + 1; 0: none */
    struct rm_grid_cell *cells; /* as many as its node's span has; NULL: no run had it */
    uint64_t parts;             /* number of processes in it */
    resmon_column statistics;   /* of the only process, or added up */
};

/* The time in which a run measured a machine. */
struct rm_merge_watch {
    int64_t from_ns, to_ns;
};

/* Times are in ns since 1970; those of the records are since the start of a run. */
struct rm_merge_node {
    resmon_run_node node;
    struct rm_merge_watch watches[RM_MERGE_WATCHES];
    size_t watch_count;
    struct rm_merge_watch of_job; /* the time in which monitors observed the job's processes */
    bool has_job, is_settled;     /* there is one; it is of a merged run, which has nothing else */
    struct rm_grid_span span;     /* of the cells of its columns */
    uint32_t column_1;            /* the first of its columns: index + 1; 0: none */
};

/* The wall time of a rank in a scope. */
struct rm_merge_wall {
    uint32_t path, rank; /* indexes */
    double wall_ns;
};

struct rm_merge_facts {
    struct rm_fact *at;
    size_t count, room;
};

/* What the merged run takes from one run only: the run of the lowest rank. */
struct rm_merge_lowest {
    bool is_there;
    int64_t rank, start_ns, pid;
    const char *node;
    const char *label;
    struct rm_merge_facts facts;
    resmon_run_tag *tags; /* since 1970 */
    size_t tag_count, tag_room;
};

struct rm_merge {
    struct rm_arena strings; /* a failed allocation sticks there */
    struct rm_merge_kind *kinds;
    size_t kind_count, kind_room;
    struct rm_map kind_map; /* by metric and instance */
    struct rm_merge_column *columns;
    size_t column_count, column_room;
    struct rm_map column_map; /* by node and kind */
    int64_t width_ns;         /* of cells: RM_MERGE_WIDTH, doubled as often as they need it */
    int64_t least_width_ns;
    bool is_coarse; /* cells are wider than rows and runs need, because of RM_MERGE_CELLS */
    struct rm_grid_span span; /* of all nodes */
    struct rm_merge_node *nodes;
    size_t node_count, node_room;
    resmon_run_rank *ranks; /* .node: index of `nodes` */
    size_t rank_count, rank_room;
    struct rm_run_paths paths;
    struct rm_merge_wall *walls;
    size_t wall_count, wall_room;
    resmon_run_source *sources;
    size_t source_count, source_room;
    struct rm_merge_facts machine; /* that are the same in all runs */
    struct rm_merge_lowest lowest;
    resmon_run_info info; /* sums */
    resmon_run_end end;   /* the worst end that monitors of machines report, else UNKNOWN */
    resmon_run_usage usage;
    uint64_t usages;           /* number of ranks that are in `usage` */
    struct rm_grid_cell *work; /* cells of a column that is added */
    size_t work_room;
};

/* What is taken of a node of an input, and when: its time is before (-1), after (1) or between (0)
 * the times that the merge has already. */
struct rm_merge_place {
    uint32_t node;        /* index of rm_merge.nodes */
    bool is_host, is_job; /* metrics of the machine, and of all processes of the job, are taken */
    int host_order, job_order;
};

/* A run while it is added: the nodes and ranks of a merged run; of another run, one of each. */
struct rm_merge_input {
    const struct resmon_run *run;
    int64_t start_ns; /* since 1970, by the more accurate of its clocks */
    const resmon_run_node *nodes;
    size_t node_count;
    const resmon_run_rank *ranks;
    size_t rank_count;
    bool is_merged;
    struct rm_merge_place *places; /* by node */
};

/** A copy of a text in the merge's memory, cleaned as all texts of a run; "": no memory, which
 * sticks in `strings`. */
const char *rm_merge_keep(struct rm_merge *merge, const char *text);

/* ---- cells of time --------------------------------------------------------------------------- */

/* The values of a column from one time to another, in ns since 1970. */
struct rm_grid_row {
    int64_t from_ns, to_ns;
    double mean; /* gauge: time-weighted; counter: rate */
    double low, high;
};

/** The span in cells of twice the width. */
struct rm_grid_span rm_grid_span_halved(struct rm_grid_span span);

/** A cell without values. */
struct rm_grid_cell rm_grid_cell_empty(void);

/** Adds a row to the cells of a column; a part of it may be outside of them. */
void rm_grid_add(struct rm_grid_cell *cells, struct rm_grid_span span, int64_t width_ns,
                 const struct rm_grid_row *row);

/** Merges cells into cells of twice the width, in place; returns rm_grid_span_halved(span). */
struct rm_grid_span rm_grid_halve(struct rm_grid_cell *cells, struct rm_grid_span span);

/* ---- steps ----------------------------------------------------------------------------------- */

/** Makes a mean of the sums of `count` devices or processes; extremes stay. */
void rm_merge_divide(resmon_column *sum, double count);

/** The columns of all nodes of the input, which were added.  False: no memory. */
bool rm_merge_cells_add(struct rm_merge *merge, const struct rm_merge_input *input);

/** The column of a kind on a node, of the job's monitor if it counts; NULL: no run had it. */
struct rm_merge_column *rm_merge_column_of(const struct rm_merge *merge, uint32_t node,
                                           uint32_t kind);

/** Makes the cells as wide as they have to be. */
void rm_merge_cells_fit(struct rm_merge *merge);

/** RESMON_EINVAL: the run is of another job than the runs that were added. */
resmon_status rm_merge_check_job(const struct rm_merge *merge, const struct resmon_run *run);

/** Takes the facts, the label and the tags of the input if it has the lowest rank so far; keeps the
 * facts of the machine that are the same in all runs; adds counters, usage and sources.  False: no
 * memory. */
bool rm_merge_take_facts(struct rm_merge *merge, const struct rm_merge_input *input);

/** Whether a reason (RESMON_END_*) is worse for a job than another. */
bool rm_merge_is_worse(int32_t reason, int32_t other);

/** Makes a run of the merge.  False: no memory. */
bool rm_merge_fill(struct rm_merge *merge, struct resmon_run *run);

#endif
