/* SPDX-License-Identifier: MIT */
/*
 * Owns the aggregation of scopes: sums by name within a run, and by path over several runs; and how
 * evenly the ranks of a merged run took their time in a scope. Pure.
 */
#ifndef RM_RUN_SCOPE_SUMS_H
#define RM_RUN_SCOPE_SUMS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/alloc.h"
#include "base/compiler.h"
#include "base/map.h"
#include "run/record.h"
#include "run/run.h"

/* ---- sums of scopes --------------------------------------------------------------------- */

/*
 * Sums of scopes over several paths or several processes. Pure.
 */

/* Meters whose values are summed: the meters of store/scope_meters.def, and the counters. */
enum {
#define RM_METER(token, name, extent) RM_SCOPE_FACET_##name,
#include "store/scope_meters.def"
    RM_SCOPE_FACET_COUNTERS,
    RM_SCOPE_FACETS
};

/* ---- by name ---------------------------------------------------------------------------- */

/*
 * The flat list of the scopes of a run by name, aggregated over all paths: recursion through other
 * scopes makes a path for each depth.
 */

/**
 * Sums the scopes of a run by name into run->names, sorted by exclusive time, longest first.
 *
 * Inclusive values (wall, CPU time, I/O, energy, counters) count only for scopes that are not
 * inside of a scope of the same name. Calls and self time count everywhere. A scope that runs
 * beside another scope, hung below it, is inside of it for its energy only. If a meter was never
 * read on a path, its value is taken as proportional to the path's time, as within a path.
 * RESMON_ENOMEM.
 */
RM_SHARED resmon_status rm_scope_names_sum(struct resmon_run *run);

/* ---- by path, of several runs ----------------------------------------------------------- */

/*
 * The tree of the scopes of several runs; paths of the same names are merged. Pure.
 */

struct rm_run_path {
    resmon_run_scope sum;
    double squares;       /* sum of the squared differences of the calls from their mean */
    uint32_t parent;      /* index, as are `first` and `next`; 0: none */
    uint32_t first, next; /* first child, and next sibling; set by rm_run_paths_put() */
    int64_t order;        /* lowest order of the runs that have this path */
    size_t position;      /* position of the path in this run */
    int64_t index;        /* index in the result; set by rm_run_paths_put() */
};

/* Empty if zeroed. */
struct rm_run_paths {
    struct rm_arena strings;
    struct rm_run_path *paths; /* [0] is the root */
    size_t count, room;
    struct rm_map map; /* paths by parent and name */
    uint32_t *path_of; /* by scope of the last added run */
    size_t path_of_room;
};

/** Adds the scopes of a run; the run may be freed afterwards. False: no memory. */
RM_SHARED bool rm_run_paths_add(struct rm_run_paths *paths, const struct resmon_run *run,
                                int64_t order);

/** Stores the paths as the scopes of `run`, which has no scopes. Outer scopes come first. Siblings
 * are in the order of the runs; two siblings of one run keep the order of the first run that has
 * both. False: no memory. */
RM_SHARED bool rm_run_paths_put(struct rm_run_paths *paths, struct resmon_run *run);

RM_SHARED void rm_run_paths_free(struct rm_run_paths *paths);

/* ---- how evenly ranks took their time --------------------------------------------------- */

/*
 * How evenly the ranks of a merged run took their time in a scope.  Pure.
 */

/** The spread of a scope of the run; `ranks` is 0 if the run has no ranks. */
RM_SHARED resmon_scope_spread rm_run_spread(const struct resmon_run *run, size_t scope);

/** The scope with the largest loss among scopes whose imbalance is above `imbalance`, and its
 * spread; -1 if there is none. The loss of an outer scope includes the loss of the scopes inside of
 * it. So of two scopes with about the same loss, the result is the inner scope, which is more
 * precise. */
RM_SHARED int64_t rm_run_most_uneven(const struct resmon_run *run, double imbalance,
                                     resmon_scope_spread *ret_spread);

#endif
