/* SPDX-License-Identifier: MIT */
/*
 * Owns finding things by key: a hash table of numbers, open addressing, at most half full.  Keys
 * and what belongs to them lie with the caller, in an array or in the run block, under the number
 * that the table has.  One thread at a time.
 *
 * A look-up goes through the numbers whose hash is that of the key, and the caller compares:
 *
 *     struct rm_map_search search = {.hash = rm_hash_u64(RM_HASH_START, pid)};
 *     for (uint32_t i; rm_map_next(&map, &search, &i);) {
 *         if (members[i].pid == pid) {
 *             return &members[i];
 *         }
 *     }
 */
#ifndef RM_BASE_MAP_H
#define RM_BASE_MAP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/compiler.h"

struct rm_map_slot {
    uint32_t hash;     /* of the key, folded to 32 bits: a table grows without its keys */
    uint32_t number_1; /* the number + 1; 0: free */
};

/* Zeroed: empty. */
struct rm_map {
    struct rm_map_slot *slots;
    uint32_t count;
    uint32_t room; /* slots: a power of two, twice as many as keys at least */
};

/* Set `hash`, the rest zeroed. */
struct rm_map_search {
    uint64_t hash;
    uint32_t steps;
};

/** Room for `count` keys in all; it grows to twice as much at least.  False: no memory, or more
 * than 2^29; the table is as it was. */
RM_SHARED bool rm_map_reserve(struct rm_map *map, uint64_t count) RM_MUST_CHECK;

/** The next number under the hash of the search; false: there are no more. */
RM_SHARED bool rm_map_next(const struct rm_map *map, struct rm_map_search *search,
                           uint32_t *ret_number);

/** Adds a number, below UINT32_MAX, under the hash of its key, which is not there yet, where there
 * is room for it (rm_map_reserve). */
RM_SHARED void rm_map_add(struct rm_map *map, uint64_t hash, uint32_t number);

/** Forgets all keys; the room stays. */
void rm_map_clear(struct rm_map *map);

RM_SHARED void rm_map_free(struct rm_map *map);

#endif
