/* SPDX-License-Identifier: MIT */
/*
 * Owns runs of a group that no monitor observed: repeated calls of a function of this process, and
 * processes whose resource usage is known from their parent.
 */
#ifndef RM_API_REPEAT_H
#define RM_API_REPEAT_H

#include <resmon/compare.h>

#include "compare/group.h"

struct rm_repeat {
    resmon_bench_function function;
    void *context;
    uint64_t runs;   /* 1 or more */
    uint64_t calls;  /* in each run; 0: as many as take RM_REPEAT_LEAST_NS */
    uint64_t batch;  /* operations in a call, 1 or more: values are also divided by this number */
    uint64_t warmup; /* calls before the first run */
};

#define RM_REPEAT_LEAST_NS INT64_C(1000000)

/** Adds the runs, with values for each call.  The peak RSS is the peak of the process during a run.
 * Returns the function's result if it is not 0; RESMON_ENOMEM; the failures of
 * resmon_watch_begin(). */
resmon_status rm_repeat(struct rm_group *group, const struct rm_repeat *how);

/** Adds a process that ran on this machine.  RESMON_ENOMEM. */
resmon_status rm_repeat_add_usage(struct rm_group *group, const resmon_run_usage *usage,
                                  const resmon_run_end *end);

#endif
