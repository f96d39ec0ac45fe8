/* SPDX-License-Identifier: MIT */
/*
 * Owns the finding of the program's threads for stacks: new ones are sampled, too, and of those
 * that block the signal the CPU time is counted that goes by unseen.
 */
#ifndef RM_ENGINE_STACK_THREADS_H
#define RM_ENGINE_STACK_THREADS_H

#include "engine/stack_round.h"

/** Whether /proc has a list of this process's threads that can be gone by. */
bool rm_stack_threads_are_listed(struct rm_stack_round *round);

/** Samples the threads that are new. */
void rm_stack_threads_find(struct rm_stack_round *round);

/** Whether there were not too many yet since the latest round. */
bool rm_stack_threads_may_be_greeted(const struct rm_stack_round *round);

/** Samples those that the kernel told of. */
void rm_stack_threads_greet(struct rm_stack_round *round);

/** Counts what threads missed that have the signal blocked. */
void rm_stack_threads_count_blocked(struct rm_stack_round *round);

#endif
