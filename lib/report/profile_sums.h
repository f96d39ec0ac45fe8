/* SPDX-License-Identifier: MIT */
/*
 * Owns the sums over stacks that report/profile.c shows: by function and by line.
 */
#ifndef RM_REPORT_PROFILE_SUMS_H
#define RM_REPORT_PROFILE_SUMS_H

#include "base/intern.h"
#include "report/lines.h"
#include "run/run.h"

struct rm_function_sum {
    const char *name; /* "work", "libm.so.6+0x1234" */
    const char *file; /* of its source, else of its program or library; "" */
    double self[RM_STACK_KINDS];
    double total[RM_STACK_KINDS]; /* with what it called; recursion counts once */
    double self_square[RM_STACK_KINDS], total_square[RM_STACK_KINDS]; /* of standard errors */
    uint64_t samples[RM_STACK_KINDS];                                 /* of total */
};

struct rm_profile_sums {
    struct rm_arena arena;
    double weight[RM_STACK_KINDS]; /* of all samples */
    double square[RM_STACK_KINDS]; /* of its standard error */
    uint64_t samples[RM_STACK_KINDS];
    struct rm_function_sum *functions;
    size_t function_count;
    uint32_t *function_of;                 /* by place */
    struct rm_line *lines[RM_STACK_KINDS]; /* of those that have any of the kind */
    size_t line_count[RM_STACK_KINDS];
};

/** RESMON_ENOMEM; free it all the same. */
resmon_status rm_profile_sum(const struct resmon_run *run, const struct rm_source_lines *sources,
                             struct rm_profile_sums *ret_sums);
void rm_profile_sums_free(struct rm_profile_sums *sums);

#endif
