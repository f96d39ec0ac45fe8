/* SPDX-License-Identifier: MIT */
/*
 * Owns how evenly the ranks of a merged run took their time in a scope.  Pure.
 */
#ifndef RM_RUN_SPREAD_H
#define RM_RUN_SPREAD_H

#include "run/run.h"

/** Of a scope of the run; `ranks` is 0 where the run has no ranks. */
resmon_scope_spread rm_run_spread(const struct resmon_run *run, size_t scope);

#endif
