/* SPDX-License-Identifier: MIT */
/*
 * Owns the thread rm-stack, which takes stacks: it finds the program's threads and libraries,
 * drains the rings that their handlers or the kernel fill, and writes stacks to the run block.
 * It has a descriptor table of its own, like the sampling thread.
 */
#ifndef RM_ENGINE_STACKS_H
#define RM_ENGINE_STACKS_H

#include "collect/collect.h"
#include "setup/options.h"
#include "store/block.h"

struct rm_stacks;
struct rm_stacks_cost;

/**
 * Starts the thread, for a block with capacity for stacks: of this process, or of `others`,
 * another process or cgroup.  If stacks cannot be taken, the start succeeds, and the run has the
 * reason.
 * `cost` is updated until the stop.  RESMON_ENOMEM, or the failure to start a thread.
 */
resmon_status rm_stacks_start(const struct rm_block *block, const struct rm_options *options,
                              const struct rm_collect *others, struct rm_stacks_cost *cost,
                              struct rm_stacks **ret_stacks);

/** Stops taking stacks, and writes all that were taken to the block.  Frees.  NULL is fine. */
void rm_stacks_stop(struct rm_stacks *stacks);

#endif
