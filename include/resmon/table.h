/* SPDX-License-Identifier: MIT */
/*
 * resmon/table.h - the samples of a run as a table: columns of doubles, one row per bucket.
 *
 * A row covers `stride` samples (1 at first; it doubles whenever the table is full), and merging
 * rows is exact: extremes, means, totals and the last value are those of every sample.
 * NaN: not read in that row.
 */
#ifndef RESMON_TABLE_H
#define RESMON_TABLE_H

#include <resmon/run.h>

RESMON_BEGIN_DECLS

RESMON_API size_t resmon_run_column_count(const resmon_run *run);
RESMON_API size_t resmon_run_row_count(const resmon_run *run);

/** Column `index`; RESMON_ENOENT past the end.  Any thread.  Since 0.1. */
RESMON_API resmon_status resmon_run_get_column(const resmon_run *run, size_t index,
                                               resmon_column *ret_column);

/** The column of a metric; `instance` NULL takes the first.  RESMON_ENOENT.  Since 0.1. */
RESMON_API resmon_status resmon_run_find_column(const resmon_run *run, const char *metric,
                                                const char *instance, size_t *ret_index);

/** resmon_run_row_count() doubles, or NULL for a column or RESMON_SERIES_* that does not exist.
 * RESMON_SERIES_VALUE gives the MEAN of a gauge and the LAST of a counter. */
RESMON_API const double *resmon_run_series(const resmon_run *run, size_t column, int32_t series);

/** Time of the first and last sample of each row, ns since start; samples in each row. */
RESMON_API const int64_t *resmon_run_row_first_ns(const resmon_run *run);
RESMON_API const int64_t *resmon_run_row_last_ns(const resmon_run *run);
RESMON_API const uint64_t *resmon_run_row_samples(const resmon_run *run);

RESMON_END_DECLS

#endif
