/* SPDX-License-Identifier: MIT */
/*
 * Owns copies of a block at work that hold still: in a memory file without a name, so that what is
 * made of them may take as long as a disk or a server likes.  It is not mapped: the program's
 * resident memory does not grow by it.
 * Called by recorder.c.
 */
#ifndef RM_RECORD_BLOCK_COPY_H
#define RM_RECORD_BLOCK_COPY_H

#include "os/infile.h"

/* Keeps threads from ending, whose trees would move, for as long as memory is copied. */
struct rm_block_hold {
    void (*begin)(void *context); /* NULL: there are no threads */
    void (*end)(void *context);
    void *context;
};

/** Copies the block that `live` has, all of it as of about one moment; close with
 * rm_infile_close(). RESMON_EBUSY: it changed too fast. */
resmon_status rm_block_copy_make(const struct rm_infile *live, const struct rm_block_hold *hold,
                                 struct rm_infile *ret_copy);

#endif
