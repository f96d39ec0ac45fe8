/* SPDX-License-Identifier: MIT */
#include "base/fault.h"

#ifdef RM_FAULT_INJECTION

#include <stdatomic.h>

static _Atomic int64_t armed[RM_FAULT_KINDS] = {-1, -1, -1, -1, -1, -1, -1};
static _Atomic int64_t calls[RM_FAULT_KINDS];
static _Atomic bool fired[RM_FAULT_KINDS];
static _Atomic int64_t live;

void rm_fault_arm(enum rm_fault_kind kind, int64_t k)
{
    atomic_store(&fired[kind], false);
    atomic_store(&calls[kind], 0);
    atomic_store(&armed[kind], k);
}

bool rm_fault_fired(enum rm_fault_kind kind)
{
    return atomic_load(&fired[kind]);
}

int64_t rm_fault_calls(enum rm_fault_kind kind)
{
    return atomic_load(&calls[kind]);
}

bool rm_fault_hit(enum rm_fault_kind kind)
{
    int64_t call = atomic_fetch_add(&calls[kind], 1);
    if (call != atomic_load(&armed[kind])) {
        return false;
    }
    atomic_store(&fired[kind], true);
    return true;
}

int64_t rm_fault_live(int64_t change)
{
    return atomic_fetch_add(&live, change) + change;
}

#else

typedef int rm_fault_unused; /* ISO C wants a declaration in every file */

#endif
