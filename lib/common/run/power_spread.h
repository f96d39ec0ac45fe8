/* SPDX-License-Identifier: MIT */
/*
 * Owns the mean power of runs, and how sure it is: from how several runs differ, or from stretches
 * of a single one.  Pure.
 */
#ifndef RM_RUN_POWER_SPREAD_H
#define RM_RUN_POWER_SPREAD_H

#include <stdbool.h>

#include "base/compiler.h"
#include "run/energy.h"

/* Powers that were held for some time each.  Their variance is taken to be the same for all, so
 * that a mean weighted by time has the variance s^2 * sum(t^2) / sum(t)^2. */
struct rm_power_spread {
    uint64_t n;
    double mean_w, squares; /* of the powers, each counting once: Welford's */
    double joules, seconds, seconds2;
};

RM_SHARED void rm_power_add(struct rm_power_spread *spread, double watts, double seconds);

/** Energy over time; NaN: none. */
RM_SHARED double rm_power_mean(const struct rm_power_spread *spread);

/** The variance of the mean; NaN with less than two powers. */
RM_SHARED double rm_power_variance(const struct rm_power_spread *spread);

#define RM_STRETCHES      10 /* Schmeiser 1982: more than that gain next to nothing */
#define RM_STRETCHES_MIN  5
#define RM_STRETCH_POINTS 4
#define RM_STRETCH_S      0.2

/* What a run has to be divided by. */
struct rm_stretches {
    struct rm_power_spread spread; /* n 0: too short */
    uint64_t readings;             /* of the energy, all components at once */
    double seconds;                /* from the first to the last */
};

/** Divides the energy of the components in use into stretches of equal time. */
RM_SHARED struct rm_stretches rm_power_divide(const struct resmon_run *run,
                                              const bool is_used[RM_ENERGY_PARTS]);

#endif
