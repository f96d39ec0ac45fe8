/* SPDX-License-Identifier: MIT */
/*
 * Owns copies of a block at work that hold still: in a memory file without a name, so that what is
 * made of them may take as long as a disk or a server likes.  It is not mapped: the program's
 * resident memory does not grow by it.  And putting right what a copy of a live block has of scopes
 * (settling): a record of two copies is whole when it was not published while it was copied, which
 * its versions tell. Called by recorder.c and recording.c.
 */
#ifndef RM_RECORD_BLOCK_COPY_H
#define RM_RECORD_BLOCK_COPY_H

#include "os/file.h"
#include "store/block.h"
#include "store/scope_records.h"

/** Sections of records that are settled: nodes of scopes, and all facets of them. */
#define RM_SETTLED (RM_FACETS + 1)
uint32_t rm_settled_section(size_t index);

/** Reads a record of section `section` from the live file, where it stands at `offset`, until it is
 * whole.  One that is published between any two reads stays as it was read last, by one read: a
 * mixture only if it was published twice during that. */
resmon_status rm_settle_record(const struct rm_infile *live, uint32_t section, uint64_t offset,
                               void *record);

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
