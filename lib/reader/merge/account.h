/* SPDX-License-Identifier: MIT */
/*
 * Owns the sums of what the runs of a job cost, left out and used, and what became of their
 * sources. Called by merge/speaker.c.
 */
#ifndef RM_MERGE_ACCOUNT_H
#define RM_MERGE_ACCOUNT_H

#include "merge/merge.h"

/** False: no memory. */
bool rm_merge_account_add(struct rm_merge *merge, const struct resmon_run *run);

#endif
