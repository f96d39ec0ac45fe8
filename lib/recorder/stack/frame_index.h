/* SPDX-License-Identifier: MIT */
/*
 * Owns the sorted table of functions that frames are found by (.eh_frame_hdr): knowing one, and
 * making one for frames that came without: of programs that are linked statically, and of those
 * whose frames are debug information, as Go's.  Nothing in a section is believed.
 * Called by code.c and images.c.
 */
#ifndef RM_STACK_FRAME_INDEX_H
#define RM_STACK_FRAME_INDEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* As a row of .eh_frame_hdr: both from the origin of the index on. */
struct rm_frame_row {
    int32_t function, entry;
};

#define RM_FRAME_INDEX_HEADER 12U /* bytes of .eh_frame_hdr before its rows */

/** How many rows an .eh_frame_hdr of `bytes` bytes has; 0: none, or not as every linker writes it.
 */
uint32_t rm_frame_index_rows_of(const void *header, uint64_t bytes);

/* Zeroed but for `origin`: empty. */
struct rm_frame_index {
    uint64_t origin; /* an address */
    struct rm_frame_row *rows;
    size_t count, room;
};

/** Adds the functions of .eh_frame, which is mapped at `address`.  false: no memory. */
bool rm_frame_index_add(struct rm_frame_index *index, const char *data, uint64_t bytes,
                        uint64_t address);

/** Makes .eh_frame of .debug_frame, in its place; functions are moved by `bias`. */
void rm_frame_index_convert(char *data, uint64_t bytes, uint64_t bias);

/** When all are there. */
void rm_frame_index_sort(struct rm_frame_index *index);

void rm_frame_index_free(struct rm_frame_index *index);

#endif
