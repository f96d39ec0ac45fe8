/* SPDX-License-Identifier: MIT */
/*
 * Owns where the level of a series of figures changes.  Pure.
 *
 * E-divisive with the energy distance (D. S. Matteson, N. A. James: A Nonparametric Approach for
 * Multiple Change Point Analysis of Multivariate Data, 2014), as D. Daly and others use it for
 * benchmarks (The Use of Change Point Detection to Identify Software Performance Regressions,
 * 2020): the split of a segment at which its two parts differ most is a change if no more than
 * RM_CHANGES_ALPHA of the orders into which the values of each segment can be brought by chance
 * have one that differs as much; then both parts are looked at in turn.  Chance is a generator with
 * a fixed seed: the same values have the same changes.
 */
#ifndef RM_COMPARE_CHANGES_H
#define RM_COMPARE_CHANGES_H

#include "compare/ranks.h"

#define RM_CHANGES_ALPHA 0.01
#define RM_CHANGES_LEAST 3U    /* values at a level */
#define RM_CHANGES_MOST  1000U /* values of a series */

struct rm_change {
    size_t at; /* the first value of the new level */
    double p;
};

/** The changes in their order, for rm_free().  Values are finite, and RM_CHANGES_MOST at most.
 * RESMON_ENOMEM. */
resmon_status rm_changes_find(struct rm_values values, struct rm_change **ret_changes,
                              size_t *ret_count);

#endif
