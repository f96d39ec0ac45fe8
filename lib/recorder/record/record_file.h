/* SPDX-License-Identifier: MIT */
/*
 * Owns the file to which a block in memory is copied.  The file has two places for copies
 * ("images"), which are written in turn.  While an image is written, it has a different magic, and
 * the other image is complete.  Only pages that differ from the place's previous image are written.
 * The last copy, of a block that does not change any more, is at the start of the file.  The file
 * then has no second image, and is a usual recording.
 *
 * Called by recorder.c and recording.c.
 */
#ifndef RM_RECORD_RECORD_FILE_H
#define RM_RECORD_RECORD_FILE_H

#include <stdbool.h>
#include <stdint.h>

#include "os/file.h"
#include "store/block.h"

struct rm_record_file {
    const struct rm_kept *kept; /* owned by the caller */
    const char *path;
    uint64_t bytes;      /* size of the block */
    uint64_t image;      /* number of the last written image; the first is 1 */
    uint64_t zeroes;     /* hash of a page of zeroes */
    uint64_t *hashes[2]; /* hash of each page in each place; 0: not known */
    unsigned char *room; /* buffer of pages that are copied */
    uint64_t written;    /* total bytes */
};

/** Size of a file for a block. */
uint64_t rm_record_file_bytes(uint64_t block_bytes);

/** Prepares copying.  `is_new`: the file has only zeroes; else the caller sets `file->image`.
 * RESMON_ENOMEM. */
resmon_status rm_record_file_open(struct rm_record_file *file, const struct rm_kept *kept,
                                  const char *path, uint64_t block_bytes, bool is_new);
void rm_record_file_close(struct rm_record_file *file);

/** Writes the next image, from the consistent copy `still` (record/block_copy.h). */
resmon_status rm_record_file_write(struct rm_record_file *file, const struct rm_infile *still);

/** Writes the last copy, of a block that does not change any more.  Then the file has only this
 * copy of the block. */
resmon_status rm_record_file_end(struct rm_record_file *file, const struct rm_infile *still);

/** Sets `file` to its newest complete image, and reads the image's header.  A file with a plain
 * block is unchanged.  RESMON_EFORMAT: no image is complete.  Then the header is of the first
 * place, with image 0; it may have the name of the block's memory file. */
resmon_status rm_record_file_choose(struct rm_infile *file, struct rm_block_header *ret_header);

#endif
