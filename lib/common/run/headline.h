/* SPDX-License-Identifier: MIT */
/*
 * Owns the values of a run that are asked for first, with one chosen where there are several
 * sources; and the values that describe a job on one node.
 */
#ifndef RM_RUN_HEADLINE_H
#define RM_RUN_HEADLINE_H

#include <stddef.h>

#include "base/compiler.h"
#include "metric/view.h"
#include "run/run.h"

/* ---- the figures asked for first -------------------------------------------------------- */

/** Made of columns (view HEADLINE of metric/views.def), scopes and energy. */
RM_SHARED resmon_headline rm_run_headline(const struct resmon_run *run);

/** The highest RSS of all processes at once, from samples. NaN if there was a single process; or if
 * the peak of one process is at least the sampled peak of all. */
RM_SHARED double rm_run_memory_at_once(const struct resmon_run *run,
                                       const resmon_headline *headline);

/* ---- figures of a job on one node ------------------------------------------------------- */

/*
 * The 18 values that describe a job on one node. They have the names that dashboards of
 * microsoft/lightgbm-benchmark's perf.py use, with corrected meanings: running statistics over
 * every sample, totals since the start of the run, time-weighted shares. Their names and metrics
 * are the view NODE of metric/views.def.
 */

#define RM_NODE_SUMMARY_KEYS 18

/** The name of value `index`, and the metric that it is made of. */
RM_SHARED struct rm_view_row rm_node_summary_row(size_t index);

/** The name of value `index` */
RM_SHARED const char *rm_node_summary_key(size_t index);

/** Value `index`; NaN if its metric was not measured. */
RM_SHARED double rm_node_summary_value(const struct resmon_run *run, size_t index);

/** Value `index` on one node of a merged run; NaN if its metric was not measured. */
double rm_node_summary_value_of(const struct resmon_run *run, size_t index, size_t node);

#endif
