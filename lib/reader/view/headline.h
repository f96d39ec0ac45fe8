/* SPDX-License-Identifier: MIT */
/*
 * Owns the figures in front of a page: of a run, and of several together.
 */
#ifndef RM_VIEW_HEADLINE_H
#define RM_VIEW_HEADLINE_H

#include "view/subject.h"

/** Headline figures; the small print says more, or why there is none. */
const struct rm_page_tiles *rm_headline_tiles(struct rm_page *page,
                                              const struct rm_subject *subject);

/** The answers that the tiles do not have, and the remarks. */
const struct rm_page_rows *rm_headline_answers(struct rm_page *page,
                                               const struct rm_subject *subject);

/** Of several runs: sums where they are parts of one job, else how far they lie apart. */
const struct rm_page_tiles *rm_headline_tiles_of_all(struct rm_page *page,
                                                     const struct rm_subject *subjects,
                                                     size_t count, bool is_job);

/** A row for each run, and for parts of a job one for all of them. */
struct rm_page_table *rm_headline_table(const struct rm_subject *subjects, size_t count,
                                        bool is_job);

#endif
