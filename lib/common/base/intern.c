/* SPDX-License-Identifier: MIT */
#include "base/intern.h"

#include <string.h>

#include "base/alloc.h"
#include "base/hash.h"

static bool find(const struct rm_intern *table, uint64_t hash, const void *bytes, size_t length,
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

/* A copy of the key behind those that are there; false: no memory. */
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
    if (find(table, hash, bytes, length, &number)) {
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
