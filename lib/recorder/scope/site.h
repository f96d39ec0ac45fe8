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
#include <stddef.h>
#include <stdint.h>

#include <resmon/scope.h>

#include "store/scope_tree.h"

#define RM_SITE_TOO_MANY UINT32_MAX

/** The site's number, assigned at its first visit; RM_SITE_TOO_MANY: none is left. */
uint32_t rm_site_number(resmon_site *site);

/** The site of a name without a place in the source, of `length` bytes; made at first.  NULL: there
 * is no name, or no room.  No lock is taken once the site is there. */
resmon_site *rm_site_named(const char *name, size_t length);

/** One more than the highest number assigned. */
uint32_t rm_site_count(void);

#define RM_SCOPE_PATHS 4096U

struct rm_scope_path {
    uint32_t parent; /* index; 0: top level */
    uint32_t site;
    uint32_t depth; /* 1: top level */
    uint32_t first_child, next;
};

struct rm_scope_paths {
    struct rm_scope_path *entries; /* release; entry 0 is the root; NULL: no handle was requested */
    /* path by node index, written by the owner of the node; 0: not known */
    uint32_t *of_nodes;
    uint32_t count; /* release */
};

/** Allocates capacity for paths, once; false: out of memory.  Under the session's lock. */
bool rm_scope_paths_open(struct rm_scope_paths *paths, uint64_t nodes);
void rm_scope_paths_close(struct rm_scope_paths *paths);

/** The path of `site` below another (0: top level), added if needed; 0: no capacity.  Under the
 * session's lock. */
uint32_t rm_scope_path_below(struct rm_scope_paths *paths, uint32_t parent, uint32_t site);

/** Entry `index`; NULL: no such path. */
const struct rm_scope_path *rm_scope_path_at(const struct rm_scope_paths *paths, uint32_t index);

/** The path stored for a node; 0: none. */
uint32_t rm_scope_path_noted(const struct rm_scope_paths *paths, uint64_t node);

/** Stores the path of a node; 0 removes it.  By the owner of the node only. */
void rm_scope_path_note(const struct rm_scope_paths *paths, uint64_t node, uint32_t path);

#endif
