/* SPDX-License-Identifier: MIT */
/*
 * Owns the energy of a run: its components, their sum and its cost, made from columns and facts;
 * and the mean power of runs with its uncertainty.
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

/** Why a run has no energy: it was not asked for, or the library that recorded the run was built
 * without energy. */
const char *rm_run_energy_lack(const struct resmon_run *run);

/** Component `index` < RM_ENERGY_PARTS. */
RM_SHARED resmon_energy_part rm_run_energy_part(const struct resmon_run *run, size_t index);

/** The column of the machine's energy for component `index`, or -1. */
RM_SHARED int64_t rm_run_energy_column(const struct resmon_run *run, size_t index);

/** The sum of all components. */
RM_SHARED resmon_energy rm_run_energy(const struct resmon_run *run);

/* Joules, and their cost at the location of the machine. */
struct rm_run_cost {
    double joules, it_kwh, facility_kwh, gco2eq, water_l;
    double coal_kg, natural_gas_kg, petroleum_kg; /* CO2, if all energy came from this fuel */
};

RM_SHARED struct rm_run_cost rm_run_cost_of(const resmon_energy *energy, double joules);

/** Sets the cost of the energy of scopes, and its uncertainty. */
void rm_run_price_scopes(const struct resmon_run *run, resmon_run_scope *scopes, size_t count);

/* ---- mean power ------------------------------------------------------------------------- */

/*
 * The mean power of runs and its uncertainty: from the differences between several runs, or from
 * stretches of a single run. Pure.
 */

/* Powers, each held for some time. All are assumed to have the same variance, so a mean weighted by
 * time has the variance s^2 * sum(t^2) / sum(t)^2. */
struct rm_power_spread {
    uint64_t n;
    double mean_w, squares; /* each power counts once: Welford's method */
    double joules, seconds, seconds2;
};

RM_SHARED void rm_power_add(struct rm_power_spread *spread, double watts, double seconds);

/** Energy over time; NaN if there is none. */
RM_SHARED double rm_power_mean(const struct rm_power_spread *spread);

/** The variance of the mean; NaN with less than two powers. */
RM_SHARED double rm_power_variance(const struct rm_power_spread *spread);

#define RM_STRETCHES      10 /* Schmeiser 1982: more stretches gain almost nothing */
#define RM_STRETCHES_MIN  5
#define RM_STRETCH_POINTS 4
#define RM_STRETCH_S      0.2

/* The stretches of a run. */
struct rm_stretches {
    struct rm_power_spread spread; /* n is 0 if the run is too short */
    uint64_t readings;             /* readings of the energy, of all components together */
    double seconds;                /* from the first to the last reading */
};

/** Divides the energy of the components in use into stretches of equal time. */
RM_SHARED struct rm_stretches rm_power_divide(const struct resmon_run *run,
                                              const bool is_used[RM_ENERGY_PARTS]);

#endif
