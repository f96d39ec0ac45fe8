/* SPDX-License-Identifier: MIT */
#include "run/scope_paths.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/compiler.h"
#include "base/hash.h"
#include "run/scope_sum.h"

/* ---- adding ------------------------------------------------------------------------------- */

/* Room for one path more. */
static bool make_room(struct rm_scope_paths *paths)
{
    struct rm_scope_path *all = rm_grow(paths->paths, paths->count, &paths->room, sizeof *all);
    paths->paths = all != NULL ? all : paths->paths;
    return all != NULL;
}

static bool begin(struct rm_scope_paths *paths, size_t scopes)
{
    if (paths->count == 0 && make_room(paths)) {
        paths->paths[paths->count++] = (struct rm_scope_path){.index = -1};
    }
    if (scopes > paths->path_of_room) {
        uint32_t *path_of = rm_realloc(paths->path_of, scopes, sizeof *path_of);
        paths->path_of = path_of != NULL ? path_of : paths->path_of;
        paths->path_of_room = path_of != NULL ? scopes : paths->path_of_room;
    }
    return paths->count > 0 && scopes <= paths->path_of_room;
}

static bool own_names(struct rm_arena *strings, resmon_run_scope *scope)
{
    scope->name = rm_arena_text(strings, scope->name, SIZE_MAX);
    scope->file = rm_arena_text(strings, scope->file, SIZE_MAX);
    scope->function = rm_arena_text(strings, scope->function, SIZE_MAX);
    return scope->name != NULL && scope->file != NULL && scope->function != NULL;
}

static uint64_t hash_of(uint32_t parent, const char *name)
{
    return rm_hash_u64(rm_hash_bytes(RM_HASH_START, name, strlen(name)), parent);
}

/* 0: no memory. */
static uint32_t new_path(struct rm_scope_paths *paths, uint32_t parent,
                         const resmon_run_scope *scope)
{
    struct rm_scope_path fresh = {
        .sum = rm_scope_sum_begin(scope), .parent = parent, .order = INT64_MAX};
    if (!make_room(paths) || !rm_map_reserve(&paths->map, paths->count + 1) ||
        !own_names(&paths->strings, &fresh.sum)) {
        return 0;
    }
    uint32_t at = (uint32_t)paths->count++;
    fresh.sum.depth = scope->depth;
    fresh.sum.wall_stddev_ns = RM_NAN;
    paths->paths[at] = fresh;
    rm_map_add(&paths->map, hash_of(parent, fresh.sum.name), at);
    return at;
}

static uint32_t path_below(struct rm_scope_paths *paths, uint32_t parent,
                           const resmon_run_scope *scope)
{
    struct rm_map_search search = {.hash = hash_of(parent, scope->name)};
    for (uint32_t at; rm_map_next(&paths->map, &search, &at);) {
        const struct rm_scope_path *path = &paths->paths[at];
        if (path->parent == parent && strcmp(path->sum.name, scope->name) == 0) {
            return at;
        }
    }
    return new_path(paths, parent, scope);
}

/* Of two groups of calls that ended: T. F. Chan, G. H. Golub, R. J. LeVeque: Updating Formulae and
 * a Pairwise Algorithm for Computing Sample Variances, 1979. */
static void add_spread(struct rm_scope_path *path, const resmon_run_scope *scope)
{
    const resmon_run_scope *sum = &path->sum;
    double before = (double)rm_scope_ended(sum), more = (double)rm_scope_ended(scope);
    if (more > 0.0) {
        double own =
            more > 1.0 ? scope->wall_stddev_ns * scope->wall_stddev_ns * (more - 1.0) : 0.0;
        double apart = before > 0.0 ? (scope->wall_ns - scope->open_ns) / more -
                                          (sum->wall_ns - sum->open_ns) / before
                                    : 0.0;
        path->squares += own + apart * apart * before * more / (before + more);
    }
}

static void add_scope(struct rm_scope_path *path, const resmon_run_scope *scope)
{
    uint64_t threads = path->sum.threads + scope->threads; /* those of processes are different */
    add_spread(path, scope);
    rm_scope_sum_own(&path->sum, scope);
    rm_scope_sum_inclusive(&path->sum, scope);
    rm_scope_sum_energy(&path->sum, scope);
    path->sum.threads = threads;
}

static void take_place(struct rm_scope_path *path, int64_t order, size_t position)
{
    if (order < path->order || (order == path->order && position < path->position)) {
        path->order = order;
        path->position = position;
    }
}

bool rm_scope_paths_add(struct rm_scope_paths *paths, const struct resmon_run *run, int64_t order)
{
    if (!begin(paths, run->scope_count)) {
        return false;
    }
    for (size_t i = 0; i < run->scope_count; i++) {
        const resmon_run_scope *scope = &run->scopes[i];
        uint32_t parent = scope->parent >= 0 ? paths->path_of[scope->parent] : 0;
        paths->path_of[i] = path_below(paths, parent, scope);
        if (paths->path_of[i] == 0) {
            return false;
        }
        add_scope(&paths->paths[paths->path_of[i]], scope);
        take_place(&paths->paths[paths->path_of[i]], order, i);
    }
    return true;
}

/* ---- the result --------------------------------------------------------------------------- */

/* Counters are each run's own. */
static bool put_scope(struct resmon_run *run, struct rm_scope_path *path, int64_t parent)
{
    resmon_run_scope *scope = &run->scopes[run->scope_count];
    *scope = path->sum;
    scope->parent = parent;
    scope->counter_calls = 0;
    scope->counters = NULL;
    if (rm_scope_ended(scope) > 1) {
        scope->wall_stddev_ns = sqrt(path->squares / (double)(rm_scope_ended(scope) - 1));
    }
    path->index = (int64_t)run->scope_count++;
    return own_names(&run->strings, scope);
}

static int compare_places(const void *left, const void *right)
{
    const struct rm_scope_path *const *a = left, *const *b = right;
    if ((*a)->parent != (*b)->parent) {
        return (*a)->parent < (*b)->parent ? -1 : 1;
    }
    if ((*a)->order != (*b)->order) {
        return (*a)->order < (*b)->order ? -1 : 1;
    }
    return (*a)->position != (*b)->position ? ((*a)->position < (*b)->position ? -1 : 1)
                                            : strcmp((*a)->sum.name, (*b)->sum.name);
}

/* Siblings in their order. */
static bool sort_paths(struct rm_scope_paths *paths)
{
    struct rm_scope_path **sorted = rm_alloc(paths->count, sizeof(struct rm_scope_path *));
    if (sorted == NULL) {
        return false;
    }
    for (size_t i = 1; i < paths->count; i++) {
        sorted[i - 1] = &paths->paths[i];
    }
    qsort(sorted, paths->count - 1, sizeof(struct rm_scope_path *), compare_places);
    for (size_t i = 0; i < paths->count; i++) {
        paths->paths[i].first = paths->paths[i].next = 0;
    }
    for (size_t i = paths->count - 1; i > 0; i--) {
        struct rm_scope_path *path = sorted[i - 1], *above = &paths->paths[path->parent];
        path->next = above->first;
        above->first = (uint32_t)(path - paths->paths);
    }
    rm_free(sorted);
    return true;
}

/* In preorder; 0 past the end. */
static uint32_t path_after(const struct rm_scope_paths *paths, uint32_t at)
{
    if (paths->paths[at].first != 0) {
        return paths->paths[at].first;
    }
    while (at != 0 && paths->paths[at].next == 0) {
        at = paths->paths[at].parent;
    }
    return paths->paths[at].next;
}

bool rm_scope_paths_put(struct rm_scope_paths *paths, struct resmon_run *run)
{
    run->scopes = rm_arena_alloc(&run->strings, paths->count, sizeof *run->scopes);
    bool is_put = run->scopes != NULL;
    if (paths->count == 0 || !is_put || !sort_paths(paths)) {
        return is_put && paths->count == 0;
    }
    for (uint32_t at = path_after(paths, 0); at != 0 && is_put; at = path_after(paths, at)) {
        struct rm_scope_path *path = &paths->paths[at];
        is_put = put_scope(run, path, paths->paths[path->parent].index);
    }
    return is_put;
}

void rm_scope_paths_free(struct rm_scope_paths *paths)
{
    rm_free(paths->paths);
    rm_free(paths->path_of);
    rm_map_free(&paths->map);
    rm_arena_free(&paths->strings);
    *paths = (struct rm_scope_paths){0};
}
