/* SPDX-License-Identifier: MIT */
/*
 * Owns the merge of the runs of a job's nodes and ranks into one run.  Each run is added, and may
 * be freed then.  rm_merge_make() makes a run of all that was added.  The result does not depend on
 * the order of the runs, nor on earlier merges of some of them, except for the rounding of sums.
 * Pure.
 *
 * Called by api/merge.c.
 */
#ifndef RM_MERGE_MERGE_H
#define RM_MERGE_MERGE_H

#include "run/run.h"

struct rm_merge;

void rm_merge_begin(struct rm_merge *merge);

/** Adds a run.  RESMON_EINVAL: the run is of another job, or the merge already has it or a part of
 * it.  RESMON_ENOMEM: then the merge can only be freed. */
resmon_status rm_merge_add(struct rm_merge *merge, const struct resmon_run *run);

/** Adds a node of the job by its name: it is missing until a run of it is added. */
resmon_status rm_merge_expect(struct rm_merge *merge, const char *node);

/** Makes a run of all.  RESMON_ESTATE: nothing was added; RESMON_ENOMEM. */
resmon_status rm_merge_make(struct rm_merge *merge, struct resmon_run **ret_run);

void rm_merge_free(struct rm_merge *merge);

#endif
