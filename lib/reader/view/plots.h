/* SPDX-License-Identifier: MIT */
/*
 * Owns plots that need no script: axes with round numbers on them, a dot for each run with the
 * median and where it lies, and of a comparison the change of each figure in percent, where that
 * lies, and what its rule allows (a forest plot).  And how rows of a run become the points of a
 * line: rows merged to as many as one can see, gaps where readings are absent, a band from the
 * least to the largest, and power from joules.
 */
#ifndef RM_VIEW_PLOTS_H
#define RM_VIEW_PLOTS_H

#include "compare/diff.h"
#include "compare/group.h"
#include "run/run.h"
#include "view/model.h"

/* Points of a line; NaN in `mean` is a gap. */
struct rm_points {
    size_t count;
    double *times; /* s since the start */
    double *mean;
    double *low, *high; /* NULL: a band would not be seen */
};

/** Of a column: means of gauges, rates of counters, times `factor`; about `limit` of them. */
struct rm_points rm_points_of_column(struct rm_page *page, const struct resmon_run *run,
                                     size_t column, double factor, size_t limit);

/** Of one value for each row; NaN: none. */
struct rm_points rm_points_of_rows(struct rm_page *page, const struct resmon_run *run,
                                   const double *values, size_t limit);

/**
 * Adds to `watts`, a value for each row (NaN: none yet), the power from a column of joules: even
 * between two rows in which it grew, at least `least` apart.  What feeds the counter may be read
 * less often than rows end: by row, its rate would be nothing for some, and all for one.
 */
void rm_points_add_power(struct rm_page *page, const struct resmon_run *run, size_t column,
                         size_t least, double *watts);

/** The largest value, 0 where there is none. */
double rm_points_top(const struct rm_points *points);

/** Whether anything is to be drawn. */
bool rm_points_are_there(const struct rm_points *points);

#define RM_AXIS_TICKS 12

struct rm_axis {
    double low, high;
    double ticks[RM_AXIS_TICKS];
    size_t tick_count;
};

/** An axis that holds these values, with some room; false: they are not finite. */
bool rm_axis_open(struct rm_axis *axis, double low, double high, const char *unit);

/** Where a value lies, in percent of the axis; at its ends what is beyond. */
double rm_axis_percent(const struct rm_axis *axis, double value);

/** Appends the row below the others, with a text for each tick. */
void rm_axis_put_ticks(struct rm_buffer *out, const struct rm_axis *axis,
                       const char *const texts[RM_AXIS_TICKS]);

struct rm_dots_row {
    const char *label;
    const struct rm_group_row *row; /* NULL: none is known */
    int colour;
};

/* A figure of several groups on one axis. */
struct rm_dots {
    struct rm_page *page;
    const char *title, *unit;
    const struct rm_dots_row *rows;
    size_t count;
};

/** Draws a struct rm_dots; nothing where no run knows the figure. */
void rm_dots_draw(struct rm_buffer *out, const struct rm_page_block *block);

struct rm_intervals {
    struct rm_page *page;
    const struct rm_diff *diff;
};

/** Draws a struct rm_intervals: the rows that a brief comparison shows; nothing where no change can
 * be told in percent. */
void rm_intervals_draw(struct rm_buffer *out, const struct rm_page_block *block);

/** "worse", "unsure", "fine"; "" without a rule: how a verdict looks. */
const char *rm_verdict_class(enum rm_verdict verdict);

#endif
