/* SPDX-License-Identifier: MIT */
#include "stack/budget.h"

#include <stddef.h>

#include "base/human.h"
#include "base/status.h"

/* For what goes on meanwhile: the program's other threads, other processes of the group, and what
 * the allocator keeps. */
#define RESERVE_BYTES (UINT64_C(1) << 20)

/* Below that, more would go into the question than into the answer. */
#define LEAST_ASKED (UINT64_C(64) << 10)

resmon_status rm_budget_check(const struct rm_budget *budget, uint64_t bytes, const char *what)
{
    struct rm_memory_room room = {.bytes = UINT64_MAX};
    if (budget == NULL || budget->look == NULL || bytes < LEAST_ASKED) {
        return RESMON_OK;
    }
    budget->look(&room);
    if (bytes < room.bytes && room.bytes - bytes >= RESERVE_BYTES + bytes / 8) {
        return RESMON_OK;
    }
    char needed[RM_HUMAN_BYTES], left[RM_HUMAN_BYTES];
    rm_human_bytes(needed, (double)bytes);
    rm_human_bytes(left, (double)room.bytes);
    return rm_error(RESMON_ENOSPC, "%s would take about %s, and %s are left of %s", what, needed,
                    left, room.limit);
}
