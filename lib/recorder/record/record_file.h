/* SPDX-License-Identifier: MIT */
/*
 * Owns the file that a block in memory is copied out to.  It has room for two copies ("images"),
 * written in turn: while one is written, its magic says so, and the other is whole.  Only pages
 * that changed since they were last written there are written.  The last copy, when nobody writes
 * the block any more, goes to the front, alone: a recording like any other. Called by recorder.c
 * and recording.c.
 */
#ifndef RM_RECORD_RECORD_FILE_H
#define RM_RECORD_RECORD_FILE_H

#include <stdbool.h>
#include <stdint.h>

#include "os/file.h"
#include "store/block.h"

struct rm_record_file {
    const struct rm_kept *kept; /* the caller's */
    const char *path;
    uint64_t bytes;      /* of the block */
    uint64_t image;      /* number of the last one that was written; they begin with 1 */
    uint64_t zeroes;     /* the hash of a page of them */
    uint64_t *hashes[2]; /* of each page, as it stands in each place; NULL: nothing is known */
    unsigned char *room; /* what is being copied */
    uint64_t written;    /* bytes, ever */
};

/** Bytes that a file for a block takes. */
uint64_t rm_record_file_bytes(uint64_t block_bytes);

/** Prepares copying; `is_new`: the file is all zeroes.  Else `file->image` is the caller's to set.
 * RESMON_ENOMEM. */
resmon_status rm_record_file_open(struct rm_record_file *file, const struct rm_kept *kept,
                                  const char *path, uint64_t block_bytes, bool is_new);
void rm_record_file_close(struct rm_record_file *file);

/** Writes the next image of a block that does not change meanwhile (record/block_copy.h). */
resmon_status rm_record_file_write(struct rm_record_file *file, const struct rm_infile *still);

/** The last one, when nobody writes the block any more: the file is then this copy alone. */
resmon_status rm_record_file_end(struct rm_record_file *file, const struct rm_infile *still);

/** Turns `file` to the newest image that is whole, and reads its header; a block that is no image
 * stays as it is.  RESMON_EFORMAT: there is none; then the header is that of the first place, which
 * may tell where the block is in memory, and has image 0. */
resmon_status rm_record_file_choose(struct rm_infile *file, struct rm_block_header *ret_header);

#endif
