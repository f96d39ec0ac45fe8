/* SPDX-License-Identifier: MIT */
/*
 * Owns the list of a process's mappings of files, of /proc/PID/maps: whether a page that came
 * was one of a file.
 */
#ifndef RM_OS_FILE_MAPPINGS_H
#define RM_OS_FILE_MAPPINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "os/file.h"

struct rm_mapped_range {
    uint64_t start, end;
    bool is_file;
    bool is_private; /* a page that is written to is the process's own from then on */
};

struct rm_file_mappings {
    struct rm_mapped_range *ranges; /* by address */
    size_t count, room;
};

/** Reads them anew, of `path`; what cannot be read or finds no memory leaves the old ones. */
void rm_file_mappings_read(struct rm_file_mappings *mappings, const char *path,
                           const struct rm_root *root, struct rm_scratch *scratch);
void rm_file_mappings_free(struct rm_file_mappings *mappings);

/** The range that an address is in, or NULL. */
const struct rm_mapped_range *rm_file_mappings_find(const struct rm_file_mappings *mappings,
                                                    uint64_t address);

#endif
