/* SPDX-License-Identifier: MIT */
/*
 * Owns the way of stacks from the run block to the profile of a run, as addresses.
 */
#ifndef RM_RUN_DECODE_PROFILE_H
#define RM_RUN_DECODE_PROFILE_H

#include "run/run.h"

/** Adds the stacks of `block` to `run`, whose scopes are there if they are wanted.  They may grow
 * meanwhile.  Trusts nothing in the block.  Where there is no memory for them, the run has none,
 * and its kinds say so. */
void rm_run_decode_stacks(const struct rm_block *block, struct resmon_run *run);

#endif
