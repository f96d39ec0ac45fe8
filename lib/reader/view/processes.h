/* SPDX-License-Identifier: MIT */
/*
 * Owns the tables of processes: a tree, of many the sums by program, and all of them.
 */
#ifndef RM_VIEW_PROCESSES_H
#define RM_VIEW_PROCESSES_H

#include "run/run.h"
#include "view/columns.h"

/** What people read; NULL for a run without processes that were seen from outside. */
struct rm_page_table *rm_processes_table(struct rm_page *page, const struct resmon_run *run,
                                         enum rm_column_detail detail);

/** A row for each, in the order in which they began. */
struct rm_page_table *rm_processes_all(struct rm_page *page, const struct resmon_run *run);

#endif
