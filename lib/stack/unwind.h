/* SPDX-License-Identifier: MIT */
/*
 * Owns following a stack, from the registers of a thread outwards: in a signal handler on that very
 * thread, or of a copy of the top of its stack.  No lock of the loader, no allocation, and every
 * byte is read in a way that a wrong address cannot hurt.
 */
#ifndef RM_STACK_UNWIND_H
#define RM_STACK_UNWIND_H

#include <stdbool.h>
#include <stdint.h>

#include <resmon/status.h>

#include "stack/modules.h"
#include "stack/recipes.h"

#define RM_UNWIND_WINDOWS      8
#define RM_UNWIND_WINDOW_BYTES 1024U
#define RM_UNWIND_CURSOR_WORDS 256

/* The code that is mapped, and what was learned about it. */
struct rm_code {
    struct rm_modules *modules;
    struct rm_recipes *recipes; /* NULL: no memory; everything is looked up every time */
};

/* Memory as it was seen while one stack was followed. */
struct rm_unwind_window {
    uint64_t start; /* 0: empty */
    unsigned char bytes[RM_UNWIND_WINDOW_BYTES];
};

/* Where to begin: a thread in its signal handler, or what the kernel noted of one. */
struct rm_unwind_start {
    const void *context;       /* ucontext_t; NULL: the rest counts */
    const uint64_t *registers; /* of struct rm_perf_sample */
    uint64_t stack_address;    /* of a copy of the stack */
    const unsigned char *stack;
    uint64_t stack_bytes;
};

/** The stack pointer among the registers of struct rm_perf_sample. */
uint64_t rm_unwind_stack_pointer(const uint64_t *registers);

/* What following a stack works in: one per thread, not on its stack. */
struct rm_unwind {
    const struct rm_code *code;
    struct rm_unwind_start start;
    uint64_t wanted; /* while a recipe is looked for: of this address */
    size_t recipe_bytes;
    unsigned char recipe[RM_RECIPE_BYTES];
    uint64_t cursor[RM_UNWIND_CURSOR_WORDS];
    struct rm_unwind_window windows[RM_UNWIND_WINDOWS];
    uint32_t latest, next;
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
struct rm_unwound rm_unwind_follow(struct rm_unwind *unwind, const struct rm_unwind_start *start,
                                   uint64_t *ret_addresses, uint32_t room);

#endif
