/* SPDX-License-Identifier: MIT */
/*
 * Owns the comparison of runs of work with runs of an idle machine: mean powers of the machine,
 * their difference and its confidence interval.  Pure.  view/comparison.c puts the result in words.
 */
#ifndef RM_COMPARE_COMPARISON_H
#define RM_COMPARE_COMPARISON_H

#include <stdbool.h>

#include <resmon/baseline.h>

#include "run/run.h"

struct rm_run_list {
    const struct resmon_run *const *runs;
    size_t count; /* 1 or more */
    const char *name;
};

struct rm_comparison {
    resmon_comparison figures; /* method and statement are left empty */
    bool is_load_modelled;     /* the processors' energy is a model of their load */
    char why_not[160];         /* why there is no interval; "" when there is one */
};

/** RESMON_ENOENT and RESMON_ERANGE as in resmon_compare_runs(), which checks the options. */
resmon_status rm_compare_runs(const struct rm_run_list *work, const struct rm_run_list *idle,
                              const resmon_comparison_options *options,
                              struct rm_comparison *ret_comparison);

#endif
