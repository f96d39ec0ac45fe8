/* SPDX-License-Identifier: MIT */
/*
 * Owns the record of how a program ended, in a form that a signal handler can write; and the
 * resources that the kernel has accounted to the process at its end. Both are parts of the run
 * block.
 */
#ifndef RM_STORE_END_H
#define RM_STORE_END_H

#include <resmon/end.h>
#include <stdbool.h>
#include <stdint.h>

#include "store/block.h"

/* ---- how the program ended -------------------------------------------------------------- */

/** Stores the end. The caller holds a lock against concurrent calls. */
void rm_end_store(struct rm_block_header *header, const resmon_run_end *end);

/** Records the signal that ends the program. It takes precedence over any stored end, earlier or
 * later. Async-signal-safe. */
void rm_end_note_signal(struct rm_block_header *header, int signal_number);

/** The end recorded in the block; UNKNOWN if there is no record. */
void rm_end_load(const struct rm_block_header *header, struct rm_end_record *ret_record);

/** Converts a wait status of wait(2). */
resmon_run_end rm_end_of_status(int status);

/* ---- what it used ----------------------------------------------------------------------- */

/** Stores the usage once: later calls change nothing and return false. The caller holds a lock
 * against concurrent calls. */
bool rm_usage_store(struct rm_block_header *header, const resmon_run_usage *usage);

/** Returns false if the block has no usage; `ret_usage` is then unchanged. */
bool rm_usage_load(const struct rm_block_header *header, resmon_run_usage *ret_usage);

#endif
