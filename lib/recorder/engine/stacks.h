/* SPDX-License-Identifier: MIT */
/*
 * Owns the thread that has stacks taken (rm-stack): it finds the threads of the program and its
 * libraries, takes out what their handlers put into the rings, or what the kernel tells of other
 * processes, and writes it to the run block.
 * It has a table of descriptors of its own, as the sampling thread has.
 */
#ifndef RM_ENGINE_STACKS_H
#define RM_ENGINE_STACKS_H

#include "collect/collect.h"
#include "setup/options.h"
#include "store/block.h"

struct rm_stacks;
struct rm_stacks_cost;

/**
 * Starts it, for a block that has room for stacks: of this process, or from outside of `others`, a
 * process or a control group.  Stacks that cannot be had are no failure: the run has the reason.
 * `cost` is kept up to date until the stop.  RESMON_ENOMEM, or that no thread can be started.
 */
resmon_status rm_stacks_start(const struct rm_block *block, const struct rm_options *options,
                              const struct rm_collect *others, struct rm_stacks_cost *cost,
                              struct rm_stacks **ret_stacks);

/** No more stacks; all that were taken are in the block.  Frees.  NULL is fine. */
void rm_stacks_stop(struct rm_stacks *stacks);

#endif
