/* SPDX-License-Identifier: MIT */
/*
 * Owns the energy of a run: its components, their sum and its cost, made from columns and facts.
 */
#ifndef RM_STORE_RUN_ENERGY_H
#define RM_STORE_RUN_ENERGY_H

#include <resmon/energy.h>

#include "store/run.h"

#define RM_ENERGY_PARTS 3

/** Whether energy was asked for. */
bool rm_run_has_energy(const struct resmon_run *run);

/** Component `index` < RM_ENERGY_PARTS. */
resmon_energy_part rm_run_energy_part(const struct resmon_run *run, size_t index);

/** Its column of the machine's energy, or -1. */
int64_t rm_run_energy_column(const struct resmon_run *run, size_t index);

/** All of them together. */
resmon_energy rm_run_energy(const struct resmon_run *run);

/** How sure the energy of scopes is, which are given shares of it: RESMON_PROVENANCE_*. */
int32_t rm_energy_scope_provenance(const resmon_energy *energy, double scope_j);

#endif
