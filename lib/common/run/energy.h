/* SPDX-License-Identifier: MIT */
/*
 * Owns the energy of a run: its components, their sum and its cost, made from columns and facts.
 */
#ifndef RM_RUN_ENERGY_H
#define RM_RUN_ENERGY_H

#include <resmon/energy.h>

#include "base/compiler.h"
#include "run/run.h"

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

#endif
