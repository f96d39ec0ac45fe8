/* SPDX-License-Identifier: MIT */
/*
 * For tests of stacks of this process: whether there can be any here, CPU time that stacks show,
 * and what a run has of it.
 */
#ifndef RESMON_TESTS_STACK_TESTS_H
#define RESMON_TESTS_STACK_TESTS_H

#include <stdbool.h>

#include "base/clock.h"
#include "run/run.h"
#include "runs.h"
#include "stack/handler.h"
#include "stack/unwind.h"
#include "symbols/symbolizer.h"
#include "unit/sanitizer.h"

static inline const char *missing_stacks(void)
{
    if (HAS_THREAD_SANITIZER) {
        return "ThreadSanitizer puts signals off and hands out a context of its own";
    }
    return rm_unwind_open() != RESMON_OK ? resmon_last_error() : NULL;
}

static inline const char *missing_names(void)
{
    return rm_symbolizer_check() != RESMON_OK ? resmon_last_error() : NULL;
}

/* Spends that much CPU time of the process, and more until a sample was taken: the kernel looks at
 * timers when it ticks. */
__attribute__((noinline, unused)) static void burn_the_time(int64_t cpu_ns)
{
    static volatile uint32_t number;
    uint64_t before = rm_handler_ticks();
    int64_t until_ns = rm_clock_cpu_ns(CLOCK_PROCESS_CPUTIME_ID) + cpu_ns;
    int64_t most_ns = until_ns + 5 * RM_NS_PER_S;
    for (int64_t now_ns = 0;
         now_ns < until_ns || (rm_handler_ticks() == before && now_ns < most_ns);
         now_ns = rm_clock_cpu_ns(CLOCK_PROCESS_CPUTIME_ID)) {
        for (uint32_t i = 0; i < 10000; i++) {
            number = number * 1664525U + i;
        }
    }
}

/* Whether a frame of a stack has this name; NULL: any name or file. */
static inline bool has_function(const resmon_run *run, const char *function)
{
    resmon_run_frame frame = {.struct_size = sizeof frame};
    for (size_t i = 0; i < resmon_run_stack_count(run); i++) {
        for (size_t j = 0; resmon_run_get_frame(run, i, j, &frame) == RESMON_OK; j++) {
            if (function != NULL ? strcmp(frame.function, function) == 0
                                 : frame.function[0] != '\0' || frame.file[0] != '\0') {
                return true;
            }
        }
    }
    return false;
}

/* Why stacks of CPU time, or their names, are missing; "" where all is there. */
static inline const char *stack_reason(const resmon_run *run)
{
    resmon_run_stack_info info = {.struct_size = sizeof info};
    assert_ok(resmon_run_get_stack_info(run, RESMON_STACK_CPU, &info));
    return info.reason;
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
