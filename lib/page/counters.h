/* SPDX-License-Identifier: MIT */
/*
 * Owns the tables of a page about performance counters: of the process tree, and of scopes.
 */
#ifndef RM_PAGE_COUNTERS_H
#define RM_PAGE_COUNTERS_H

#include "page/subject.h"

/** Counters of the process tree, and figures derived from them; why some are absent.  NULL without
 * any. */
struct rm_page_table *rm_counters_table(const struct rm_subject *subject);

/** What each scope counted, and what could not be counted; NULL where that was not asked for. */
struct rm_page_table *rm_counters_table_of_scopes(const struct rm_subject *subject);

#endif
