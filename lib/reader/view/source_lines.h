/* SPDX-License-Identifier: MIT */
/*
 * Owns the reading of source files for reports: regular files of a bounded size whose names end
 * like those of sources, the last one kept.
 */
#ifndef RM_VIEW_SOURCE_LINES_H
#define RM_VIEW_SOURCE_LINES_H

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

#endif
