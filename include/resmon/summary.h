/* SPDX-License-Identifier: MIT */
/*
 * resmon/summary.h - main values of a run, and values that describe a job on one node.  Statistics
 * of each column, over every sample, are in resmon_column (<resmon/table.h>).
 */
#ifndef RESMON_SUMMARY_H
#define RESMON_SUMMARY_H

#include <resmon/run.h>

RESMON_BEGIN_DECLS

/** The figures that are asked for first, settled where there are several ways to know them.
 * RESMON_EINVAL.  Thread class: any thread.  Since 0.1. */
RESMON_API resmon_status resmon_run_get_headline(const resmon_run *run,
                                                 resmon_headline *ret_headline);

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
