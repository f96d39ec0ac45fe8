/* SPDX-License-Identifier: MIT */
/*
 * Owns the memory of a run's block: its size, by the options, and where it is.  That is anonymous
 * memory, a recording, or a file that whoever runs this program has asked for (RESMON_RUN).
 * Called by monitor.c.
 */
#ifndef RM_ENGINE_BLOCK_MEMORY_H
#define RM_ENGINE_BLOCK_MEMORY_H

#include <stdbool.h>

#include "engine/sampler.h"
#include "os/mapping.h"
#include "setup/options.h"
#include "store/block.h"

struct rm_recorder;
struct rm_scope_session;

struct rm_block_memory {
    struct rm_mapping *mapping;   /* of the block; a scope session may own it by now */
    struct rm_recorder *recorder; /* where the block is copied out; NULL: it is not */
    const char *record_system;    /* the file system that it is copied to; NULL: none */
    bool is_of_run;               /* the block is in a file of whoever runs this program */
};

/** An empty block for all that `sampler`, which is open, and the options put into it. */
resmon_status rm_block_memory_make(struct rm_block_memory *memory, const struct rm_options *options,
                                   const struct rm_sampler *sampler, struct rm_block *ret_block);

/** A recording gets its name, and one that was there is set aside.  `session` has the scopes of the
 * block; NULL: none. */
resmon_status rm_block_memory_publish(struct rm_block_memory *memory,
                                      struct rm_scope_session *session);

/** Whether the options record into the file `path`, which is absolute. */
bool rm_block_memory_is_file(const struct rm_options *options, const char *path);

/** Unmaps and frees a struct rm_mapping. */
void rm_block_memory_unmap(void *mapping);

/** `is_given_away`: a scope session has the mapping.  `is_inherited`: see rm_recorder_free(). */
void rm_block_memory_free(struct rm_block_memory *memory, bool is_given_away, bool is_inherited);

#endif
