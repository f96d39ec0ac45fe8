/* SPDX-License-Identifier: MIT */
/*
 * Owns what a run lacks, and why.
 */
#ifndef RM_VIEW_MISSING_H
#define RM_VIEW_MISSING_H

#include "view/subject.h"

/** All that has no figures on a machine that could have them, and remarks on what has; NULL without
 * any. */
struct rm_page_table *rm_missing_table(const struct rm_subject *subject);

/** Of that, what was asked for: a sentence each. */
void rm_missing_say(struct rm_page *page, const struct resmon_run *run, struct rm_page_list *list);

#endif
