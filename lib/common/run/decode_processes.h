/* SPDX-License-Identifier: MIT */
/*
 * Owns the way of the rows of processes from the run block to a run.
 */
#ifndef RM_RUN_DECODE_PROCESSES_H
#define RM_RUN_DECODE_PROCESSES_H

#include "run/run.h"
#include "store/block.h"

/** Adds the processes of `block` to `run`, which has none.  They may change meanwhile.  Trusts
 * nothing in the block; RESMON_ENOMEM. */
resmon_status rm_run_decode_processes(const struct rm_block *block, struct resmon_run *run);

#endif
