/* SPDX-License-Identifier: MIT */
/*
 * For tests of stacks of this process: whether there can be any here, and what is lost so far.
 */
#ifndef RESMON_TESTS_STACK_TESTS_H
#define RESMON_TESTS_STACK_TESTS_H

#include "run/run.h"
#include "runs.h"
#include "sanitizer.h"
#include "stack/unwind.h"

static inline const char *missing_stacks(void)
{
    if (HAS_THREAD_SANITIZER) {
        return "ThreadSanitizer puts signals off and hands out a context of its own";
    }
    return rm_unwind_open() != RESMON_OK ? resmon_last_error() : NULL;
}

/* RM_LOSS_* of a run that goes on. */
static inline uint64_t lost_so_far(resmon_monitor *monitor, int which)
{
    resmon_run *run = NULL;
    assert_ok(resmon_monitor_snapshot(monitor, &run));
    uint64_t lost = run->profile.lost[which];
    resmon_run_free(run);
    return lost;
}

#endif
