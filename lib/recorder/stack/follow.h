/* SPDX-License-Identifier: MIT */
/*
 * Owns following the stacks of the kernel's samples.  A loop that touches memory has the same stack
 * again and again: the latest are kept, and not followed anew while the words that they were
 * followed by are the same.
 */
#ifndef RM_STACK_FOLLOW_H
#define RM_STACK_FOLLOW_H

#include <stdbool.h>
#include <stdint.h>

#include "stack/unwind.h"
#include "store/stack_record.h"

#define RM_FOLLOWED 8U /* stacks that are kept */

struct rm_followed {
    uint64_t code; /* number of the code that it was followed through; 0: nothing */
    bool is_short; /* more of the stack was needed than the sample has */
    struct rm_view_log log;
    struct rm_unwound unwound;
    uint64_t addresses[RM_STACK_DEPTH];
};

/* Zeroed: nothing was followed.  Of one thread. */
struct rm_follower {
    struct rm_unwind unwind; /* `code` or `foreign` are the caller's to set */
    struct rm_followed followed[RM_FOLLOWED];
};

/** The stack of a sample.  `code`: a number that changes when what is mapped does, not 0; `memory`:
 * of another process, or NULL.  Lives until the next call. */
const struct rm_followed *rm_follow(struct rm_follower *follower,
                                    const struct rm_perf_record *sample, uint64_t code,
                                    const struct rm_view_memory *memory);

#endif
