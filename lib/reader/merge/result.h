/* SPDX-License-Identifier: MIT */
/*
 * Owns making a run of what a merge has: with the columns of metrics for all nodes of the job, made
 * of those of each.
 * Called by merge/merge.c.
 */
#ifndef RM_MERGE_RESULT_H
#define RM_MERGE_RESULT_H

#include "merge/merge.h"

/** Whether a reason (RESMON_END_*) is worse for a job than another. */
bool rm_merge_is_worse(int32_t reason, int32_t other);

/** False: no memory. */
bool rm_merge_fill(struct rm_merge *merge, struct resmon_run *run);

#endif
