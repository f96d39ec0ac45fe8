/* SPDX-License-Identifier: MIT */
/*
 * Owns the table of slots, one for each thread that is sampled, and the tokens by which a signal
 * tells which slot it is about.  Slots are made and freed on one thread, that of engine/stacks;
 * handlers find theirs by its token.
 */
#ifndef RM_STACK_SLOTS_H
#define RM_STACK_SLOTS_H

#include <stdbool.h>
#include <stdint.h>

#include "stack/slot.h"

#define RM_STACK_THREADS 512U /* that are sampled at the same time */

/** How many there are, in use or not; all below have one. */
uint32_t rm_slots_count(void);
struct rm_stack_slot *rm_slots_at(uint32_t index);

/** The slot of a thread, or NULL; and marks it as named. */
struct rm_stack_slot *rm_slots_find(uint32_t thread);

/** A free slot for a thread, made if needed; NULL: there are too many threads, or no memory. */
struct rm_stack_slot *rm_slots_take(uint32_t thread);

/** Whether rm_slots_find() has named the slot since the last call. */
bool rm_slots_was_named(uint32_t index);

/** What a signal about a slot carries. */
void *rm_slots_token(const struct rm_stack_slot *slot);
/** The slot that a token is of, or NULL.  Async-signal-safe. */
struct rm_stack_slot *rm_slots_of_token(const void *token);

/** Frees all; no handler looks at one. */
void rm_slots_free(void);
/** Leaves all as it is: it is another process's, or looked at. */
void rm_slots_forget(void);

#endif
