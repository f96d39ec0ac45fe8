/* SPDX-License-Identifier: MIT */
/*
 * Owns the test of H. B. Mann and D. R. Whitney (On a Test of Whether one of Two Random Variables
 * is Stochastically Larger than the Other, 1947): whether the values of one group tend to be larger
 * than those of another.  It asks nothing of how they are distributed.  Pure.
 *
 * Up to RM_RANKS_EXACT values a group the probability is exact; of groups with equal values among
 * them up to RM_RANKS_EXACT_TIES, by the distribution of their own ranks.  Beyond that it is the
 * normal approximation with the corrections for ties and continuity.
 */
#ifndef RM_COMPARE_RANKS_H
#define RM_COMPARE_RANKS_H

#include <stdbool.h>
#include <stddef.h>

#include <resmon/status.h>

#define RM_RANKS_EXACT      50U
#define RM_RANKS_EXACT_TIES 25U

/* The distribution for two sizes, kept from one comparison to the next. */
struct rm_ranks {
    size_t n, m;
    double *at_most; /* by U from 0 to n * m / 2: in how many of all orders U is that or less */
    double orders;   /* all of them */
};

struct rm_values {
    const double *at;
    size_t count;
};

void rm_ranks_free(struct rm_ranks *ranks);

/** Two-sided probability that groups of one distribution differ as much as these; 1 for an empty
 * one.  Values are finite.  RESMON_ENOMEM. */
resmon_status rm_ranks_test(struct rm_ranks *ranks, struct rm_values one, struct rm_values other,
                            double *ret_p);

/**
 * The largest k with P(U < k) <= `tail` for groups of these sizes without equal values: differences
 * number k from below and from above (of n * m, in order) bound the shift of one against the other.
 * 0: there is none.  RESMON_ENOMEM.
 */
resmon_status rm_ranks_bound(struct rm_ranks *ranks, size_t n, size_t m, double tail,
                             size_t *ret_k);

/** The standard normal distribution: what lies above z, and z above which so much lies. */
double rm_normal_above(double z);
double rm_normal_quantile_above(double share);

#endif
