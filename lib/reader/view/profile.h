/* SPDX-License-Identifier: MIT */
/*
 * Owns what is shown of stacks and checkpoints: hot functions, lines, where threads were at high
 * memory, and how much of everything was sampled.
 */
#ifndef RM_VIEW_PROFILE_H
#define RM_VIEW_PROFILE_H

#include "view/profile_sums.h"
#include "view/subject.h"

/** What a kind of stacks is of: "CPU time". */
const char *rm_profile_kind_title(size_t kind);

/** What functions took; NULL where the kind was not sampled. */
struct rm_page_table *rm_profile_functions(const struct rm_subject *subject, int kind);

/** How many samples of each kind there are, what they explain, and what was lost; NULL where stacks
 * were not asked for. */
struct rm_page_table *rm_profile_stacks(const struct rm_subject *subject);

/** Where threads were when memory was high; NULL where that was not asked for. */
struct rm_page_table *rm_profile_peak(const struct rm_subject *subject);

/** Adds tables by line: of checkpoints, and of what was sampled of a kind. */
void rm_profile_add_checkpoints(const struct rm_subject *subject);
void rm_profile_add_lines(const struct rm_subject *subject, int kind);

/** Adds the tables by line of one function, or (NULL) of the hot ones.  RESMON_ENOENT. */
resmon_status rm_profile_add_wanted(const struct rm_subject *subject, const char *function);

#endif
