/* SPDX-License-Identifier: MIT */
/*
 * Owns the numbering of sites in a process, and sites that are created for names at run time; and
 * the paths of sites that the handles of a session refer to: a tree that only grows, each path
 * once.  A handle is the session's number and the index of a path.
 *
 * Adding a path needs the session's lock.  Everything else may be read without it: an entry does
 * not change once `count` includes it, except for its links, which are used under the lock only.
 */
#ifndef RM_SCOPE_SITE_H
#define RM_SCOPE_SITE_H

#include <stdbool.h>
#include <stdint.h>

#include <resmon/scope.h>

#include "store/scope_tree.h"

#define RM_SITE_TOO_MANY UINT32_MAX

/** The site's number, given at its first visit; RM_SITE_TOO_MANY when there is none left. */
uint32_t rm_site_number(resmon_site *site);

/** One more than the highest number given so far. */
uint32_t rm_site_count(void);

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
