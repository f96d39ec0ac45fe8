/* SPDX-License-Identifier: MIT */
/*
 * Owns what several runs of a page are called: nodes or processes of one job, or runs to compare,
 * and a short name for each.
 */
#ifndef RM_VIEW_NAMES_H
#define RM_VIEW_NAMES_H

#include "view/subject.h"

/** Sets the label of each run, which tells it from the others. */
void rm_names_label(struct rm_subject *subjects, size_t count);

/** Seconds by which each run began after the first; NULL where they do not overlap in time. */
const double *rm_names_offsets(struct rm_page *page, const struct rm_subject *subjects,
                               size_t count);

/** Whether the runs are parts of one job, rather than to be compared. */
bool rm_names_are_of_a_job(struct rm_page *page, const struct rm_subject *subjects, size_t count);

/** "node", "process" (several on a host) or "run"; rm_names_words(): "nodes", "processes", "runs".
 */
const char *rm_names_word(struct rm_page *page, const struct rm_subject *subjects, size_t count);
const char *rm_names_words(struct rm_page *page, const struct rm_subject *subjects, size_t count);

/** "4 nodes of train.py; from 2026-11-22 01:47:03 UTC; the longest took 3 min 20 s". */
const char *rm_names_meta(struct rm_page *page, const struct rm_subject *subjects, size_t count);

/** What the page is called where nobody says: "train.py on 4 nodes". */
const char *rm_names_title(struct rm_page *page, const struct rm_subject *subjects, size_t count);

/** Sorts texts and leaves each once; how many there are then. */
size_t rm_distinct_texts(const char **texts, size_t count);

#endif
