/* SPDX-License-Identifier: MIT */
/*
 * Owns reading of files that users name: regular files of a bounded size, and what a user has read
 * from one already.
 */
#ifndef RM_OS_INFILE_H
#define RM_OS_INFILE_H

#include <stdint.h>

#include <resmon/status.h>

#include "base/compiler.h"
#include "os/kept.h"

struct rm_infile {
    struct rm_kept kept;
    const char *path; /* the caller's, until close */
    uint64_t bytes;
    uint64_t base;      /* where in the file the content begins */
    const void *memory; /* the content, where it is not in a file; the caller's */
};

/** RESMON_EFORMAT: no regular file, or larger than `bound`. */
RM_SHARED resmon_status rm_infile_open(struct rm_infile *file, const char *path, uint64_t bound);

/** A file whose content is in memory already; `name` takes the place of the path in messages. */
resmon_status rm_infile_of_memory(struct rm_infile *file, const char *name, const void *memory,
                                  uint64_t bytes, uint64_t bound);

/** Reads `length` bytes at `offset`; what lies beyond the end (the file shrank) reads as 0. */
resmon_status rm_infile_read(const struct rm_infile *file, uint64_t offset, void *bytes,
                             uint64_t length);

/** Where, from `offset` on, something has ever been written: what is before that is zeroes.
 * `offset` itself where that cannot be told. */
uint64_t rm_infile_next_data(const struct rm_infile *file, uint64_t offset);

/** All of it, which the caller frees (rm_free); NULL unless RESMON_OK. */
RM_SHARED resmon_status rm_infile_read_all(const struct rm_infile *file, char **ret_text);

RM_SHARED void rm_infile_close(struct rm_infile *file);

#endif
