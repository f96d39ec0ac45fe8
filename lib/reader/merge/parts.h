/* SPDX-License-Identifier: MIT */
/*
 * Owns what a run is to a merge while it is added: nodes, ranks, and where they go.
 * Called by merge/merge.c, which makes it, and merge/columns.c, which takes its columns.
 */
#ifndef RM_MERGE_PARTS_H
#define RM_MERGE_PARTS_H

#include "merge/merge.h"

/* What is added: of a merged run its nodes and ranks, of another one of each. */
struct rm_merge_parts {
    const struct resmon_run *run;
    int64_t start_ns; /* since 1970, by the clock that was right by more */
    const resmon_run_node *nodes;
    size_t node_count;
    const resmon_run_rank *ranks;
    size_t rank_count;
    bool is_merged;
    uint32_t *node_of; /* by node: index of rm_merge.nodes */
    bool *is_host_of;  /* by node: its machine's figures are taken from here */
    int *order;        /* by node: and are before (-1), between or after (1) those that were */
};

/** A copy of a text in the merge's memory; texts are kept clean of what cannot be shown, as
 * everywhere in a run.  False: no memory. */
bool rm_merge_own_text(struct rm_merge *merge, const char **text);

/** The columns of all nodes of the parts, which were added.  False: no memory. */
bool rm_merge_cells_add(struct rm_merge *merge, const struct rm_merge_parts *parts);

/** Makes the cells as wide as they have to be. */
void rm_merge_cells_fit(struct rm_merge *merge);

#endif
