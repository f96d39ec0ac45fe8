/* SPDX-License-Identifier: MIT */
/*
 * Owns the memory of a monitor.  That of a run's block: its size, by the options, and where it is:
 * anonymous memory, a recording, or a file that whoever runs this program has asked for
 * (RESMON_RUN).  What a monitor itself takes of the program's RSS: what the program grew by in its
 * start, the pages of its block, and the highest that its captures and sinks have added for a
 * moment.  And what a monitor does where the process may have little memory by its own limits
 * (RLIMIT_AS, RLIMIT_DATA): it takes little, or does not start, so that the program does not fail
 * for it.  Called by monitor.c and capture.c.
 */
#ifndef RM_ENGINE_MEMORY_H
#define RM_ENGINE_MEMORY_H

#include <stdbool.h>
#include <stdint.h>

#include <resmon/status.h>

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

struct rm_own_memory {
    const struct rm_mapping *mapping; /* of the block */
    struct rm_block_header *header;   /* where it is noted */
    bool is_self;                     /* the run is of this process: else it is not noted */
    uint64_t start_rss_1; /* by which the RSS grew in the start, less block and stacks, and 1; 0:
                             not known */
};

/** The RSS of this process now, in bytes; 0: not known. */
uint64_t rm_own_memory_rss(void);

/** A start is over that began at that RSS: notes what it took. */
void rm_own_memory_note_start(struct rm_own_memory *own, uint64_t rss_before);

/** Notes what the start and the pages of the block take now. */
void rm_own_memory_note(const struct rm_own_memory *own);

/** Work of the library, as a capture, made the RSS rise by `bytes`: notes the highest.  Any thread.
 */
void rm_own_memory_note_rise(const struct rm_own_memory *own, uint64_t bytes);

struct rm_memory_room;

/** Before the first thread of a monitor: where little is left, all threads of the process share one
 * heap from here on. */
void rm_address_space_save(void);

/** Whether there is room for a block of so many bytes, and what else a monitor takes, and enough
 * for the program; else RESMON_ENOMEM. */
resmon_status rm_address_space_check(uint64_t block_bytes);

/** The rule of rm_address_space_check(), for a given room. */
resmon_status rm_address_space_decide(const struct rm_memory_room *room, uint64_t block_bytes);

#endif
