/* SPDX-License-Identifier: MIT */
/*
 * Owns the way of stacks from the run block to the profile of a run, as addresses.
 */
#ifndef RM_STORE_RUN_PROFILE_H
#define RM_STORE_RUN_PROFILE_H

#include "store/run.h"

/** Adds the stacks of `block` to `run`, whose scopes are there if they are wanted.  They may grow
 * meanwhile.  Trusts nothing in the block; RESMON_ENOMEM. */
resmon_status rm_run_decode_stacks(const struct rm_block *block, struct resmon_run *run);

#endif
