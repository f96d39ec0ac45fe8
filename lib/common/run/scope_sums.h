/* SPDX-License-Identifier: MIT */
/*
 * Owns what becomes of scopes taken together: their sums, by name within a run and by path of
 * several runs; and how evenly the ranks of a merged run took their time in one.  Pure.
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
 * Sums of scopes: of several paths, or of several processes, as one.  Pure.
 */

/* Meters whose figures are summed, those of store/scope_meters.def and the counters. */
enum {
#define RM_METER(token, name, extent) RM_SCOPE_FACET_##name,
#include "store/scope_meters.def"
    RM_SCOPE_FACET_COUNTERS,
    RM_SCOPE_FACETS
};

/* ---- by name ---------------------------------------------------------------------------- */

/*
 * The flat list of the scopes of a run by name, wherever they stand in the tree: recursion through
 * other scopes makes a path of each depth.
 */

/**
 * Sums the scopes of a run by name into run->names, the one that took most itself first.
 *
 * What a scope has with the scopes inside of it (wall, CPU time, I/O, energy, counters) counts
 * where it is inside of no scope of the same name; calls and self time count everywhere.  What runs
 * beside a scope, hung below it, is inside of it for its energy only.  A path of which a meter was
 * never taken is taken to go with its time, as within a path.  RESMON_ENOMEM.
 */
RM_SHARED resmon_status rm_scope_names_sum(struct resmon_run *run);

/* ---- by path, of several runs ----------------------------------------------------------- */

/*
 * The tree of the scopes of several runs, in which paths of the same names are one.  Pure.
 */

struct rm_run_path {
    resmon_run_scope sum;
    double squares;       /* of the calls' differences from their mean, added up */
    uint32_t parent;      /* as those below, an index; 0: none */
    uint32_t first, next; /* child, and sibling: set by rm_run_paths_put() */
    int64_t order;        /* the lowest of the runs that have it, */
    size_t position;      /* and where it stands in that one */
    int64_t index;        /* where it went to, by rm_run_paths_put() */
};

/* Zeroed: empty. */
struct rm_run_paths {
    struct rm_arena strings;
    struct rm_run_path *paths; /* [0] is above those at the top */
    size_t count, room;
    struct rm_map map; /* of them by parent and name */
    uint32_t *path_of; /* by scope of the run that was added last */
    size_t path_of_room;
};

/** Adds the scopes of a run, which may be freed then.  False: no memory. */
RM_SHARED bool rm_run_paths_add(struct rm_run_paths *paths, const struct resmon_run *run,
                                int64_t order);

/** Makes them the scopes of `run`, which has none: outer ones first, siblings in the order of the
 * runs, and in that of the first one that has both.  False: no memory. */
RM_SHARED bool rm_run_paths_put(struct rm_run_paths *paths, struct resmon_run *run);

RM_SHARED void rm_run_paths_free(struct rm_run_paths *paths);

/* ---- how evenly ranks took their time --------------------------------------------------- */

/*
 * How evenly the ranks of a merged run took their time in a scope.  Pure.
 */

/** Of a scope of the run; `ranks` is 0 where the run has no ranks. */
RM_SHARED resmon_scope_spread rm_run_spread(const struct resmon_run *run, size_t scope);

/** The scope of more than `imbalance` that lost most, and how evenly it was taken; -1: there is
 * none. An outer scope loses what those inside of it do: of two that lost about as much, it is the
 * inner one, which says where. */
RM_SHARED int64_t rm_run_most_uneven(const struct resmon_run *run, double imbalance,
                                     resmon_scope_spread *ret_spread);

#endif
