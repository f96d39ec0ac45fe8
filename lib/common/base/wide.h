/* SPDX-License-Identifier: MIT */
/*
 * Owns unsigned numbers of 128 bits, modulo 2^128: sums of squares of ticks, which are exact in
 * them.
 */
#ifndef RM_BASE_WIDE_H
#define RM_BASE_WIDE_H

#include <stdint.h>

struct rm_wide {
    uint64_t low, high;
};

/* For compilers without a type of 128 bits. */
static inline struct rm_wide rm_wide_product_by_halves(uint64_t a, uint64_t b)
{
    uint64_t a_low = a & UINT32_MAX, a_high = a >> 32, b_low = b & UINT32_MAX, b_high = b >> 32;
    uint64_t low = a_low * b_low;
    uint64_t first = a_high * b_low + (low >> 32);
    uint64_t second = a_low * b_high + (first & UINT32_MAX);
    return (struct rm_wide){.low = second << 32 | (low & UINT32_MAX),
                            .high = a_high * b_high + (first >> 32) + (second >> 32)};
}

static inline struct rm_wide rm_wide_product(uint64_t a, uint64_t b)
{
#ifdef __SIZEOF_INT128__
    __extension__ typedef unsigned __int128 number;
    number product = (number)a * b;
    return (struct rm_wide){.low = (uint64_t)product, .high = (uint64_t)(product >> 64)};
#else
    return rm_wide_product_by_halves(a, b);
#endif
}

static inline struct rm_wide rm_wide_add(struct rm_wide a, struct rm_wide b)
{
    uint64_t low = a.low + b.low;
    return (struct rm_wide){.low = low, .high = a.high + b.high + (low < b.low ? 1 : 0)};
}

static inline struct rm_wide rm_wide_subtract(struct rm_wide a, struct rm_wide b)
{
    return (struct rm_wide){.low = a.low - b.low,
                            .high = a.high - b.high - (a.low < b.low ? 1 : 0)};
}

static inline double rm_wide_double(struct rm_wide a)
{
    return (double)a.high * 0x1p64 + (double)a.low;
}

#endif
