/* SPDX-License-Identifier: MIT */
/*
 * Owns what the places of a profile become when they are named: for each old one, the new ones that
 * stand for it, innermost first.  The profile changes as a whole, or not at all.
 * Called by naming.c.
 */
#ifndef RM_STACK_PLACE_MAP_H
#define RM_STACK_PLACE_MAP_H

#include <stdbool.h>
#include <stddef.h>

#include <resmon/status.h>

#include "run/profile.h"

struct rm_arena;

/* Zeroed: empty. */
struct rm_place_map {
    size_t *first, *counts; /* per old place: its new ones */
    size_t old_count;
    struct rm_run_place *places; /* the new ones */
    size_t place_count, place_capacity;
};

/** Whether the profile is consistent: each index is of something that is there. */
bool rm_place_map_fits(const struct rm_run_profile *profile);

/** Opens a map of a profile that is consistent.  RESMON_ENOMEM only, as below. */
resmon_status rm_place_map_open(struct rm_place_map *map, const struct rm_run_profile *profile);

/** The old place `index` is what is added from here on. */
void rm_place_map_begin(struct rm_place_map *map, size_t index);
resmon_status rm_place_map_add(struct rm_place_map *map, size_t index,
                               const struct rm_run_place *place);

/** The old place `index` is what another one is. */
void rm_place_map_share(struct rm_place_map *map, size_t index, size_t other);

/* What the profile becomes. */
struct rm_mapped_profile {
    struct rm_run_place *places;
    size_t place_count;
    uint32_t *frames;
    size_t frame_count;
    size_t *first; /* per old frame, and one past the last: its new ones */
};

/** Makes it, in the arena but for `first`, which the caller frees (rm_free) in any case. */
resmon_status rm_place_map_make(const struct rm_place_map *map,
                                const struct rm_run_profile *profile, struct rm_arena *arena,
                                struct rm_mapped_profile *mapped);

/** Puts it in place of what the profile has. */
void rm_place_map_apply(const struct rm_mapped_profile *mapped, struct rm_run_profile *profile);

void rm_place_map_free(struct rm_place_map *map);

#endif
