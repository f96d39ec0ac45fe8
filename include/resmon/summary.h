/* SPDX-License-Identifier: MIT */
/*
 * resmon/summary.h - statistics of a run, over every sample (never over the table's rows).
 */
#ifndef RESMON_SUMMARY_H
#define RESMON_SUMMARY_H

#include <resmon/run.h>

RESMON_BEGIN_DECLS

/**
 * Statistics of one column.  Of a counter, first and last are amounts since the start; min, max,
 * mean, p50 and p95 are of its rate per second.  NaN: not known.  Since 0.1.
 */
typedef struct resmon_statistics {
    size_t struct_size;
    uint64_t n;      /**< readings */
    uint64_t resets; /**< counter: times it ran backwards; what was lost there is not made up */
    double first;
    double last;
    double min;
    double max;
    double mean;     /**< weighted with time */
    double integral; /**< gauge: value times seconds; counter: total growth */
    double p50;      /**< within 1 % of a value that was seen */
    double p95;
    double duration_s; /**< time that the mean is over */
    double over20_s;   /**< seconds at or over 20, 40, 80, 100: meant for percentages */
    double over40_s;
    double over80_s;
    double over100_s;
} resmon_statistics;

/** Statistics of column `index`; RESMON_ENOENT past the end.  Any thread.  Since 0.1. */
RESMON_API resmon_status resmon_run_get_statistics(const resmon_run *run, size_t index,
                                                   resmon_statistics *ret_statistics);

/** The figures that describe a job on one node: 18 names known from lightgbm-benchmark. */
RESMON_API size_t resmon_node_figure_count(void);

/** Name of figure `index`, or NULL past the end.  Static string.  Since 0.1. */
RESMON_API const char *resmon_node_figure_name(size_t index);

/**
 * Figure `index` of a run; NaN past the end or when what it is made from was not measured.
 * Shares are time-weighted over all samples, totals are since the start of the run, in MiB.
 */
RESMON_API double resmon_run_node_figure(const resmon_run *run, size_t index);

RESMON_END_DECLS

#endif
