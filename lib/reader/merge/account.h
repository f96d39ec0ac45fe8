/* SPDX-License-Identifier: MIT */
/*
 * Owns what the runs of a job say together: the sums of what they cost, left out and used, and what
 * became of their sources; what only one can say for all: facts, the label and tags, which are
 * those of the lowest rank; facts of the machine, as far as all runs agree; and that all are of one
 * job. Called by merge/merge.c.
 */
#ifndef RM_MERGE_ACCOUNT_H
#define RM_MERGE_ACCOUNT_H

#include "merge/merge.h"

/** RESMON_EINVAL: the run is of another job than those that were added. */
resmon_status rm_merge_speaker_check(const struct rm_merge *merge, const struct resmon_run *run);

/** Takes from a run that was added, of which `rank` is the lowest (NULL: it has none), what it says
 * for all, and adds what adds up.  False: no memory. */
bool rm_merge_speaker_hear(struct rm_merge *merge, const struct resmon_run *run, int64_t start_ns,
                           const resmon_run_rank *rank);

void rm_merge_speaker_free(struct rm_merge_speaker *speaker);

#endif
