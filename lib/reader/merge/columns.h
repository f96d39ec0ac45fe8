/* SPDX-License-Identifier: MIT */
/*
 * Owns which metrics a merged run has, by the view JOB of metric/views.def, and how those of
 * several devices, processes and nodes are one: shares (%, and time that tasks waited) are a mean,
 * all others add up.
 *
 * Owns its time, too: cells of one width, which begin at multiples of it since 1970, so that the
 * cells of all nodes are the same ones and halving them is exact; they are as many and as wide as
 * nodes and rows need.  Rows of other widths fall into cells by the time that they share, so that
 * no second and no byte is lost or counted twice.  Pure.
 */
#ifndef RM_MERGE_COLUMNS_H
#define RM_MERGE_COLUMNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "metric/metric.h"
#include "run/run.h"

/* Of a column of a node. */
struct rm_grid_cell {
    double sum;       /* gauge: value times seconds; counter: growth */
    double seconds;   /* that are known */
    double low, high; /* readings, of counters rates; NaN: none */
};

/* Cells beside each other: number first, first + 1, ... since 1970. */
struct rm_grid_span {
    int64_t first;
    size_t count;
};

/* What is known of a column from one time to another, in ns since 1970. */
struct rm_grid_row {
    int64_t from_ns, to_ns;
    double mean; /* gauge: time-weighted; counter: rate */
    double low, high;
};

/** The cells of twice the width that these are in. */
struct rm_grid_span rm_grid_span_halved(struct rm_grid_span span);

/** Nothing is known of a cell. */
struct rm_grid_cell rm_grid_cell_empty(void);

/** Adds a row to cells of one run's column, of which it may be partly outside. */
void rm_grid_add(struct rm_grid_cell *cells, struct rm_grid_span span, int64_t width_ns,
                 const struct rm_grid_row *row);

/** Makes cells of twice the width of cells, in place; returns rm_grid_span_halved(span). */
struct rm_grid_span rm_grid_halve(struct rm_grid_cell *cells, struct rm_grid_span span);

#define RM_MERGE_COLUMNS 80              /* at most */
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

#endif
