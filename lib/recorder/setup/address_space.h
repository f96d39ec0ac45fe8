/* SPDX-License-Identifier: MIT */
/*
 * Owns what a monitor does where the process may have little memory by its own limits (RLIMIT_AS,
 * RLIMIT_DATA): it takes little, or does not start, so that the program does not fail for it.
 * Called by engine/monitor.c and engine/block_memory.c.
 */
#ifndef RM_SETUP_ADDRESS_SPACE_H
#define RM_SETUP_ADDRESS_SPACE_H

#include <stdint.h>

#include <resmon/status.h>

struct rm_memory_room;

/** Before the first thread of a monitor: where little is left, all threads of the process share one
 * heap from here on. */
void rm_address_space_save(void);

/** Whether there is room for a block of so many bytes, and what else a monitor takes, and enough
 * for the program; else RESMON_ENOMEM. */
resmon_status rm_address_space_check(uint64_t block_bytes);

/** The rule of rm_address_space_check(), for a given room. */
resmon_status rm_address_space_decide(const struct rm_memory_room *room, uint64_t block_bytes);

#endif
