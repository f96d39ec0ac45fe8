/* SPDX-License-Identifier: MIT */
/*
 * Owns the fault switchboard: test builds (RM_FAULT_INJECTION) make the k-th call of a kind fail;
 * other builds compile it to nothing.
 * Called by base/alloc and sys; driven by the torture tests.
 */
#ifndef RM_BASE_FAULT_H
#define RM_BASE_FAULT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/compiler.h"

enum rm_fault_kind {
    RM_FAULT_ALLOC = 0,  /* heap memory */
    RM_FAULT_OPEN = 1,   /* opening a file */
    RM_FAULT_READ = 2,   /* reading a file */
    RM_FAULT_WRITE = 3,  /* writing, syncing, renaming */
    RM_FAULT_THREAD = 4, /* creating a thread */
    RM_FAULT_MAP = 5,    /* mapping memory */
    RM_FAULT_NET = 6,    /* an exchange with a server */
    RM_FAULT_KINDS = 7
};

#ifdef RM_FAULT_INJECTION

/** Makes the `k`-th call (0 = the next) of `kind` fail, once; k < 0 disarms. */
void rm_fault_arm(enum rm_fault_kind kind, int64_t k);

/** Whether the armed failure of `kind` has happened. */
bool rm_fault_fired(enum rm_fault_kind kind);

/** Calls of `kind` since it was last armed. */
int64_t rm_fault_calls(enum rm_fault_kind kind);

/** Counts a call; true when it must fail. */
RM_SHARED bool rm_fault_hit(enum rm_fault_kind kind);

/** Adds to the number of live allocations; returns the new number. */
int64_t rm_fault_live(int64_t change);

#define RM_FAULT(kind)     rm_fault_hit(kind)
#define RM_FAULT_LIVE(add) ((void)rm_fault_live(add))

#else

#define RM_FAULT(kind)     (false)
#define RM_FAULT_LIVE(add) ((void)0)

#endif

#endif
