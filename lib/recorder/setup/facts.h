/* SPDX-License-Identifier: MIT */
/*
 * Owns which facts about the run, the machine, the job and the settings go into the block at start.
 */
#ifndef RM_SETUP_FACTS_H
#define RM_SETUP_FACTS_H

#include "collect/collect.h"
#include "job/detect.h"
#include "job/leader.h"
#include "os/identity.h"
#include "setup/options.h"
#include "store/block.h"

void rm_facts_record(struct rm_block *block, const struct rm_options *options,
                     const struct rm_collect *collect);

/** Who observes, so that others can tell when that is gone. */
void rm_facts_record_observer(struct rm_block *block, const struct rm_identity *self);

/** Whom it observes, if that is another process of this machine. */
void rm_facts_record_observed(struct rm_block *block, const struct rm_collect *collect);

/** The facts of the job of a process that is in one. */
void rm_facts_record_job(struct rm_block *block, const struct resmon_job *job,
                         const struct rm_leader *leader, const struct rm_collect *collect);

/** How far the clock of the machine may be wrong, when the run begins; and when it ends, with by
 * how much it was set meanwhile. */
void rm_facts_record_clock(struct rm_block *block);
void rm_facts_record_clock_end(struct rm_block *block);

#endif
