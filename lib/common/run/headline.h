/* SPDX-License-Identifier: MIT */
/*
 * Owns the figures of a run that are asked for first, settled where there are several ways to
 * know them, and those that describe a job on one node.
 */
#ifndef RM_RUN_HEADLINE_H
#define RM_RUN_HEADLINE_H

#include <stddef.h>

#include "base/compiler.h"
#include "metric/view.h"
#include "run/run.h"

/* ---- the figures asked for first -------------------------------------------------------- */

/** They are made of columns (view HEADLINE of metric/views.def), scopes and energy. */
RM_SHARED resmon_headline rm_run_headline(const struct resmon_run *run);

/** The highest RSS of several processes at once, as samples saw it; NaN: there was one, or it alone
 * had more than samples ever saw of all. */
RM_SHARED double rm_run_memory_at_once(const struct resmon_run *run,
                                       const resmon_headline *headline);

/* ---- figures of a job on one node ------------------------------------------------------- */

/*
 * The 18 figures that describe a job on one node, under the names that dashboards of
 * microsoft/lightgbm-benchmark's perf.py know, with their corrected meanings: from running
 * statistics over every sample, totals since the start of the run, time-weighted shares.  Their
 * names and metrics are the view NODE of metric/views.def.
 */

#define RM_NODE_SUMMARY_KEYS 18

/** What figure `index` is made of, and called. */
RM_SHARED struct rm_view_row rm_node_summary_row(size_t index);

/** Name of figure `index` (below RM_NODE_SUMMARY_KEYS). */
RM_SHARED const char *rm_node_summary_key(size_t index);

/** Its value; NaN when what it is made from was not measured. */
RM_SHARED double rm_node_summary_value(const struct resmon_run *run, size_t index);

/** The value of figure `index` on one node of a merged run; NaN likewise. */
double rm_node_summary_value_of(const struct resmon_run *run, size_t index, size_t node);

#endif
