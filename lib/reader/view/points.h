/* SPDX-License-Identifier: MIT */
/*
 * Owns how rows of a run become the points of a line: rows merged to as many as one can see, gaps
 * where readings are absent, a band from the least to the largest, and power from joules.
 */
#ifndef RM_VIEW_POINTS_H
#define RM_VIEW_POINTS_H

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

#endif
