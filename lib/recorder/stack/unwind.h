/* SPDX-License-Identifier: MIT */
/*
 * Owns unwinding a stack, from a thread's registers outwards: in a signal handler on that
 * thread, or in a copy of the top of its stack.  Uses no lock of the loader, and no allocation.
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

/* The unwind table for an address.  `moved` is the address used by tables and the cache; for this
 * process it is the address itself. */
struct rm_unwind_table {
    uint64_t moved;
    uint64_t start, end;              /* of the code, in `moved` addresses */
    uint64_t header, rows, row_count; /* of .eh_frame_hdr; 0: none */
};

/* Code of another process. */
struct rm_unwind_foreign {
    bool (*find)(const void *context, uint64_t address, struct rm_unwind_table *ret_table);
    const void *context;
    struct rm_unwind_cache *cache; /* unwind cache by `moved` addresses; NULL: none */
};

/* Registers that functions leave as they were: what they had in a frame. */
#define RM_UNWIND_SAVED 10U
struct rm_unwind_saved {
    uint64_t words[RM_UNWIND_SAVED]; /* 0: not known */
};

/* Working memory for unwinding: one per thread, not on its stack. */
struct rm_unwind {
    const struct rm_code *code;              /* code of this process, or NULL */
    const struct rm_unwind_foreign *foreign; /* code of another process */
    uint64_t *stacks;              /* NULL, or where the stack pointer of each frame is put */
    struct rm_unwind_saved *saved; /* NULL, or where these registers of each frame are put */
    struct rm_view view;
    uint64_t wanted; /* address whose cache entry is being computed */
    size_t step_bytes;
    unsigned char step[RM_UNWIND_STEP_BYTES];
    uint64_t cursor[RM_UNWIND_CURSOR_WORDS];
};

/* Result of unwinding. */
struct rm_unwound {
    uint32_t depth;
    bool is_cut;    /* there were more frames than capacity */
    bool is_broken; /* the outermost frame was not reached */
};

/** Loads the library.  RESMON_ENOTSUP with the reason.  Repeated calls are no-ops. */
RM_SHARED resmon_status rm_unwind_open(void);

/** Whether the program's alternate signal stack, if the handler runs on one, has enough space: it
 * has no guard page.  `context`: ucontext_t.  Async-signal-safe. */
bool rm_unwind_has_room(const void *context);

/**
 * Addresses from the innermost outwards; for callers, that of the last byte of the call.
 * Async-signal-safe.
 */
struct rm_unwound rm_unwind_follow(struct rm_unwind *unwind, const struct rm_view_start *start,
                                   uint64_t *ret_addresses, uint32_t room);

#endif
