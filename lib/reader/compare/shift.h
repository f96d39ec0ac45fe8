/* SPDX-License-Identifier: MIT */
/*
 * Owns by how much the values of one group are larger than those of another, and what one group
 * says of its median.  Nothing is asked of how the values are distributed.  Pure.
 */
#ifndef RM_COMPARE_SHIFT_H
#define RM_COMPARE_SHIFT_H

#include "compare/ranks.h"

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
