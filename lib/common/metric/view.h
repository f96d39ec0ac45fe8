/* SPDX-License-Identifier: MIT */
/*
 * Owns the table of what is shown where (views.def), and the display of metrics that it does not
 * name. Pure look-ups.
 */
#ifndef RM_METRIC_VIEW_H
#define RM_METRIC_VIEW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <resmon/metric.h>

#include "base/compiler.h"
#include "metric/metric.h"

/* Documented in views.def. */
enum rm_view {
    RM_VIEW_SUMMARY,
    RM_VIEW_TRACE,
    RM_VIEW_MLFLOW,
    RM_VIEW_NODE,
    RM_VIEW_HEADLINE,
    RM_VIEW_PLOT,
    RM_VIEW_CHART,
    RM_VIEW_COMPARE,
    RM_VIEW_SPARK,
    RM_VIEW_JOB,
    RM_VIEW_DETAIL,
    RM_VIEW_COUNT
};

#define RM_COLOUR_BOUND (-1)

/** The group of metrics that no row of views.def names. */
#define RM_VIEW_OTHER "other"

struct rm_view_row {
    enum rm_view view;
    const char *group;
    const struct rm_metric *metric; /* NULL: a group heading */
    const char *label;              /* of the metric, or heading */
    const char *unit;               /* display unit */
    double divisor;                 /* value in the metric's unit / divisor = value in `unit` */
    const struct rm_metric *of;     /* shown as % of this metric; NULL: absolute */
    int32_t series;                 /* RESMON_SERIES_*, or for RM_VIEW_NODE a RESMON_VIEW_* */
    int32_t colour;
};

/** Row `index`: the rows of views.def in order, details last; then the metrics without a row.
 * False: past the end. */
RM_SHARED bool rm_view_row(size_t index, struct rm_view_row *ret_row);

/**
 * The next row of a view and group (NULL: any) from *index on, which is advanced past it; false:
 * no more. Group headings are skipped.
 */
RM_SHARED bool rm_view_next(enum rm_view view, const char *group, size_t *index,
                            struct rm_view_row *ret_row);

/** The row of a chart of any metric, as one without a row in views.def has it. */
RM_SHARED struct rm_view_row rm_view_chart_of(const struct rm_metric *metric);

#endif
