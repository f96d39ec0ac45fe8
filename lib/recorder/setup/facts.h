/* SPDX-License-Identifier: MIT */
/*
 * Owns the facts about the run, the machine, the job and the settings, which are written to the
 * block at start.
 */
#ifndef RM_SETUP_FACTS_H
#define RM_SETUP_FACTS_H

#include "collect/collect.h"
#include "job/detect.h"
#include "job/leader.h"
#include "os/identity.h"
#include "os/topology.h"
#include "setup/options.h"
#include "store/block.h"

void rm_facts_record(struct rm_block *block, const struct rm_options *options,
                     const struct rm_collect *collect);

/** Adds the facts of the machine's processors and memory nodes. */
void rm_facts_record_topology(struct rm_block *block, const struct rm_topology *topology);

/** The observing process, so that others can detect its end. */
void rm_facts_record_observer(struct rm_block *block, const struct rm_identity *self);

/** The observed process, if it is another one of this machine. */
void rm_facts_record_observed(struct rm_block *block, const struct rm_collect *collect);

/** The facts of the job that the process is in, if any. */
void rm_facts_record_job(struct rm_block *block, const struct resmon_job *job,
                         const struct rm_leader *leader, const struct rm_collect *collect);

/** The error bound of the machine's clock at the begin of the run; and at its end, with the amount
 * by which it was set meanwhile. */
void rm_facts_record_clock(struct rm_block *block);
void rm_facts_record_clock_end(struct rm_block *block);

#endif
