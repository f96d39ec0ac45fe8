/* SPDX-License-Identifier: MIT */
/*
 * Owns what is shown of a run's metrics: those that people ask for, all of them, the values of
 * nodes, and the limit of memory.
 */
#ifndef RM_VIEW_METRICS_H
#define RM_VIEW_METRICS_H

#include "view/subject.h"

#define RM_NODE_TABLES 2

/** Mean, p95, highest and total of the metrics of the view SUMMARY; NULL without any. */
struct rm_page_table *rm_metrics_table(const struct rm_subject *subject);

/** What there is to measure. */
struct rm_page_table *rm_metrics_catalogue(struct rm_page *page);

/** Every metric under its own name. */
struct rm_page_table *rm_metrics_all(struct rm_page *page, const struct resmon_run *run);

/** The 18 figures of each node: a column for each of few nodes, else a row, by groups of figures;
 * how many tables. */
size_t rm_metrics_of_nodes(const struct rm_subject *subjects, size_t count,
                           struct rm_page_table *tables[RM_NODE_TABLES]);

/** The memory limit of the control group and how much of it was in use, where it matters: of a run
 * that was killed, came near it, or was slowed down by it.  NULL where it does not. */
const char *rm_memory_limit_text(struct rm_page *page, const struct resmon_run *run);

/** Whether a source's remark is about that limit, and not about what is missing. */
bool rm_metrics_are_of_limit(const struct resmon_run *run, const resmon_run_source *source);

#endif
