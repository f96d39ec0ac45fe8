/* SPDX-License-Identifier: MIT */
/*
 * Owns how much memory the look-up of names may take: less than is left of what limits the process,
 * which would be killed for names otherwise, after its work was done.
 * Called by symbols.c; made by naming.c.
 */
#ifndef RM_STACK_BUDGET_H
#define RM_STACK_BUDGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <resmon/status.h>

#include "os/memory_room.h"

struct rm_budget {
    void (*look)(struct rm_memory_room *ret_room); /* NULL: nothing limits */
    size_t addresses;  /* that will be asked for in the module at hand */
    bool is_light;     /* little of the run was in that: a debug file of its own is not worth it */
    bool has_no_lines; /* debug information is not read at all */
};

/** RESMON_OK if there is memory for `bytes` and a reserve; else RESMON_ENOSPC, and the text says
 * how much `what` would take, and what is left of whose limit. */
resmon_status rm_budget_check(const struct rm_budget *budget, uint64_t bytes, const char *what);

#endif
