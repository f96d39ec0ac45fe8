/* SPDX-License-Identifier: MIT */
/*
 * Owns hashing of short things: FNV-1a, 64 bits.  Not against an adversary.
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

#endif
