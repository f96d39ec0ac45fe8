/* SPDX-License-Identifier: MIT */
/*
 * Owns how evenly the ranks of a merged run took their time in a scope.  Pure.
 */
#ifndef RM_RUN_SPREAD_H
#define RM_RUN_SPREAD_H

#include "base/compiler.h"
#include "run/run.h"

/** Of a scope of the run; `ranks` is 0 where the run has no ranks. */
RM_SHARED resmon_scope_spread rm_run_spread(const struct resmon_run *run, size_t scope);

/** The scope of more than `imbalance` that lost most, and how evenly it was taken; -1: there is
 * none. An outer scope loses what those inside of it do: of two that lost about as much, it is the
 * inner one, which says where. */
RM_SHARED int64_t rm_run_most_uneven(const struct resmon_run *run, double imbalance,
                                     resmon_scope_spread *ret_spread);

#endif
