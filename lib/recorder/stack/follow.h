/* SPDX-License-Identifier: MIT */
/*
 * Owns unwinding the stacks of the kernel's samples.  A loop that touches memory has the same
 * stack again and again: the last ones are cached, and used while the stack words that they
 * depend on are unchanged.
 */
#ifndef RM_STACK_FOLLOW_H
#define RM_STACK_FOLLOW_H

#include <stdbool.h>
#include <stdint.h>

#include "stack/unwind.h"
#include "store/stack_record.h"

#define RM_FOLLOWED 8U /* size of the cache */

struct rm_followed {
    uint64_t code; /* number of the code at unwinding; 0: empty */
    bool is_short; /* more of the stack was needed than the sample has */
    struct rm_view_log log;
    struct rm_unwound unwound;
    uint64_t addresses[RM_STACK_DEPTH];
    bool has_registers;
    uint64_t stacks[RM_STACK_DEPTH];
    struct rm_unwind_saved saved[RM_STACK_DEPTH];
};

/* Zeroed: empty cache.  Used by one thread. */
struct rm_follower {
    struct rm_unwind unwind; /* the caller sets `code` or `foreign` */
    bool wants_registers;    /* those of each frame, which take time */
    struct rm_followed followed[RM_FOLLOWED];
};

/** The stack of a sample.  `code`: a number, not 0, that changes with the mappings; `memory`: of
 * another process, or NULL.  Valid until the next call. */
const struct rm_followed *rm_follow(struct rm_follower *follower,
                                    const struct rm_perf_record *sample, uint64_t code,
                                    const struct rm_view_memory *memory);

#endif
