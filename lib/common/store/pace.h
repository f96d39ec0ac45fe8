/* SPDX-License-Identifier: MIT */
/*
 * Owns the choice of the calls of a scope for which an expensive meter is read. The choice is
 * random. The chance of each call depends on earlier calls alone, never on the call itself. So sums
 * over all calls can be estimated without bias (store/tally.h). Pure.
 */
#ifndef RM_STORE_PACE_H
#define RM_STORE_PACE_H

#include <stdbool.h>
#include <stdint.h>

struct rm_pace_terms {
    uint64_t free_ticks; /* cost that a meter may have at a node before `share` limits it */
    double share;        /* allowed cost, as a fraction of the time spent at the node */
};

/* The sampling state of one meter at one node, used by the node's thread alone. Zeroes at first,
 * except `random`. */
struct rm_pace {
    double chance;   /* with which the current call was drawn, 0 < chance <= 1 */
    uint64_t skip;   /* number of unmetered calls before the next metered call */
    uint64_t until;  /* the chance is updated when the node's ticks reach this */
    uint64_t random; /* state of the generator; not 0 */
    uint64_t taken;
    uint64_t spent; /* ticks */
};

/** Seeds the generator. Seeds close to each other give unrelated numbers. */
void rm_pace_seed(struct rm_pace *pace, uint64_t seed);

/** Before a call: whether the call is metered. So far, `calls` have finished and have taken
 * `ticks`. */
bool rm_pace_is_due(struct rm_pace *pace, const struct rm_pace_terms *terms, uint64_t calls,
                    uint64_t ticks);

/** After a metered call: adds the cost of the meter. */
void rm_pace_spend(struct rm_pace *pace, uint64_t ticks);

#endif
