/* SPDX-License-Identifier: MIT */
#include "stack/place_map.h"

#include <stdint.h>
#include <string.h>

#include "base/alloc.h"
#include "base/arena.h"
#include "base/status.h"

static resmon_status no_memory(void)
{
    (void)rm_error(RESMON_ENOMEM, "out of memory for the names of stacks");
    return RESMON_ENOMEM; /* plainly: the analyzer sees no further than this file */
}

static bool is_inside(const struct rm_run_profile *profile, size_t first, uint32_t depth)
{
    return first <= profile->frame_count && depth <= profile->frame_count - first;
}

bool rm_place_map_fits(const struct rm_run_profile *profile)
{
    bool is_good = true;
    for (size_t i = 0; i < profile->frame_count; i++) {
        is_good = is_good && profile->frames[i] < profile->place_count;
    }
    for (size_t i = 0; i < profile->place_count; i++) {
        int64_t module = profile->places[i].module;
        is_good = is_good && module >= -1 && module < (int64_t)profile->module_count;
    }
    for (size_t i = 0; i < profile->stack_count; i++) {
        is_good = is_good && is_inside(profile, profile->stacks[i].first, profile->stacks[i].depth);
    }
    for (size_t i = 0; i < profile->peak.stack_count; i++) {
        const struct rm_run_peak_stack *stack = &profile->peak.stacks[i];
        is_good = is_good && is_inside(profile, stack->first, stack->depth);
    }
    return is_good;
}

resmon_status rm_place_map_open(struct rm_place_map *map, const struct rm_run_profile *profile)
{
    *map = (struct rm_place_map){.old_count = profile->place_count};
    map->first = rm_alloc(map->old_count, sizeof *map->first);
    map->counts = rm_alloc(map->old_count, sizeof *map->counts);
    return map->first != NULL && map->counts != NULL ? RESMON_OK : no_memory();
}

void rm_place_map_begin(struct rm_place_map *map, size_t index)
{
    map->first[index] = map->place_count;
    map->counts[index] = 0;
}

resmon_status rm_place_map_add(struct rm_place_map *map, size_t index,
                               const struct rm_run_place *place)
{
    struct rm_run_place *places =
        rm_grow(map->places, map->place_count, &map->place_capacity, sizeof *places);
    if (places == NULL) {
        return no_memory();
    }
    map->places = places;
    map->places[map->place_count++] = *place;
    map->counts[index]++;
    return RESMON_OK;
}

void rm_place_map_share(struct rm_place_map *map, size_t index, size_t other)
{
    map->first[index] = map->first[other];
    map->counts[index] = map->counts[other];
}

resmon_status rm_place_map_make(const struct rm_place_map *map,
                                const struct rm_run_profile *profile, struct rm_arena *arena,
                                struct rm_mapped_profile *mapped)
{
    *mapped = (struct rm_mapped_profile){.place_count = map->place_count};
    mapped->first = rm_alloc(profile->frame_count + 1, sizeof *mapped->first);
    if (mapped->first == NULL) {
        return no_memory();
    }
    for (size_t i = 0; i < profile->frame_count; i++) {
        mapped->first[i] = mapped->frame_count;
        mapped->frame_count += map->counts[profile->frames[i]];
    }
    mapped->first[profile->frame_count] = mapped->frame_count;
    mapped->places = rm_arena_alloc(arena, map->place_count, sizeof *mapped->places);
    mapped->frames = rm_arena_alloc(arena, mapped->frame_count, sizeof *mapped->frames);
    if (mapped->places == NULL || mapped->frames == NULL || map->places == NULL ||
        map->place_count > UINT32_MAX) {
        return no_memory();
    }
    memcpy(mapped->places, map->places, map->place_count * sizeof *map->places);
    for (size_t i = 0, at = 0; i < profile->frame_count; i++) {
        size_t place = map->first[profile->frames[i]];
        for (; at < mapped->first[i + 1]; at++, place++) {
            mapped->frames[at] = (uint32_t)place;
        }
    }
    return RESMON_OK;
}

static void move(const struct rm_mapped_profile *mapped, size_t *first, uint32_t *depth)
{
    size_t begin = mapped->first[*first];
    *depth = (uint32_t)(mapped->first[*first + *depth] - begin);
    *first = begin;
}

void rm_place_map_apply(const struct rm_mapped_profile *mapped, struct rm_run_profile *profile)
{
    for (size_t i = 0; i < profile->stack_count; i++) {
        move(mapped, &profile->stacks[i].first, &profile->stacks[i].depth);
    }
    for (size_t i = 0; i < profile->peak.stack_count; i++) {
        move(mapped, &profile->peak.stacks[i].first, &profile->peak.stacks[i].depth);
    }
    profile->places = mapped->places;
    profile->place_count = mapped->place_count;
    profile->frames = mapped->frames;
    profile->frame_count = mapped->frame_count;
}

void rm_place_map_free(struct rm_place_map *map)
{
    rm_free(map->first);
    rm_free(map->counts);
    rm_free(map->places);
    *map = (struct rm_place_map){.first = NULL};
}
