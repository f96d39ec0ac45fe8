/* SPDX-License-Identifier: MIT */
/*
 * Owns the memory of a monitor.
 *
 * The memory of a run's block: its size by the options, and its place: anonymous memory, a
 * recording, or a file for a parent command (RESMON_RUN).
 *
 * The monitor's part of the program's RSS: the growth during its start, the pages of its block,
 * and the highest temporary growth by its captures and sinks.
 *
 * Also owns the behavior with little memory by the process's own limits (RLIMIT_AS, RLIMIT_DATA): a
 * monitor uses little, or does not start, so that the program does not fail because of it.
 *
 * Called by monitor.c and capture.c.
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
    struct rm_mapping *mapping;   /* mapping of the block; a scope session may own it */
    struct rm_recorder *recorder; /* copies the block out; NULL: no recorder */
    const char *record_system;    /* file system of the copy; NULL: none */
    bool is_of_run;               /* the block is in a file for a parent command */
};

/** Makes an empty block, with capacity for all that `sampler`, which is open, and the options need.
 */
resmon_status rm_block_memory_make(struct rm_block_memory *memory, const struct rm_options *options,
                                   const struct rm_sampler *sampler, struct rm_block *ret_block);

/** Gives a recording its name; an existing file is set aside.  `session`: of the block's scopes;
 * NULL: none. */
resmon_status rm_block_memory_publish(struct rm_block_memory *memory,
                                      struct rm_scope_session *session);

/** Whether the options record to the file `path`, which is absolute. */
bool rm_block_memory_is_file(const struct rm_options *options, const char *path);

/** Unmaps and frees a struct rm_mapping. */
void rm_block_memory_unmap(void *mapping);

/** `is_given_away`: a scope session owns the mapping.  `is_inherited`: see rm_recorder_free(). */
void rm_block_memory_free(struct rm_block_memory *memory, bool is_given_away, bool is_inherited);

struct rm_own_memory {
    const struct rm_mapping *mapping; /* mapping of the block */
    struct rm_block_header *header;   /* header that has the values */
    bool is_self;                     /* the run is of this process: else nothing is noted */
    /* growth of RSS in the start, without block and stacks, + 1; 0: not known */
    uint64_t start_rss_1;
};

/** The current RSS of this process in bytes; 0: not known. */
uint64_t rm_own_memory_rss(void);

/** Notes the growth of a start that began at this RSS. */
void rm_own_memory_note_start(struct rm_own_memory *own, uint64_t rss_before);

/** Notes the memory of the start and of the block's pages. */
void rm_own_memory_note(const struct rm_own_memory *own);

/** Notes the highest growth of RSS by temporary work of the library, such as a capture.  Any
 * thread. */
void rm_own_memory_note_rise(const struct rm_own_memory *own, uint64_t bytes);

struct rm_memory_room;

/** Called before the first thread of a monitor: if little memory is left, all threads of the
 * process share one heap from then on. */
void rm_address_space_save(void);

/** Whether there is enough memory for a block of this size, for the rest of a monitor, and for the
 * program; else RESMON_ENOMEM. */
resmon_status rm_address_space_check(uint64_t block_bytes);

/** The decision of rm_address_space_check(), for a given amount of free memory. */
resmon_status rm_address_space_decide(const struct rm_memory_room *room, uint64_t block_bytes);

#endif
