/* SPDX-License-Identifier: MIT */
/*
 * Owns what the kernel had accounted to the process when it ended, as a part of the run block.
 */
#ifndef RM_STORE_USAGE_H
#define RM_STORE_USAGE_H

#include <stdbool.h>

#include <resmon/end.h>

struct rm_block_header;

/** Once: later calls change nothing, and return false.  Whoever calls holds a lock against others
 * who do. */
bool rm_usage_store(struct rm_block_header *header, const resmon_run_usage *usage);

/** False: nothing is said, and `ret_usage` is as it was. */
bool rm_usage_load(const struct rm_block_header *header, resmon_run_usage *ret_usage);

#endif
