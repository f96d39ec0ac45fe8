/* SPDX-License-Identifier: MIT */
/*
 * Owns tables by line of the source, in the forms that line_profiler and memory_profiler have made
 * familiar, function by function.  Who fills the rows knows what was sampled or measured.
 *
 * Source files are read for it: regular files of a bounded size whose names end like those of
 * sources, the last one kept.  The names come from debug information or a document, so from
 * outside: whoever made one up shall not have a report show a file that is no source.
 */
#ifndef RM_VIEW_LINES_H
#define RM_VIEW_LINES_H

#include <stdbool.h>
#include <stdint.h>

#include "view/profile_sums.h"

/* Zeroed: nothing read yet. */
struct rm_source_files {
    char *name; /* of the file whose text is kept */
    char *text;
    uint64_t bytes;
    uint32_t line; /* the last that was asked for, and where it begins */
    uint64_t offset;
};

struct rm_source_lines rm_source_lines_of(struct rm_source_files *files);
void rm_source_files_free(struct rm_source_files *files);

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
