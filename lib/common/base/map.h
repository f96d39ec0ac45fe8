/* SPDX-License-Identifier: MIT */
/*
 * Owns finding by key: hashes, a hash table of numbers, and the numbering of keys.
 *
 * The table has open addressing and is at most half full.  The caller has the keys and their
 * values, in an array or in the run block, at the index that is the number in the table.  One
 * thread at a time.  A look-up visits the numbers with the hash of the key, and the caller compares
 * the keys:
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
#include <stddef.h>
#include <stdint.h>

#include "base/alloc.h"
#include "base/compiler.h"

/* ---- hashes ------------------------------------------------------------------------------ */

/*
 * Of short keys: bytes by FNV-1a, numbers by two multiplications as in the last steps of
 * MurmurHash3; 64 bits.  Not against an adversary.
 */

#define RM_HASH_START UINT64_C(0xcbf29ce484222325)

/** Continues `hash` (first: RM_HASH_START) over `bytes`. */
static inline uint64_t rm_hash_bytes(uint64_t hash, const void *bytes, size_t length)
{
    const unsigned char *p = bytes;
    for (size_t i = 0; i < length; i++) {
        hash = (hash ^ p[i]) * UINT64_C(0x100000001b3);
    }
    return hash;
}

/** Continues `hash` (first: RM_HASH_START) with one number. */
static inline uint64_t rm_hash_u64(uint64_t hash, uint64_t number)
{
    hash = (hash ^ number * UINT64_C(0x9e3779b97f4a7c15)) * UINT64_C(0xff51afd7ed558ccd);
    return (hash ^ hash >> 33) * UINT64_C(0xc4ceb9fe1a85ec53);
}

/* ---- a hash table ------------------------------------------------------------------------ */

struct rm_map_slot {
    uint32_t hash;     /* of the key, folded to 32 bits, so that a table grows without its keys */
    uint32_t number_1; /* the number + 1; 0: free */
};

/* Zeroed: empty. */
struct rm_map {
    struct rm_map_slot *slots;
    uint32_t count;
    uint32_t room; /* how many slots: a power of two, at least twice the number of keys */
};

/* Set `hash`, the rest zeroed. */
struct rm_map_search {
    uint64_t hash;
    uint32_t steps;
};

/** Makes the capacity `count` keys in all, growing to twice the capacity at least.  False: no
 * memory, or more than 2^29; the table is unchanged. */
RM_SHARED bool rm_map_reserve(struct rm_map *map, uint64_t count) RM_MUST_CHECK;

/** The next number with the hash of the search; false: there are no more. */
RM_SHARED bool rm_map_next(const struct rm_map *map, struct rm_map_search *search,
                           uint32_t *ret_number);

/** Adds a number, below UINT32_MAX, with the hash of its key, which is not in the table yet.  After
 * rm_map_reserve(). */
RM_SHARED void rm_map_add(struct rm_map *map, uint64_t hash, uint32_t number);

/** Removes all keys; the capacity stays. */
void rm_map_clear(struct rm_map *map);

RM_SHARED void rm_map_free(struct rm_map *map);

/* ---- numbering of keys ------------------------------------------------------------------- */

/* Equal bytes get the same number, from 0 on in the order of their first use: for tables of
 * strings, functions and places. */

struct rm_intern_key {
    const void *bytes; /* aligned for anything, and followed by a zero byte */
    size_t length;
};

/* Zeroed: empty. */
struct rm_intern {
    struct rm_arena arena;
    struct rm_intern_key *keys; /* by number */
    uint32_t count;
    size_t room;       /* the capacity of `keys` */
    struct rm_map map; /* numbers by key */
    bool is_broken;    /* a failed allocation: later numbers are wrong */
};

/** The number of a key, which is added if it is new; 0 when there is no memory. */
RM_SHARED uint32_t rm_intern(struct rm_intern *table, const void *bytes, size_t length);

/** The number of a terminated string; 0 when there is no memory. */
RM_SHARED uint32_t rm_intern_text(struct rm_intern *table, const char *text);

RM_SHARED void rm_intern_free(struct rm_intern *table);

#endif
