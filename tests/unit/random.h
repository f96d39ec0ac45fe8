/* SPDX-License-Identifier: MIT */
/*
 * Random numbers for property tests, the same in every run: xorshift64* (S. Vigna, ACM TOMS 2016).
 */
#ifndef RESMON_TESTS_RANDOM_H
#define RESMON_TESTS_RANDOM_H

#include <math.h>
#include <stdint.h>

struct random {
    uint64_t state; /* not 0 */
};

static inline uint64_t random_u64(struct random *random)
{
    random->state ^= random->state >> 12;
    random->state ^= random->state << 25;
    random->state ^= random->state >> 27;
    return random->state * UINT64_C(0x2545F4914F6CDD1D);
}

/* 0 ... bound - 1 */
static inline uint64_t random_below(struct random *random, uint64_t bound)
{
    return random_u64(random) % bound;
}

/* 0 <= u < 1 */
static inline double random_unit(struct random *random)
{
    return (double)(random_u64(random) >> 11) * 0x1p-53;
}

/* Standard normal, by Box and Muller. */
static inline double random_normal(struct random *random)
{
    double u = 1.0 - random_unit(random);
    return sqrt(-2.0 * log(u)) * cos(6.283185307179586 * random_unit(random));
}

#endif
