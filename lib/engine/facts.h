/* SPDX-License-Identifier: MIT */
/*
 * Owns which facts about the run, the machine, the job and the settings go into the block at start.
 */
#ifndef RM_ENGINE_FACTS_H
#define RM_ENGINE_FACTS_H

#include "collect/collect.h"
#include "engine/options.h"
#include "store/block.h"

/** RESMON_ENOMEM is the only failure. */
resmon_status rm_facts_record(struct rm_block *block, const struct rm_options *options,
                              const struct rm_collect *collect);

#endif
