/* SPDX-License-Identifier: MIT */
/*
 * Owns the energy of a run: its components, their sum and its cost, made from columns and facts;
 * and the mean power of runs, and how sure it is.
 */
#ifndef RM_RUN_ENERGY_H
#define RM_RUN_ENERGY_H

#include <resmon/energy.h>
#include <stdbool.h>

#include "base/compiler.h"
#include "run/run.h"

/* ---- energy ----------------------------------------------------------------------------- */

#define RM_ENERGY_PARTS 3

/** Whether energy was asked for. */
RM_SHARED bool rm_run_has_energy(const struct resmon_run *run);

/** Why it has none: it was not asked for, or the library that made the run was built without. */
const char *rm_run_energy_lack(const struct resmon_run *run);

/** Component `index` < RM_ENERGY_PARTS. */
RM_SHARED resmon_energy_part rm_run_energy_part(const struct resmon_run *run, size_t index);

/** Its column of the machine's energy, or -1. */
RM_SHARED int64_t rm_run_energy_column(const struct resmon_run *run, size_t index);

/** All of them together. */
RM_SHARED resmon_energy rm_run_energy(const struct resmon_run *run);

/* Joules, and what they cost where the machine stands. */
struct rm_run_cost {
    double joules, it_kwh, facility_kwh, gco2eq, water_l;
    double coal_kg, natural_gas_kg, petroleum_kg; /* CO2, if all were made of it */
};

RM_SHARED struct rm_run_cost rm_run_cost_of(const resmon_energy *energy, double joules);

/** Sets what the energy of scopes costs, and how sure it is. */
void rm_run_price_scopes(const struct resmon_run *run, resmon_run_scope *scopes, size_t count);

/* ---- mean power ------------------------------------------------------------------------- */

/*
 * The mean power of runs, and how sure it is: from how several runs differ, or from stretches of a
 * single one.  Pure.
 */

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
