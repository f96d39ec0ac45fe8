/* SPDX-License-Identifier: MIT */
/*
 * Owns the kinds of stacks, and the reasons for which samples of them are missing.
 */
#ifndef RM_STORE_STACK_KIND_H
#define RM_STORE_STACK_KIND_H

#include <resmon/stack.h>

#include "base/compiler.h"

#define RM_STACK_KINDS 3 /* RESMON_STACK_CPU ... FILE */

/* Why samples, or parts of them, are missing: counts. */
enum rm_stack_loss {
    RM_LOSS_RING,    /* the thread's ring was full */
    RM_LOSS_ROOM,    /* no room for one more stack in the run */
    RM_LOSS_DEPTH,   /* stacks that were cut: deeper than the bound */
    RM_LOSS_UNWIND,  /* stacks that end early: a frame could not be unwound */
    RM_LOSS_BLOCKED, /* of threads that had the signal blocked */
    RM_LOSS_THREADS, /* threads that found no slot, or whose counter could not be opened */
    RM_LOSS_MODULES, /* programs and libraries for which the run has no room, most at a time */
    RM_LOSS_COUNT
};

/** What a loss is called in documents ("ring_full"), and what it says to people. */
extern const char *const rm_stack_loss_names[RM_LOSS_COUNT];
RM_SHARED extern const char *const rm_stack_loss_texts[RM_LOSS_COUNT];
/** "cpu", "memory", "file". */
RM_SHARED extern const char *const rm_stack_kind_names[RM_STACK_KINDS];

#endif
