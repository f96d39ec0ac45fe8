/* SPDX-License-Identifier: MIT */
/*
 * Owns the files with code of observed processes.  Each has a range in one synthetic address
 * space: its code has the same addresses there, for all processes and mappings.  The unwind
 * tables of a file are read when they are first needed; the memory of processes is never read.
 */
#ifndef RM_STACK_IMAGES_H
#define RM_STACK_IMAGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "stack/python_layout.h"
#include "store/stack_record.h"

/* Identity of a file, by the kernel. */
struct rm_image_key {
    const char *path;
    uint32_t pid;           /* a process that maps it, which may have another root */
    uint64_t device, inode; /* 0, 0: not known */
    uint64_t generation;    /* of the inode, whose number may be reused */
};

struct rm_image;
struct rm_images;

struct rm_images *rm_images_new(void); /* NULL: out of memory */
void rm_images_free(struct rm_images *images);

/** The image of a file; NULL: not a file, too many, or out of memory. */
struct rm_image *rm_images_get(struct rm_images *images, const struct rm_image_key *key);

/** Reads the tables, once.  False: not an ELF file, or not readable. */
bool rm_image_read(struct rm_image *image);

/** Its path, as the process has it. */
const char *rm_image_path(const struct rm_image *image);

/** The run's record of the image, in the synthetic address space; after rm_image_read(). */
const struct rm_module_entry *rm_image_entry(const struct rm_image *image);

/** Whether this is the first call for the image. */
bool rm_image_is_new(struct rm_image *image);

/** Address in the synthetic space of a file offset, at which a mapping of `bytes` bytes begins; 0:
 * none. */
uint64_t rm_image_address(const struct rm_image *image, uint64_t offset, uint64_t bytes);

/* Addresses in the synthetic space. */
struct rm_image_tables {
    uint64_t header; /* base of the rows; 0: none in a supported form */
    uint64_t rows;   /* sorted table of .eh_frame_hdr, or one made like it */
    uint64_t row_count;
};
struct rm_image_tables rm_image_tables_of(const struct rm_image *image);

/** Reads eight bytes of an image's tables, by synthetic address; other data of the file reads as 0.
 */
bool rm_images_word(const struct rm_images *images, uint64_t address, uint64_t *ret_word);

/* A mapping with code, by address. */
struct rm_space_map {
    uint64_t start, end, offset;
    struct rm_image *image; /* NULL: generated at run time */
};

/* A Python interpreter in a file, in the synthetic address space. */
struct rm_image_python {
    uint64_t runtime;             /* of _PyRuntime; 0: the file has no interpreter */
    uint64_t version;             /* of Py_Version, which 3.11 and later have; 0: none */
    uint32_t minor;               /* of 3.x, by the file's name; 0: the name does not tell it */
    struct rm_python_tasks tasks; /* also in a file without an interpreter */
};

/** Looks for an interpreter, once for each file; reads the tables only where there is one. */
struct rm_image_python rm_image_python(struct rm_image *image);

#endif
