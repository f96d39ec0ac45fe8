/* SPDX-License-Identifier: MIT */
#include "stack/follow.h"

const struct rm_followed *rm_follow(struct rm_follower *follower,
                                    const struct rm_perf_record *sample, uint64_t code,
                                    const struct rm_view_memory *memory)
{
    struct rm_followed *followed = &follower->followed[rm_view_place(sample) % RM_FOLLOWED];
    if (followed->code == code && (followed->has_registers || !follower->wants_registers) &&
        rm_view_repeats(&followed->log, sample)) {
        return followed;
    }
    const struct rm_view_start start = {.sample = sample, .log = &followed->log, .memory = memory};
    followed->has_registers = follower->wants_registers;
    follower->unwind.stacks = follower->wants_registers ? followed->stacks : NULL;
    follower->unwind.saved = follower->wants_registers ? followed->saved : NULL;
    followed->unwound =
        rm_unwind_follow(&follower->unwind, &start, followed->addresses, RM_STACK_DEPTH);
    followed->code = code;
    followed->is_short = !followed->log.is_whole && follower->unwind.view.is_short;
    return followed;
}
