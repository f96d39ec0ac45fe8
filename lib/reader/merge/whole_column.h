/* SPDX-License-Identifier: MIT */
/*
 * Owns the column of a metric for all nodes of a job, made of those of each.
 * Called by merge/result.c.
 */
#ifndef RM_MERGE_WHOLE_COLUMN_H
#define RM_MERGE_WHOLE_COLUMN_H

#include "merge/columns.h"

/* The column, and behind it those of the nodes. */
struct rm_merge_whole {
    struct resmon_run *run;
    const struct rm_merge_metric *metric;
    const double *weights; /* how much the share of each node counts */
    size_t column;
    size_t nodes; /* that have the metric */
};

/** Fills its rows and statistics. */
void rm_merge_column_fill(const struct rm_merge_whole *whole);

/** Where readings do not tell the lowest and highest value of a column, its rows do. */
void rm_merge_column_settle(const struct resmon_run *run, size_t column);

#endif
