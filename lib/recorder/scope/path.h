/* SPDX-License-Identifier: MIT */
/*
 * Owns the paths that handles of a session stand for: a tree of sites, each path once, that only
 * grows.  A handle is the session's number and the index of a path.
 *
 * Adding needs the session's lock.  Everything else may be read without: an entry does not change
 * once `count` has it, but for its links, which only those who add follow.
 */
#ifndef RM_SCOPE_PATH_H
#define RM_SCOPE_PATH_H

#include <stdbool.h>
#include <stdint.h>

#include "store/scope_tree.h"

#define RM_SCOPE_PATHS 4096U

struct rm_scope_path {
    uint32_t parent; /* index; 0: it is at the top */
    uint32_t site;
    uint32_t depth; /* 1: at the top */
    uint32_t first_child, next;
};

struct rm_scope_paths {
    struct rm_scope_path *entries; /* release; entry 0 stands above all; NULL: none was asked for */
    uint32_t *of_nodes;            /* by index of a node, written by who has that; 0: not known */
    uint32_t count;                /* release */
};

/** Room for paths, once; false without memory.  Under the session's lock. */
bool rm_scope_paths_open(struct rm_scope_paths *paths, uint64_t nodes);
void rm_scope_paths_close(struct rm_scope_paths *paths);

/** The path `site` below another (0: at the top), added if needed; 0: there is no room.  Under the
 * session's lock. */
uint32_t rm_scope_path_below(struct rm_scope_paths *paths, uint32_t parent, uint32_t site);

/** Entry `index`; NULL where there is no such path. */
const struct rm_scope_path *rm_scope_path_at(const struct rm_scope_paths *paths, uint32_t index);

/** The path of a node, if it was noted before; 0: it was not. */
uint32_t rm_scope_path_noted(const struct rm_scope_paths *paths, uint64_t node);

/** Notes it; 0 forgets it.  Only who has the node. */
void rm_scope_path_note(const struct rm_scope_paths *paths, uint64_t node, uint32_t path);

#endif
