/* SPDX-License-Identifier: MIT */
/*
 * Owns what a page says of stacks and checkpoints: hot functions, lines, where threads were at high
 * memory, and what was not sampled.
 */
#ifndef RM_PAGE_PROFILE_H
#define RM_PAGE_PROFILE_H

#include "page/subject.h"
#include "store/stack_kind.h"

/* A table by line of the source, as text. */
struct rm_line_text {
    const char *title, *meaning, *text;
};

#define RM_LINE_TEXTS 64

/** What a kind of stacks is of: "CPU time". */
const char *rm_profile_kind_title(size_t kind);

/** An amount of a kind: ns of CPU time, B. */
const char *rm_profile_amount(struct rm_page *page, size_t kind, double amount);

/** What functions took; NULL where the kind was not sampled. */
struct rm_page_table *rm_profile_functions(const struct rm_subject *subject, size_t kind);

/** Stacks that were asked for and not had, and why; NULL without any. */
struct rm_page_table *rm_profile_untaken(const struct rm_subject *subject);

/** Where threads were when memory was high; NULL where that was not asked for. */
struct rm_page_table *rm_profile_peak(const struct rm_subject *subject);

/** Lines with RESMON_LINE(), and what was measured up to each; NULL without any. */
struct rm_page_table *rm_profile_checkpoints(const struct rm_subject *subject);

/** The tables by line: of checkpoints, then of what was sampled; how many. */
size_t rm_profile_lines(const struct rm_subject *subject, struct rm_line_text texts[RM_LINE_TEXTS]);

#endif
