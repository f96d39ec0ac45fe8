/* SPDX-License-Identifier: MIT */
/*
 * Owns which calls of a scope an expensive meter is taken at: at random, each with a chance that
 * follows from what went before alone, never from the call itself, so that sums over all calls can
 * be estimated without bias (store/tally.h).  Pure.
 */
#ifndef RM_STORE_PACE_H
#define RM_STORE_PACE_H

#include <stdbool.h>
#include <stdint.h>

struct rm_pace_terms {
    uint64_t free_ticks; /* that a meter may cost at a node before its share counts */
    double share;        /* of the time spent at the node that it may cost */
};

/* How often one meter is taken at one node, for the node's thread alone.  Begins as zeroes, but for
 * `random`. */
struct rm_pace {
    double chance;   /* with which the call at hand was drawn, 0 < chance <= 1 */
    uint64_t skip;   /* calls that go without until the next one that has it */
    uint64_t until;  /* ticks at the node at which the chance is looked at again */
    uint64_t random; /* state of the generator; not 0 */
    uint64_t taken;
    uint64_t spent; /* ticks */
};

/** Seeds the generator; seeds that are close give numbers that are not. */
void rm_pace_seed(struct rm_pace *pace, uint64_t seed);

/** Before a call: whether it is metered.  `calls` have finished and lasted `ticks`. */
bool rm_pace_is_due(struct rm_pace *pace, const struct rm_pace_terms *terms, uint64_t calls,
                    uint64_t ticks);

/** After one that was: what it cost. */
void rm_pace_spend(struct rm_pace *pace, uint64_t ticks);

#endif
