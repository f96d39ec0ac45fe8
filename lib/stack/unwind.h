/* SPDX-License-Identifier: MIT */
/*
 * Owns following a stack, from the registers of a thread outwards: in a signal handler on that very
 * thread, or of a copy of the top of its stack.  No lock of the loader, no allocation.
 */
#ifndef RM_STACK_UNWIND_H
#define RM_STACK_UNWIND_H

#include <stdbool.h>
#include <stdint.h>

#include <resmon/status.h>

#include "stack/code.h"
#include "stack/view.h"

#define RM_UNWIND_CURSOR_WORDS 256

/* What following a stack works in: one per thread, not on its stack. */
struct rm_unwind {
    const struct rm_code *code;
    struct rm_view view;
    uint64_t wanted; /* while a recipe is looked for: of this address */
    size_t recipe_bytes;
    unsigned char recipe[RM_RECIPE_BYTES];
    uint64_t cursor[RM_UNWIND_CURSOR_WORDS];
};

/* What was followed. */
struct rm_unwound {
    uint32_t depth;
    bool is_cut;    /* there was more than room */
    bool is_broken; /* it could not be followed to its end */
};

/** Loads what it needs.  RESMON_ENOTSUP with the reason.  Once; repeated calls are quick. */
resmon_status rm_unwind_open(void);

/**
 * Addresses from the innermost outwards; of callers that of the last byte of the call.
 * Async-signal-safe.
 */
struct rm_unwound rm_unwind_follow(struct rm_unwind *unwind, const struct rm_view_start *start,
                                   uint64_t *ret_addresses, uint32_t room);

#endif
