/* SPDX-License-Identifier: MIT */
/*
 * Owns the test of H. B. Mann and D. R. Whitney (On a Test of Whether one of Two Random Variables
 * is Stochastically Larger than the Other, 1947): whether the values of one group tend to be larger
 * than those of another; by how much, and what one group says of its median.  Nothing is asked of
 * how the values are distributed.  Pure.
 *
 * Up to RM_RANKS_EXACT values a group the probability is exact; of groups with equal values among
 * them up to RM_RANKS_EXACT_TIES, by the distribution of their own ranks.  Beyond that it is the
 * normal approximation with the corrections for ties and continuity.
 */
#ifndef RM_COMPARE_RANKS_H
#define RM_COMPARE_RANKS_H

#include <stddef.h>

#include <resmon/status.h>

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

/* An amount, and where the truth lies with the confidence that was asked for. */
struct rm_between {
    double value;
    double low, high; /* NaN: too few values to say */
};

/**
 * The median of all differences other - one, and the interval that belongs to the test of
 * rm_ranks_test().  J. L. Hodges, E. L. Lehmann: Estimates of Location Based on Rank Tests, 1963.
 * RESMON_ENOMEM.
 */
resmon_status rm_shift_of(struct rm_ranks *ranks, struct rm_values one, struct rm_values other,
                          double confidence, struct rm_between *ret_shift);

/** The median, and the two of the ordered values that hold the true one.  H. A. David, H. N.
 * Nagaraja: Order Statistics, 2003, section 7.1.  RESMON_ENOMEM. */
resmon_status rm_median_of(struct rm_values values, double confidence,
                           struct rm_between *ret_median);

/** How far values lie from their median: the median of that, times 1.4826, which of normal ones is
 * the standard deviation.  NaN: fewer than two.  RESMON_ENOMEM. */
resmon_status rm_spread_of(struct rm_values values, double *ret_spread);

#endif
