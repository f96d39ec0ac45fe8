/* SPDX-License-Identifier: MIT */
/*
 * Owns the steps of a merge: a run as input, what each step takes from it, and the result.  Shared
 * by the files of this layer: merge.c (nodes, ranks, scopes), columns.c (metrics over time),
 * account.c (facts and sums) and result.c.
 */
#ifndef RM_MERGE_STEPS_H
#define RM_MERGE_STEPS_H

#include "merge/merge.h"

/* A run while it is added: the nodes and ranks of a merged run; of another run, one of each. */
struct rm_merge_input {
    const struct resmon_run *run;
    int64_t start_ns; /* since 1970, by the more accurate of its clocks */
    const resmon_run_node *nodes;
    size_t node_count;
    const resmon_run_rank *ranks;
    size_t rank_count;
    bool is_merged;
    uint32_t *node_of; /* by node: index of rm_merge.nodes */
    bool *is_host_of;  /* by node: the machine's metrics are taken from this run */
    int *order;        /* by node: order relative to the times already merged: -1, 0, 1 */
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

/** The columns of all nodes of the input, which were added.  False: no memory. */
bool rm_merge_cells_add(struct rm_merge *merge, const struct rm_merge_input *input);

/** The column of a kind on a node; NULL: no run had it. */
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
