/* SPDX-License-Identifier: MIT */
/*
 * Owns which metrics a merged run has, by the view JOB of metric/views.def, and how those of
 * several devices, processes and nodes are one: shares (%, and time that tasks waited) are a mean,
 * all others add up.  Pure.
 */
#ifndef RM_MERGE_COLUMNS_H
#define RM_MERGE_COLUMNS_H

#include "merge/grid.h"
#include "metric/metric.h"
#include "run/run.h"

#define RM_MERGE_COLUMNS 80              /* at most */
#define RM_MERGE_DEVICES 64              /* of a node, at most */
#define RM_MERGE_LONGEST (INT64_MAX / 8) /* of a run, in ns: 36 years */

struct rm_merge_metric {
    const struct rm_metric *metric;
    const char *name;
    bool is_counter;
    bool is_share;   /* a mean over nodes and devices */
    bool is_of_host; /* all processes of a node see the same one */
};

struct rm_merge_metrics {
    struct rm_merge_metric rows[RM_MERGE_COLUMNS];
    size_t count;
};

void rm_merge_metrics_list(struct rm_merge_metrics *metrics);

/* A metric of a node, from one or several runs. */
struct rm_merge_column {
    struct rm_grid_cell *cells; /* as many as its node's span has; NULL: no run had it */
    uint64_t parts;             /* processes that are in it */
    resmon_column statistics;   /* those of the only part, or what adds up */
};

/** Adds the statistics of a part to those of those before, which may be none. */
void rm_merge_statistics_add(struct rm_merge_column *column, const resmon_column *more,
                             uint64_t parts);

/** Adds the statistics of a part that is not beside those that were added, but before them (`order`
 * below 0), after them (above 0) or between: of a machine whose figures one process had after the
 * other. */
void rm_merge_statistics_follow(struct rm_merge_column *column, const resmon_column *more,
                                int order);

/* The columns of a metric in a run that is no merged one; of a merged one, that of a node. */
struct rm_merge_devices {
    size_t columns[RM_MERGE_DEVICES];
    size_t count;
};

/** Those that hold anything: of devices each, of other metrics the first. */
void rm_merge_devices_find(const struct rm_merge_metric *metric, const struct resmon_run *run,
                           struct rm_merge_devices *ret_devices);

/** Their statistics together; there is one at least. */
resmon_column rm_merge_statistics_of(const struct rm_merge_metric *metric,
                                     const struct resmon_run *run,
                                     const struct rm_merge_devices *devices);

/* Where the rows of a run lie. */
struct rm_merge_rows {
    const struct resmon_run *run;
    int64_t start_ns;         /* of the run, since 1970 */
    int64_t from_ns, to_ns;   /* of what the rows are known for */
    bool is_merged;           /* its rows are cells */
    int64_t width_ns;         /* of the cells */
    struct rm_grid_span span; /* that are to be filled */
};

/** Adds what the rows of a metric's columns say to empty cells. */
void rm_merge_rows_add(const struct rm_merge_metric *metric, const struct rm_merge_rows *rows,
                       const struct rm_merge_devices *devices, struct rm_grid_cell *cells);

#endif
