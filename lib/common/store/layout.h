/* SPDX-License-Identifier: MIT */
/*
 * Owns the sizes and places of a block's sections, and the checks of a block of untrusted origin.
 */
#ifndef RM_STORE_LAYOUT_H
#define RM_STORE_LAYOUT_H

#include <stdint.h>

#include <resmon/status.h>

#include "store/block.h"

/** Computes the bytes that a block of these sizes needs. RESMON_ERANGE names the size that is out
 * of bounds, or reports that the product of the sizes is. */
resmon_status rm_block_measure(const struct rm_block_sizes *sizes, uint64_t *ret_bytes);

/** Formats zeroed memory of rm_block_measure() bytes. */
void rm_block_format(struct rm_block *block, void *memory, const struct rm_block_sizes *sizes);

/**
 * Uses `bytes` bytes of untrusted origin as a block. RESMON_EFORMAT unless all values that later
 * code relies on (magic, sizes, sections) are valid; RESMON_EVERSION for another version.
 */
resmon_status rm_block_attach(struct rm_block *block, void *memory, uint64_t bytes);

/** For a copy whose end is missing and replaced by zeroes: reduces the header's sizes and counts to
 * the records within the first `bytes`. RESMON_EFORMAT if not even the columns and their
 * statistics, which come first, are whole. */
resmon_status rm_block_clip(const struct rm_block *block, uint64_t bytes);

/** Length of the front of the block: up to the end of the states, which come first. At most
 * `bytes`; the header may be of untrusted origin. */
uint64_t rm_block_front(const struct rm_block_header *header, uint64_t bytes);

#endif
