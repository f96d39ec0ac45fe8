/* SPDX-License-Identifier: MIT */
/*
 * Owns hashing of short things: bytes by FNV-1a, numbers by two multiplications as in MurmurHash3's
 * last steps; 64 bits.  Not against an adversary.
 */
#ifndef RM_BASE_HASH_H
#define RM_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

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

#endif
