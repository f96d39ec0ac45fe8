/* SPDX-License-Identifier: MIT */
/* stack/unwind.h without libunwind. */
#include "base/feature.h"
#include "stack/unwind.h"

resmon_status rm_unwind_open(void)
{
    return rm_feature_need(RM_FEATURE_UNWIND);
}

struct rm_unwound rm_unwind_follow(struct rm_unwind *unwind, const struct rm_view_start *start,
                                   uint64_t *ret_addresses, uint32_t room)
{
    (void)unwind, (void)start, (void)ret_addresses, (void)room;
    return (struct rm_unwound){.is_broken = true};
}

bool rm_unwind_has_room(const void *context)
{
    (void)context;
    return false;
}
