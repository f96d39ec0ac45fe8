/* SPDX-License-Identifier: MIT */
/*
 * Owns the decoding of stacks from the run block into the profile of a run, as addresses.
 */
#ifndef RM_RUN_DECODE_PROFILE_H
#define RM_RUN_DECODE_PROFILE_H

#include "run/run.h"

/** Adds the stacks of `block` to `run`. If the scopes are wanted, `run` must already have them. The
 * stacks may grow meanwhile. Trusts nothing in the block. If memory is missing, the run has no
 * stacks, and its kinds give the reason. */
void rm_run_decode_stacks(const struct rm_block *block, struct resmon_run *run);

#endif
