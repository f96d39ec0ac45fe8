/* SPDX-License-Identifier: MIT */
/*
 * resmon/energy.h - what a run drew: joules of the machine and of the process tree, by component,
 * each with how it is known, and what they cost where the machine stands.
 *
 * Sources, the first that there is.  Processors: RAPL through powercap, the PMU "power" of perf, a
 * model.  Memory: the dram counters of the same, a model.  GPUs: NVML's energy counter, else its
 * power over time.  Mean power is energy over time.  What this user can read, and what opens the
 * rest, says <resmon/doctor.h>.  In the environment, RESMON_ENERGY_ROOT=/host names a directory
 * below which RAPL's files are (containers do not see them, unless the host's /sys is mounted in
 * them somewhere), and RESMON_NVML=FILE another NVML.
 *
 * The tree's share of the processors' energy: of its active part (energy times load) as CPU time
 * of all CPU time in use; of the idle part by the policy of the run (RESMON_FLAG_IDLE_*).  Of the
 * memory's: as rss of all memory.  Of a GPU's: as use of its multiprocessors where the driver tells
 * that by process, else as GPU memory held; not known in containers, where the driver's pids mean
 * nothing.  By default, the shares of all processes never exceed the whole.
 *
 * In a job, one process of each host reports the machine's energy (<resmon/job.h>, reports_host);
 * the others have their shares alone, so that runs of a job can be added up.  Which one is settled
 * when its monitor starts: what the machine draws after that has ended is in nobody's run.
 *
 * Scopes (resmon_run_scope) divide the tree's share of each time between two samples.  A thread's
 * part of the processors' energy, as its CPU time of the tree's, goes to its scopes as their part
 * of that time.  What is left (threads and processes without scopes, memory, GPUs) goes to all
 * scopes as their part of the wall time.  So outermost scopes and what is outside of all of them
 * add up to the tree's share; no counter is read in a scope.
 */
#ifndef RESMON_ENERGY_H
#define RESMON_ENERGY_H

#include <resmon/carbon.h>
#include <resmon/run.h>

RESMON_BEGIN_DECLS

/** A component.  Texts live as long as the run.  Since 0.1. */
typedef struct resmon_energy_part {
    size_t struct_size;
    const char *name;   /**< "cpu", "ram", "gpu" */
    const char *method; /**< how it is known, in words; "": from the machine's counters */
    double node_j;      /**< of the machine, J since the start; NaN: not known */
    double tree_j;      /**< the process tree's share; NaN: not known */
    int32_t provenance; /**< RESMON_PROVENANCE_* of node_j */
} resmon_energy_part;

/** All of them together.  NaN: not known.  Texts live as long as the run.  Since 0.1. */
typedef struct resmon_energy {
    size_t struct_size;
    double node_j, tree_j;      /**< sums over the components that are known */
    double modelled_share;      /**< of node_j (else of tree_j), what a model says: 0 ... 1 */
    double node_gco2eq;         /**< node_j / 3.6e6 * pue * g_per_kwh */
    double tree_gco2eq;         /**< the same of tree_j */
    double node_water_l;        /**< node_j / 3.6e6 * wue */
    double tree_water_l;        /**< the same of tree_j */
    double g_per_kwh, pue, wue; /**< of the place, when the run began */
    int32_t provenance;         /**< of node_j: the least certain of its components' */
    int32_t basis;              /**< RESMON_CARBON_BASIS_* */
    int32_t year;               /**< of g_per_kwh; 0: not said */
    const char *place, *source; /**< of g_per_kwh */
    const char *remark;         /**< what to know, such as a site file that cannot be read; or "" */
} resmon_energy;

/**
 * The energy of a run.  RESMON_ENOENT: it was not asked for (RESMON_DOMAIN_ENERGY).
 * Thread class: any thread.  Since 0.1.
 */
RESMON_API resmon_status resmon_run_get_energy(const resmon_run *run, resmon_energy *ret_energy);

/** How many components there are; 0 where energy was not asked for.  Since 0.1. */
RESMON_API size_t resmon_run_energy_part_count(const resmon_run *run);

/** Component `index`; RESMON_ENOENT past the end.  Thread class: any thread.  Since 0.1. */
RESMON_API resmon_status resmon_run_get_energy_part(const resmon_run *run, size_t index,
                                                    resmon_energy_part *ret_part);

RESMON_END_DECLS

#endif
