/* SPDX-License-Identifier: MIT */
/*
 * Owns runs of the nodes and ranks of a job while they become one: each is added, and may be freed
 * then; rm_merge_make() makes a run of what was added.  The order in which they come makes no
 * difference, nor do merged runs among them, but for the rounding of sums.  Pure.
 *
 * Called by api/merge.c.
 */
#ifndef RM_MERGE_MERGE_H
#define RM_MERGE_MERGE_H

#include "merge/columns.h"
#include "run/run.h"
#include "run/scope_sums.h"

#define RM_MERGE_ROWS  400U              /* of the result, at most */
#define RM_MERGE_CELLS ((size_t)4 << 20) /* of all columns and nodes */
#define RM_MERGE_WIDTH INT64_C(1000000)  /* of a cell, times a power of two; ns */
#define RM_MERGE_TAGS  4096U

#define RM_MERGE_WATCHES 16 /* of a machine, one after the other */

/* From when to when a run has the figures of a machine. */
struct rm_merge_watch {
    int64_t from_ns, to_ns;
};

/* Times are in ns since 1970 where those of the records are since the start of a run. */
struct rm_merge_node {
    resmon_run_node node;
    struct rm_merge_watch watches[RM_MERGE_WATCHES];
    size_t watch_count;
    struct rm_grid_span span; /* of the cells below */
    struct rm_merge_column columns[RM_MERGE_COLUMNS];
};

/* That a rank was in a scope, and how long. */
struct rm_merge_wall {
    uint32_t path, rank; /* indexes */
    double wall_ns;
};

/* What only one run can say: that of the lowest rank. */
struct rm_merge_speaker {
    bool is_there;
    int64_t rank, start_ns, pid;
    const char *node;
    const char *label;
    struct rm_fact *facts;
    size_t fact_count, fact_room;
    resmon_run_tag *tags; /* since 1970 */
    size_t tag_count, tag_room;
};

struct rm_merge {
    struct rm_arena strings;
    struct rm_merge_metrics metrics;
    int64_t width_ns; /* of cells: RM_MERGE_WIDTH, doubled as often as they need it */
    int64_t least_width_ns;
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
    struct rm_fact *machine; /* that all runs agree on */
    size_t machine_count, machine_room;
    struct rm_merge_speaker speaker;
    resmon_run_info info; /* sums */
    resmon_run_end end;   /* the worst that monitors of machines have said; UNKNOWN: none has */
    resmon_run_usage usage;
    uint64_t usages;           /* ranks of which that is */
    struct rm_grid_cell *work; /* cells of a column that is added */
    size_t work_room;
};

void rm_merge_begin(struct rm_merge *merge);

/** Adds a run.  RESMON_EINVAL: it is of another job, or it, or a part of it, is there already;
 * RESMON_ENOMEM: then the merge can only be freed. */
resmon_status rm_merge_add(struct rm_merge *merge, const struct resmon_run *run);

/** Says that the job has a node of this name, which is missing unless a run of it comes. */
resmon_status rm_merge_expect(struct rm_merge *merge, const char *node);

/** Makes a run of all.  RESMON_ESTATE: nothing was added; RESMON_ENOMEM. */
resmon_status rm_merge_make(struct rm_merge *merge, struct resmon_run **ret_run);

void rm_merge_free(struct rm_merge *merge);

#endif
