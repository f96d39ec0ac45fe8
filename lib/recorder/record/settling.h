/* SPDX-License-Identifier: MIT */
/*
 * Owns putting right what a copy of a live block has of scopes: a record of two copies is whole
 * when it was not published while it was copied, which its versions tell.
 * Called by recording.c and block_copy.c.
 */
#ifndef RM_RECORD_SETTLING_H
#define RM_RECORD_SETTLING_H

#include "os/infile.h"
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

#endif
