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

#include "base/compiler.h"
#include "stack/code.h"
#include "stack/view.h"

#define RM_UNWIND_CURSOR_WORDS 256

/* The unwind table of what an address is in.  `moved` is what tables and recipes know the address
 * by: of this process the address itself. */
struct rm_unwind_table {
    uint64_t moved;
    uint64_t start, end;              /* of the code, as `moved` is */
    uint64_t header, rows, row_count; /* of .eh_frame_hdr; 0: there is none */
};

/* Code of another process. */
struct rm_unwind_foreign {
    bool (*find)(const void *context, uint64_t address, struct rm_unwind_table *ret_table);
    /* Whether it is in code without a table that pushes one word, if any the frame pointer, and
     * calls on: Python's, one for each function (Python/asm_trampoline.S). */
    bool (*is_trampoline)(const void *context, uint64_t address);
    const void *context;
    struct rm_recipes *recipes; /* by moved addresses; NULL: none are kept */
};

/* What following a stack works in: one per thread, not on its stack. */
struct rm_unwind {
    const struct rm_code *code;              /* of this process; NULL: */
    const struct rm_unwind_foreign *foreign; /* of another */
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
RM_SHARED resmon_status rm_unwind_open(void);

/**
 * Addresses from the innermost outwards; of callers that of the last byte of the call.
 * Async-signal-safe.
 */
struct rm_unwound rm_unwind_follow(struct rm_unwind *unwind, const struct rm_view_start *start,
                                   uint64_t *ret_addresses, uint32_t room);

#endif
