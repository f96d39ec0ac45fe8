/* SPDX-License-Identifier: MIT */
#include "base/intern.h"

#include <string.h>

#include "base/alloc.h"
#include "base/hash.h"

#define FIRST_ROOM 64U
#define MOST_ROOM  (UINT32_C(1) << 30)

static uint32_t slot_of(const struct rm_intern *table, const void *bytes, size_t length)
{
    uint64_t hash = rm_hash_bytes(RM_HASH_START, bytes, length);
    uint32_t slot = (uint32_t)(hash ^ hash >> 32) & (table->room - 1);
    while (table->slots[slot] != 0) {
        const struct rm_intern_key *key = &table->keys[table->slots[slot] - 1];
        if (key->length == length && memcmp(key->bytes, bytes, length) == 0) {
            break;
        }
        slot = (slot + 1) & (table->room - 1);
    }
    return slot;
}

static bool grow(struct rm_intern *table)
{
    uint32_t room = table->room == 0 ? FIRST_ROOM : table->room * 2;
    uint32_t *slots = room <= MOST_ROOM ? rm_alloc(room, sizeof *slots) : NULL;
    struct rm_intern_key *keys =
        slots != NULL ? rm_realloc(table->keys, room / 2, sizeof *keys) : NULL;
    if (keys == NULL) {
        rm_free(slots);
        return false;
    }
    rm_free(table->slots);
    table->keys = keys;
    table->slots = slots;
    table->room = room;
    for (uint32_t i = 0; i < table->count; i++) {
        slots[slot_of(table, keys[i].bytes, keys[i].length)] = i + 1;
    }
    return true;
}

uint32_t rm_intern(struct rm_intern *table, const void *bytes, size_t length)
{
    if (table->count == table->room / 2 && !grow(table)) {
        table->is_broken = true;
        return 0;
    }
    uint32_t slot = slot_of(table, bytes, length);
    if (table->slots[slot] != 0) {
        return table->slots[slot] - 1;
    }
    char *copy = length < SIZE_MAX ? rm_arena_alloc(&table->arena, length + 1, 1) : NULL;
    if (copy == NULL) {
        table->is_broken = true;
        return 0;
    }
    if (length > 0) {
        memcpy(copy, bytes, length);
    }
    table->keys[table->count] = (struct rm_intern_key){copy, length};
    table->slots[slot] = ++table->count;
    return table->count - 1;
}

uint32_t rm_intern_text(struct rm_intern *table, const char *text)
{
    return rm_intern(table, text, strlen(text));
}

void rm_intern_free(struct rm_intern *table)
{
    rm_free(table->keys);
    rm_free(table->slots);
    rm_arena_free(&table->arena);
    *table = (struct rm_intern){0};
}
