/* SPDX-License-Identifier: MIT */
/*
 * Owns what is asked first of a run: one sentence, and a row for each answer.
 */
#ifndef RM_VIEW_ANSWERS_H
#define RM_VIEW_ANSWERS_H

#include "view/subject.h"

/** "gzip took 1.746 s, 1.095 s of CPU time, 4.39 MiB of memory, 4.91 J". */
const char *rm_answers_statement(const struct rm_subject *subject);

/** How it failed, and what is missing of its recording; nothing of most. */
void rm_answers_failure(const struct rm_subject *subject, struct rm_page_list *list);

/** What was run, and on which machine. */
void rm_answers_identity(const struct rm_subject *subject, struct rm_page_list *list);

/** Times, memory, I/O, energy, GPUs, where time went; of a job its nodes and ranks. */
void rm_answers_figures(const struct rm_subject *subject, struct rm_page_rows *rows);

/** What to know of these: advice, what disturbed, what is missing, what observing cost; and
 * (`has_more`) how to see more. */
void rm_answers_remarks(const struct rm_subject *subject, struct rm_page_rows *rows, bool has_more);

#endif
