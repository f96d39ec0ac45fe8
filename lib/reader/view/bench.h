/* SPDX-License-Identifier: MIT */
/*
 * Owns what is shown of groups of runs: medians of their figures with their intervals, how runs
 * lie, and those that lie far away.
 */
#ifndef RM_VIEW_BENCH_H
#define RM_VIEW_BENCH_H

#include "compare/group.h"
#include "view/view.h"

/** Appends it as text (FULL) or HTML.  RESMON_ENOMEM. */
resmon_status rm_bench_write(struct rm_buffer *out, const struct rm_groups *groups,
                             enum rm_form form, size_t width);

#endif
