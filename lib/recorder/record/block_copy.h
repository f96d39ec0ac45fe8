/* SPDX-License-Identifier: MIT */
/*
 * Owns consistent copies of a live block, in a memory file without a name.  A slow disk or server
 * may read such a copy for a long time, while the block changes.  The memory file is not mapped, so
 * that the program's resident memory does not grow.
 *
 * Also owns the repair of scope records in a copy of a live block (settling).  A record that is
 * published in two copies is consistent if its versions did not change while it was copied.
 *
 * Called by recorder.c and recording.c.
 */
#ifndef RM_RECORD_BLOCK_COPY_H
#define RM_RECORD_BLOCK_COPY_H

#include "os/file.h"
#include "store/block.h"
#include "store/scope_records.h"

/** Sections of records that are settled: nodes of scopes, and all facets of them. */
#define RM_SETTLED (RM_FACETS + 1)
uint32_t rm_settled_section(size_t index);

/** Reads the record at `offset` of the live file, in section `section`, until it is consistent.  If
 * the record is published between all reads, the last read is kept.  That read is inconsistent only
 * if the record was published twice during it. */
resmon_status rm_settle_record(const struct rm_infile *live, uint32_t section, uint64_t offset,
                               void *record);

/* Prevents the end of threads while memory is copied, as an ending thread moves its tree. */
struct rm_block_hold {
    void (*begin)(void *context); /* NULL: there are no threads */
    void (*end)(void *context);
    void *context;
};

/** Copies the whole block in `live`, as of about one moment.  The caller closes the copy with
 * rm_infile_close().  RESMON_EBUSY: the block changed too fast. */
resmon_status rm_block_copy_make(const struct rm_infile *live, const struct rm_block_hold *hold,
                                 struct rm_infile *ret_copy);

#endif
