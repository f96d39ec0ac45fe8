/* SPDX-License-Identifier: MIT */
/*
 * Owns the files that code of observed processes is in.  Each has a range of its own in one space
 * of addresses that is made up: whatever processes map it, and wherever, its code has the same
 * addresses there.  What following a stack needs of a file, its unwind tables, is read when it is
 * first needed; the process itself is never read.
 */
#ifndef RM_STACK_IMAGES_H
#define RM_STACK_IMAGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "store/stack_record.h"

/* Which file, as the kernel has it. */
struct rm_image_key {
    const char *path;
    uint32_t pid;           /* of a process that has it mapped: it may see other files */
    uint64_t device, inode; /* 0, 0: not known */
    uint64_t generation;    /* of the inode: its number may be used again */
};

struct rm_image;
struct rm_images;

struct rm_images *rm_images_new(void); /* NULL: no memory */
void rm_images_free(struct rm_images *images);

/** The image of a file; NULL: it is no file, there are too many, or no memory. */
struct rm_image *rm_images_get(struct rm_images *images, const struct rm_image_key *key);

/** Reads what is needed, once.  false: the file is no ELF file, or cannot be read. */
bool rm_image_read(struct rm_image *image);

/** What the run is to know of it, in the made-up space; after rm_image_read(). */
const struct rm_module_entry *rm_image_entry(const struct rm_image *image);

/** Whether this is the first time that it is asked. */
bool rm_image_is_new(struct rm_image *image);

/** Where in the made-up space an offset in the file is that a mapping of `bytes` bytes begins with;
 * 0: nowhere. */
uint64_t rm_image_address(const struct rm_image *image, uint64_t offset, uint64_t bytes);

/* In the made-up space. */
struct rm_image_tables {
    uint64_t header; /* what the rows are counted from; 0: there are none that are understood */
    uint64_t rows;   /* the sorted table of .eh_frame_hdr, or one like that */
    uint64_t row_count;
};
struct rm_image_tables rm_image_tables_of(const struct rm_image *image);

/** Eight bytes of any image's tables, in the made-up space; other data of its file reads as 0. */
bool rm_images_word(const struct rm_images *images, uint64_t address, uint64_t *ret_word);

#endif
