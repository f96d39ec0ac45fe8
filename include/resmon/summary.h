/* SPDX-License-Identifier: MIT */
/*
 * resmon/summary.h - main values of a run, and values that describe a job on one node.
 *
 *     resmon_headline headline = {.struct_size = sizeof headline};
 *     if (resmon_run_get_headline(run, &headline) == RESMON_OK) {
 *         printf("%.1f s, CPU %.1f s\n", headline.wall_s, headline.cpu_s);
 *     }
 *     for (size_t i = 0; i < resmon_node_figure_count(); i++) {
 *         printf("%s %g\n", resmon_node_figure_name(i), resmon_run_node_figure(run, i));
 *     }
 *
 * Statistics of each column, over every sample, are in resmon_column (<resmon/table.h>).
 */
#ifndef RESMON_SUMMARY_H
#define RESMON_SUMMARY_H

#include <resmon/run.h>

RESMON_BEGIN_DECLS

/**
 * Gets the main values of a run.  If a value has several sources, the best available one is used.
 * RESMON_EINVAL: an argument is NULL, or struct_size is wrong.
 * Thread class: any thread.  Since 0.1.
 */
RESMON_API resmon_status resmon_run_get_headline(const resmon_run *run,
                                                 resmon_headline *ret_headline);

/** Returns the number of values that describe a job on one node: 18, with the names that
 * lightgbm-benchmark uses.  Any thread.  Since 0.1. */
RESMON_API size_t resmon_node_figure_count(void);

/** Returns the name of value `index`, or NULL past the end.  Static string.  Any thread.
 * Since 0.1. */
RESMON_API const char *resmon_node_figure_name(size_t index);

/**
 * Returns value `index` of a run; NaN past the end, or if its metric was not measured.
 * Shares are time-weighted over all samples, in %; totals are since the start of the run, in MiB;
 * CPU time is in hours.  Any thread.  Since 0.1.
 */
RESMON_API double resmon_run_node_figure(const resmon_run *run, size_t index);

RESMON_END_DECLS

#endif
