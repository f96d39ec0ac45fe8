/* SPDX-License-Identifier: MIT */
/*
 * Owns the finding of the program's threads for stacks: new ones are sampled, too, and of those
 * that block the signal the CPU time is counted that goes by unseen.
 */
#ifndef RM_STACK_THREADS_H
#define RM_STACK_THREADS_H

#include "stack/round.h"

/** Whether /proc lists the threads of this process, and the list can be trusted. */
bool rm_stack_threads_are_listed(struct rm_stack_round *round);

/** Samples the threads that are new. */
void rm_stack_threads_find(struct rm_stack_round *round);

/** Whether new threads may still be looked at once between rounds: not too many came since the
 * latest. */
bool rm_stack_threads_may_sample_new(const struct rm_stack_round *round);

/** Samples the new threads that the kernel told of. */
void rm_stack_threads_sample_new(struct rm_stack_round *round);

/** Counts what threads missed that have the signal blocked. */
void rm_stack_threads_count_blocked(struct rm_stack_round *round);

#endif
