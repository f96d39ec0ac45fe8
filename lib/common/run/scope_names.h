/* SPDX-License-Identifier: MIT */
/*
 * Owns the flat list of the scopes of a run by name, wherever they stand in the tree: recursion
 * through other scopes makes a path of each depth.
 */
#ifndef RM_RUN_SCOPE_NAMES_H
#define RM_RUN_SCOPE_NAMES_H

#include "base/compiler.h"
#include "run/run.h"

/**
 * Sums the scopes of a run by name into run->names, the one that took most itself first.
 *
 * What a scope has with the scopes inside of it (wall, CPU time, I/O, energy, counters) counts
 * where it is inside of no scope of the same name; calls and self time count everywhere.  What runs
 * beside a scope, hung below it, is inside of it for its energy only.  A path of which a meter was
 * never taken is taken to go with its time, as within a path.  RESMON_ENOMEM.
 */
RM_SHARED resmon_status rm_scope_names_sum(struct resmon_run *run);

#endif
