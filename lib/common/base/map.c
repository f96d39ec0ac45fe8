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

/* ---- numbering of keys -------------------------------------------------------------------- */

static bool find_key(const struct rm_intern *table, uint64_t hash, const void *bytes, size_t length,
                     uint32_t *ret_number)
{
    struct rm_map_search search = {.hash = hash};
    for (uint32_t number; rm_map_next(&table->map, &search, &number);) {
        const struct rm_intern_key *key = &table->keys[number];
        if (key->length == length && memcmp(key->bytes, bytes, length) == 0) {
            *ret_number = number;
            return true;
        }
    }
    return false;
}

/* Appends a copy of the key; false: no memory. */
static bool add_key(struct rm_intern *table, const void *bytes, size_t length)
{
    struct rm_intern_key *keys = rm_grow(table->keys, table->count, &table->room, sizeof *keys);
    if (keys == NULL) {
        return false;
    }
    table->keys = keys;
    char *copy = length < SIZE_MAX ? rm_arena_alloc(&table->arena, length + 1, 1) : NULL;
    if (copy == NULL) {
        return false;
    }
    if (length > 0) {
        memcpy(copy, bytes, length);
    }
    keys[table->count] = (struct rm_intern_key){copy, length};
    return true;
}

uint32_t rm_intern(struct rm_intern *table, const void *bytes, size_t length)
{
    uint64_t hash = rm_hash_bytes(RM_HASH_START, bytes, length);
    uint32_t number = 0;
    if (find_key(table, hash, bytes, length, &number)) {
        return number;
    }
    if (!rm_map_reserve(&table->map, (uint64_t)table->count + 1) ||
        !add_key(table, bytes, length)) {
        table->is_broken = true;
        return 0;
    }
    rm_map_add(&table->map, hash, table->count);
    return table->count++;
}

uint32_t rm_intern_text(struct rm_intern *table, const char *text)
{
    return rm_intern(table, text, strlen(text));
}

void rm_intern_free(struct rm_intern *table)
{
    rm_free(table->keys);
    rm_map_free(&table->map);
    rm_arena_free(&table->arena);
    *table = (struct rm_intern){0};
}
