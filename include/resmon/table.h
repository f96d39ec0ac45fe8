/* SPDX-License-Identifier: MIT */
/*
 * resmon/table.h - the samples of a run as a table: columns of doubles, one row per bucket.
 *
 *     size_t column;
 *     if (resmon_run_find_column(run, "proc.mem.rss", NULL, &column) == RESMON_OK) {
 *         const double *rss = resmon_run_series(run, column, RESMON_SERIES_MAX);
 *         const int64_t *t_ns = resmon_run_row_last_ns(run);
 *         for (size_t row = 0; row < resmon_run_row_count(run); row++) {
 *             printf("%.1f s: %.0f B\n", (double)t_ns[row] / 1e9, rss[row]);
 *         }
 *     }
 *
 * A row covers `stride` samples (resmon_run_info): 1 at first; the stride doubles whenever the
 * table is full.  Merging rows is exact: the minimum, maximum, mean, total and last value of a row
 * are computed from every sample.
 *
 * NaN: the metric was not read in that row.
 *
 * Returned arrays belong to the run and live as long as it does.
 */
#ifndef RESMON_TABLE_H
#define RESMON_TABLE_H

#include <resmon/run.h>

RESMON_BEGIN_DECLS

/** Returns the number of columns.  Any thread.  Since 0.1. */
RESMON_API size_t resmon_run_column_count(const resmon_run *run);

/** Returns the number of rows.  Any thread.  Since 0.1. */
RESMON_API size_t resmon_run_row_count(const resmon_run *run);

/** Describes column `index`, with statistics over every sample.  RESMON_ENOENT: there is no such
 * column.  Any thread.  Since 0.1. */
RESMON_API resmon_status resmon_run_get_column(const resmon_run *run, size_t index,
                                               resmon_column *ret_column);

/**
 * Finds the column of a metric by name.  `instance` NULL: the first column of the metric.
 * RESMON_EINVAL: another argument is NULL; RESMON_ENOENT: the run has no such column.
 * Any thread.  Since 0.1.
 */
RESMON_API resmon_status resmon_run_find_column(const resmon_run *run, const char *metric,
                                                const char *instance, size_t *ret_index);

/**
 * Returns the values of a column, one per row, in the unit of the column (rates: per second).
 * RESMON_SERIES_VALUE is RESMON_SERIES_MEAN of a gauge and RESMON_SERIES_LAST of a counter.
 * NULL: the column or the RESMON_SERIES_* does not exist, or the run has no rows.
 * Any thread.  Since 0.1.
 */
RESMON_API const double *resmon_run_series(const resmon_run *run, size_t column, int32_t series);

/** Returns the time of the first sample of each row, ns since start.  Any thread.  Since 0.1. */
RESMON_API const int64_t *resmon_run_row_first_ns(const resmon_run *run);

/** Returns the time of the last sample of each row, ns since start.  Any thread.  Since 0.1. */
RESMON_API const int64_t *resmon_run_row_last_ns(const resmon_run *run);

/** Returns the number of samples in each row.  Any thread.  Since 0.1. */
RESMON_API const uint64_t *resmon_run_row_samples(const resmon_run *run);

RESMON_END_DECLS

#endif
