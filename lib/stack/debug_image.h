/* SPDX-License-Identifier: MIT */
/*
 * Owns an ELF file in memory that holds nothing of another one but its debug information: so the
 * rest of a file of any size is not read, what is wrong with it is no matter, and it may shrink.
 * Called by symbols.c, for dwarf.c.
 */
#ifndef RM_STACK_DEBUG_IMAGE_H
#define RM_STACK_DEBUG_IMAGE_H

#include <stddef.h>

#include <resmon/status.h>

#include "os/mapping.h"
#include "stack/elf_file.h"

/* Zeroed: empty.  Mapped, and not of the program's allocator: it goes back whole, and leaves no
 * trace in how that one behaves. */
struct rm_debug_image {
    struct rm_mapping mapping;
    size_t length;
    size_t unpacked; /* what sections that are still compressed claim to be besides */
};

/** How many bytes it would be, with what is unpacked of it: 0 where there is none. */
uint64_t rm_debug_image_measure(const struct rm_elf *elf);

/** Reads it.  RESMON_ENOENT: there is none; RESMON_ERANGE: more than `bound` bytes; RESMON_EFORMAT;
 * RESMON_ENOMEM. */
resmon_status rm_debug_image_read(const struct rm_elf *elf, size_t bound,
                                  struct rm_debug_image *image);

void rm_debug_image_free(struct rm_debug_image *image);

#endif
