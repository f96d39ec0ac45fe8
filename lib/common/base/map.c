/* SPDX-License-Identifier: MIT */
#include "base/map.h"

#include <assert.h>
#include <string.h>

#include "base/alloc.h"

#define FIRST_ROOM 32U
#define MOST_KEYS  (UINT32_C(1) << 29)

static uint32_t folded(uint64_t hash)
{
    return (uint32_t)(hash ^ hash >> 32);
}

/* There is a free slot: half of all are. */
static void put(struct rm_map_slot *slots, uint32_t room, struct rm_map_slot entry)
{
    uint32_t at = entry.hash & (room - 1);
    while (slots[at].number_1 != 0) {
        at = (at + 1) & (room - 1);
    }
    slots[at] = entry;
}

bool rm_map_reserve(struct rm_map *map, uint64_t count)
{
    uint32_t room = map->room > 0 ? map->room : FIRST_ROOM;
    if (count <= map->room / 2) {
        return true;
    }
    if (count > MOST_KEYS) {
        return false;
    }
    while (room / 2 < count) {
        room *= 2;
    }
    struct rm_map_slot *slots = rm_alloc(room, sizeof *slots);
    if (slots == NULL) {
        return false;
    }
    for (uint32_t i = 0; i < map->room; i++) {
        if (map->slots[i].number_1 != 0) {
            put(slots, room, map->slots[i]);
        }
    }
    rm_free(map->slots);
    map->slots = slots;
    map->room = room;
    return true;
}

bool rm_map_next(const struct rm_map *map, struct rm_map_search *search, uint32_t *ret_number)
{
    uint32_t hash = folded(search->hash);
    while (map->room > 0) {
        const struct rm_map_slot *slot = &map->slots[(hash + search->steps) & (map->room - 1)];
        if (slot->number_1 == 0) {
            break;
        }
        search->steps++;
        if (slot->hash == hash) {
            *ret_number = slot->number_1 - 1;
            return true;
        }
    }
    return false;
}

void rm_map_add(struct rm_map *map, uint64_t hash, uint32_t number)
{
    assert(map->count < map->room / 2);
    put(map->slots, map->room, (struct rm_map_slot){folded(hash), number + 1});
    map->count++;
}

void rm_map_clear(struct rm_map *map)
{
    if (map->count > 0) {
        memset(map->slots, 0, map->room * sizeof *map->slots);
        map->count = 0;
    }
}

void rm_map_free(struct rm_map *map)
{
    rm_free(map->slots);
    *map = (struct rm_map){.slots = NULL};
}
