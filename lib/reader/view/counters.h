/* SPDX-License-Identifier: MIT */
/*
 * Owns the table of performance counters of scopes.
 */
#ifndef RM_VIEW_COUNTERS_H
#define RM_VIEW_COUNTERS_H

#include "view/subject.h"

/** What each scope counted, and what could not be counted; NULL where that was not asked for. */
struct rm_page_table *rm_counters_table(const struct rm_subject *subject);

#endif
