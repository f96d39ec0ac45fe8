/* SPDX-License-Identifier: MIT */
/*
 * Owns which facts about the run, the machine, the job and the settings go into the block at start.
 */
#ifndef RM_ENGINE_FACTS_H
#define RM_ENGINE_FACTS_H

#include "collect/collect.h"
#include "engine/options.h"
#include "job/leader.h"
#include "store/block.h"

void rm_facts_record(struct rm_block *block, const struct rm_options *options,
                     const struct rm_collect *collect);

/** Of a process that is in a job. */
void rm_facts_record_job(struct rm_block *block, const resmon_job_info *info,
                         const struct rm_leader *leader);

#endif
