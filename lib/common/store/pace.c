/* SPDX-License-Identifier: MIT */
#include "store/pace.h"

#include <math.h>

#include "base/compiler.h"

#define LEAST_CHANCE 1e-9

/* The chance doubles or halves when the cost of a meter is so many mean costs ahead of its share or
 * behind it. The chance changes slowly enough to stay about even, because estimates from uneven
 * chances are worse. It changes fast enough to follow calls that become longer. */
#define LEEWAY 8.0

/* xorshift64* (Marsaglia 2003, Vigna 2016): uniform in (0, 1]. */
static double draw(struct rm_pace *pace)
{
    uint64_t x = pace->random;
    x ^= x >> 12;
    x ^= x << 25;
    x ^= x >> 27;
    pace->random = x;
    return (double)((x * UINT64_C(0x2545F4914F6CDD1D) >> 11) + 1) * 0x1p-53;
}

/* splitmix64 (Steele, Lea and Flood 2014). */
void rm_pace_seed(struct rm_pace *pace, uint64_t seed)
{
    uint64_t x = seed + UINT64_C(0x9E3779B97F4A7C15);
    x = (x ^ (x >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94D049BB133111EB);
    x ^= x >> 31;
    pace->random = x != 0 ? x : 1;
}

/* The share of a mean call's time, divided by the mean cost: in the long run the cost is exactly
 * the allowed share. */
static double chance_of(const struct rm_pace *pace, const struct rm_pace_terms *terms,
                        uint64_t calls, uint64_t ticks)
{
    double spent = (double)pace->spent;
    double earned = terms->share * (double)ticks;
    double allowed = (double)terms->free_ticks + earned;
    bool is_all_allowed = allowed >= spent && earned * (double)pace->taken >= (double)calls * spent;
    if (pace->spent <= terms->free_ticks || calls == 0 || is_all_allowed) {
        return 1.0;
    }
    double cost = spent / (double)pace->taken;
    double even = earned / ((double)calls * cost);
    double ahead = (allowed - spent) / (LEEWAY * cost);
    double chance = ahead >= 0.0 ? even * (1.0 + ahead) : even / (1.0 - ahead);
    return fmin(fmax(chance, LEAST_CHANCE), 1.0);
}

/* Draws the number of calls before the next metered call, if each call is metered with probability
 * `chance`. */
static uint64_t failures(struct rm_pace *pace, double chance)
{
    if (chance >= 1.0) {
        return 0;
    }
    return (uint64_t)fmin(log(draw(pace)) / log1p(-chance), 0x1p62);
}

/* The chance changes a little with each call. It is updated after each metered call, and when calls
 * have become longer. A new draw is fair at any time, because a draw has no memory. */
static void look_again(struct rm_pace *pace, const struct rm_pace_terms *terms, uint64_t calls,
                       uint64_t ticks)
{
    pace->chance = chance_of(pace, terms, calls, ticks);
    pace->skip = failures(pace, pace->chance);
    if (pace->skip == 0) {
        return; /* the current call is metered */
    }
    double cost = pace->taken > 0 ? (double)pace->spent / (double)pace->taken : 0.0;
    double worth = fmin((double)ticks / 16.0, cost / terms->share);
    pace->until = ticks + 1 + (uint64_t)fmin(worth, 0x1p62);
}

bool rm_pace_is_due(struct rm_pace *pace, const struct rm_pace_terms *terms, uint64_t calls,
                    uint64_t ticks)
{
    if (ticks >= pace->until) {
        look_again(pace, terms, calls, ticks);
    }
    if (pace->skip > 0) {
        pace->skip--;
        return false;
    }
    pace->until = 0;
    return true;
}

void rm_pace_spend(struct rm_pace *pace, uint64_t ticks)
{
    pace->taken++;
    pace->spent += ticks;
}
