/* SPDX-License-Identifier: MIT */
/*
 * Owns what a monitor itself takes of the program's RSS: what the program grew by in its start, the
 * pages of its block, and the highest that its captures and sinks have added for a moment.
 * Called by monitor.c and capture.c.
 */
#ifndef RM_ENGINE_OWN_MEMORY_H
#define RM_ENGINE_OWN_MEMORY_H

#include <stdbool.h>
#include <stdint.h>

#include "os/mapping.h"
#include "store/block.h"

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

#endif
