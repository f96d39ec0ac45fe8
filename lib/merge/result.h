/* SPDX-License-Identifier: MIT */
/*
 * Owns making a run of what a merge has.
 * Called by merge/merge.c.
 */
#ifndef RM_MERGE_RESULT_H
#define RM_MERGE_RESULT_H

#include "merge/merge.h"

/** False: no memory. */
bool rm_merge_fill(struct rm_merge *merge, struct resmon_run *run);

#endif
