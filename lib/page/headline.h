/* SPDX-License-Identifier: MIT */
/*
 * Owns the figures in front of a page: of a run, and of several together.
 */
#ifndef RM_PAGE_HEADLINE_H
#define RM_PAGE_HEADLINE_H

#include "page/subject.h"

#define RM_TILES   8
#define RM_ANSWERS 16

struct rm_page_tiles {
    struct rm_page_tile items[RM_TILES];
    size_t count;
};

/* What the tiles do not say, in a line each: label, value, text. */
struct rm_page_answers {
    struct rm_page_tile items[RM_ANSWERS];
    size_t count;
};

/** Headline figures; the small print says more, or why there is none. */
struct rm_page_tiles rm_headline_tiles(const struct rm_subject *subject);

/** What is asked next: which phase is slow, where memory went, what is wrong with the figures. */
struct rm_page_answers rm_headline_answers(const struct rm_subject *subject);

/** Of several runs: sums where they are parts of one job, else how far they lie apart. */
struct rm_page_tiles rm_headline_tiles_of_all(const struct rm_subject *subjects, size_t count,
                                              bool is_job);

/** A row for each run, and for parts of a job one for all of them. */
struct rm_page_table *rm_headline_table(const struct rm_subject *subjects, size_t count,
                                        bool is_job);

#endif
