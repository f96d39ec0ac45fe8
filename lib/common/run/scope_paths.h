/* SPDX-License-Identifier: MIT */
/*
 * Owns the tree of the scopes of several runs, in which paths of the same names are one.  Pure.
 */
#ifndef RM_RUN_SCOPE_PATHS_H
#define RM_RUN_SCOPE_PATHS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/compiler.h"
#include "base/map.h"
#include "run/run.h"

struct rm_scope_path {
    resmon_run_scope sum;
    double squares;       /* of the calls' differences from their mean, added up */
    uint32_t parent;      /* as those below, an index; 0: none */
    uint32_t first, next; /* child, and sibling: set by rm_scope_paths_put() */
    int64_t order;        /* the lowest of the runs that have it, */
    size_t position;      /* and where it stands in that one */
    int64_t index;        /* where it went to, by rm_scope_paths_put() */
};

/* Zeroed: empty. */
struct rm_scope_paths {
    struct rm_arena strings;
    struct rm_scope_path *paths; /* [0] is above those at the top */
    size_t count, room;
    struct rm_map map; /* of them by parent and name */
    uint32_t *path_of; /* by scope of the run that was added last */
    size_t path_of_room;
};

/** Adds the scopes of a run, which may be freed then.  False: no memory. */
RM_SHARED bool rm_scope_paths_add(struct rm_scope_paths *paths, const struct resmon_run *run,
                                  int64_t order);

/** Makes them the scopes of `run`, which has none: outer ones first, siblings in the order of the
 * runs, and in that of the first one that has both.  False: no memory. */
RM_SHARED bool rm_scope_paths_put(struct rm_scope_paths *paths, struct resmon_run *run);

RM_SHARED void rm_scope_paths_free(struct rm_scope_paths *paths);

#endif
