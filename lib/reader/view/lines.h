/* SPDX-License-Identifier: MIT */
/*
 * Owns tables by line of the source, in the forms that line_profiler and memory_profiler have made
 * familiar, function by function.  Who fills the rows knows what was sampled or measured.
 */
#ifndef RM_VIEW_LINES_H
#define RM_VIEW_LINES_H

#include <stdbool.h>
#include <stdint.h>

#include "view/profile_sums.h"

enum rm_line_table { RM_LINES_TIME, RM_LINES_MEMORY };

struct rm_line_terms {
    enum rm_line_table table;
    const struct rm_source_lines *sources;
    size_t most_functions; /* those with the most */
    size_t most_lines;     /* of one, those with the most */
    double least_share;    /* of all that is anybody's own: functions with less are left out */
    bool is_filled;        /* with the lines between that have nothing, up to most_lines */
};

/**
 * Sorts the rows by function, file and line, and adds the tables of those functions that have
 * something of their own.  Returns how many functions that were.
 */
size_t rm_lines_add(struct rm_page *page, struct rm_line *lines, size_t count,
                    const struct rm_line_terms *terms);

#endif
