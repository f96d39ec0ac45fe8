/* SPDX-License-Identifier: MIT */
#include "scope/path.h"

#include <stddef.h>

#include "base/alloc.h"
#include "base/compiler.h"

bool rm_scope_paths_open(struct rm_scope_paths *paths, uint64_t nodes)
{
    if (paths->entries != NULL) {
        return true;
    }
    struct rm_scope_path *entries = rm_alloc(RM_SCOPE_PATHS, sizeof *entries);
    uint32_t *of_nodes = rm_alloc(nodes, sizeof *of_nodes);
    if (entries == NULL || of_nodes == NULL) {
        rm_free(entries);
        rm_free(of_nodes);
        return false;
    }
    paths->of_nodes = of_nodes;
    RM_STORE(&paths->count, 1);
    RM_STORE_RELEASE(&paths->entries, entries);
    return true;
}

void rm_scope_paths_close(struct rm_scope_paths *paths)
{
    rm_free(paths->entries);
    rm_free(paths->of_nodes);
    *paths = (struct rm_scope_paths){.entries = NULL};
}

uint32_t rm_scope_path_below(struct rm_scope_paths *paths, uint32_t parent, uint32_t site)
{
    struct rm_scope_path *entries = paths->entries;
    uint32_t child = entries[parent].first_child;
    while (child != 0 && entries[child].site != site) {
        child = entries[child].next;
    }
    if (child != 0 || paths->count == RM_SCOPE_PATHS) {
        return child;
    }
    child = paths->count;
    entries[child] = (struct rm_scope_path){.parent = parent,
                                            .site = site,
                                            .depth = entries[parent].depth + 1,
                                            .next = entries[parent].first_child};
    entries[parent].first_child = child;
    RM_STORE_RELEASE(&paths->count, child + 1);
    return child;
}

const struct rm_scope_path *rm_scope_path_at(const struct rm_scope_paths *paths, uint32_t index)
{
    const struct rm_scope_path *entries = RM_LOAD_ACQUIRE(&paths->entries);
    bool is_there = entries != NULL && index > 0 && index < RM_LOAD_ACQUIRE(&paths->count);
    return is_there ? &entries[index] : NULL;
}

uint32_t rm_scope_path_noted(const struct rm_scope_paths *paths, uint64_t node)
{
    return RM_LOAD_ACQUIRE(&paths->entries) != NULL ? RM_LOAD(&paths->of_nodes[node]) : 0;
}

void rm_scope_path_note(const struct rm_scope_paths *paths, uint64_t node, uint32_t path)
{
    if (RM_LOAD_ACQUIRE(&paths->entries) != NULL) {
        RM_STORE(&paths->of_nodes[node], path);
    }
}
