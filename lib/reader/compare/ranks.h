/* SPDX-License-Identifier: MIT */
/*
 * Owns the test of H. B. Mann and D. R. Whitney (On a Test of Whether one of Two Random Variables
 * is Stochastically Larger than the Other, 1947).  It tests whether the values of one group tend to
 * be larger than the values of another group.
 * The file also has the size of the shift, and the median of one group with its interval.  The
 * values may have any distribution.  Pure.
 *
 * For groups of up to RM_RANKS_EXACT values the probability is exact.  For groups with equal values
 * it is exact up to RM_RANKS_EXACT_TIES values, by the distribution of their own ranks.  For larger
 * groups it is the normal approximation with the corrections for ties and continuity.
 */
#ifndef RM_COMPARE_RANKS_H
#define RM_COMPARE_RANKS_H

#include <stddef.h>

#include <resmon/status.h>

/* The distribution of U for two sizes, reused by the next comparison of the same sizes. */
struct rm_ranks {
    size_t n, m;
    double *at_most; /* for U from 0 to n * m / 2: the number of orders with U or less */
    double orders;   /* the number of all orders */
};

struct rm_values {
    const double *at;
    size_t count;
};

void rm_ranks_free(struct rm_ranks *ranks);

/** The two-sided probability that groups of one distribution differ at least as much as these
 * groups; 1 if a group is empty.  Values must be finite.  RESMON_ENOMEM. */
resmon_status rm_ranks_test(struct rm_ranks *ranks, struct rm_values one, struct rm_values other,
                            double *ret_p);

/* An estimate and its confidence interval. */
struct rm_between {
    double value;
    double low, high; /* NaN: too few values for an interval */
};

/**
 * The median of all differences other - one, and the confidence interval that matches the test of
 * rm_ranks_test().  J. L. Hodges, E. L. Lehmann: Estimates of Location Based on Rank Tests, 1963.
 * RESMON_ENOMEM.
 */
resmon_status rm_shift_of(struct rm_ranks *ranks, struct rm_values one, struct rm_values other,
                          double confidence, struct rm_between *ret_shift);

/** The median, and the two ordered values between which the true median lies with this confidence.
 * H. A. David, H. N. Nagaraja: Order Statistics, 2003, section 7.1.  RESMON_ENOMEM. */
resmon_status rm_median_of(struct rm_values values, double confidence,
                           struct rm_between *ret_median);

/** The median absolute deviation from the median, times 1.4826: for normal values this is the
 * standard deviation.  NaN: fewer than two values.  RESMON_ENOMEM. */
resmon_status rm_spread_of(struct rm_values values, double *ret_spread);

#endif
