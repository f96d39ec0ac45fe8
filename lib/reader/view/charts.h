/* SPDX-License-Identifier: MIT */
/*
 * Owns the charts of runs as data: which series share a chart, their unit and labels (views CHART
 * and COMPARE of metric/views.def), and how the rows of a run become the points of a line.
 * Called by view/html_charts.c and view/data.c.
 */
#ifndef RM_VIEW_CHARTS_H
#define RM_VIEW_CHARTS_H

#include "view/subject.h"

/* ---- points.c -------------------------------------------------------------------------------- */

/* Points of a line; NaN in `mean` is a gap. */
struct rm_points {
    size_t count;
    double *times; /* s since the start */
    double *mean;
    double *low, *high; /* minimum and maximum of the samples; NULL: too close to be seen */
};

/** Points of a column: means of gauges, rates of counters, times `factor`.  Rows are merged to
 * about `limit` points. */
struct rm_points rm_points_of_column(struct rm_page *page, const struct resmon_run *run,
                                     size_t column, double factor, size_t limit);

/** Points of one value for each row; NaN: no value. */
struct rm_points rm_points_of_rows(struct rm_page *page, const struct resmon_run *run,
                                   const double *values, size_t limit);

/**
 * Adds to `watts`, a value for each row (NaN: none yet), the power from a column of joules.  It is
 * constant between two rows in which the counter grew, at least `least` rows apart: the counter may
 * be read less often than there are rows, and a rate by row would be 0 in most rows and too high in
 * one.
 */
void rm_points_add_power(struct rm_page *page, const struct resmon_run *run, size_t column,
                         size_t least, double *watts);

/** The largest value, 0 without values. */
double rm_points_top(const struct rm_points *points);

/** Whether there is a value. */
bool rm_points_are_there(const struct rm_points *points);

/* ---- charts.c -------------------------------------------------------------------------------- */

#define RM_LINE_BOUND (-1)

/* A series of a chart. */
struct rm_chart_line {
    const char *key; /* of its numbers */
    const char *label;
    int colour;          /* a number; RM_LINE_BOUND: a bound */
    bool is_level;       /* a bound, not a measured use */
    const char *summary; /* statistics of the whole run, from every sample */
    size_t run;          /* index of its run, in charts of several */
    struct rm_points points;
};

/* Lines that share an axis. */
struct rm_chart {
    const char *key, *title, *unit, *note;
    const char *missing; /* why there are no lines */
    struct rm_chart_line **lines;
    size_t count, room;
};

struct rm_charts {
    struct rm_chart **items;
    size_t count, room;
};

/** All charts of a run: four that are always present, and others with values.  The titles of charts
 * that are 0 throughout are added to `quiet` of the subject. */
struct rm_charts rm_charts_of_run(struct rm_subject *subject);

/** Charts with one line for each run that has values, in the order of the runs. */
struct rm_charts rm_charts_of_runs(struct rm_subject *subjects, size_t count);

/** Whether a line has a value. */
bool rm_chart_has_points(const struct rm_chart *chart);

#endif
