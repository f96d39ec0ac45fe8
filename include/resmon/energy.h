/* SPDX-License-Identifier: MIT */
/*
 * resmon/energy.h - energy and emissions of a run: the machine and the process tree, by component.
 *
 *     resmon_energy energy = {.struct_size = sizeof energy};
 *     if (resmon_run_get_energy(run, &energy) == RESMON_OK) {
 *         printf("%.1f J of %.1f J, %.3f gCO2eq, %s\n", energy.tree_j, energy.node_j,
 *                energy.tree_gco2eq, resmon_provenance_name(energy.provenance));
 *     }
 *
 * Energy is in joules, with a provenance for each component.  Emissions are computed for the
 * location of the machine.
 *
 * Sources: the first available one is used.
 *
 * - Processors: RAPL through powercap; the PMU "power" of perf; a model.
 * - Memory: the dram counters of RAPL or the PMU; a model.
 * - GPUs: NVML's energy counter; else its power integrated over time.
 *
 * Mean power is energy divided by time.  <resmon/doctor.h> reports which sources this user can
 * read, and how to get access to the others.  Two environment variables choose other sources:
 *
 * - RESMON_ENERGY_ROOT=/host: a directory that contains the files of RAPL below it, for containers
 *   in which the host's /sys is mounted elsewhere;
 * - RESMON_NVML=FILE: another NVML library.
 *
 * Processors: the tree's share.  A model gives the idle power: a tenth of the maximum power; for
 * virtual CPUs by architecture.  The remark of the source energy_tree has the values.  Energy above
 * idle is attributed by CPU time: CPU time of the tree / all CPU time used.  It is limited to the
 * power that all processors may consume, for each second of CPU time.  Of the idle energy, the tree
 * gets by default the share of the machine's capacity that it used (its CPU time / the time of all
 * CPUs); RESMON_FLAG_IDLE_* choose other policies.  Unused capacity is not attributed.  The shares
 * of all processes therefore never exceed the total.
 *
 * A share is linear in CPU time.  If the machine's energy is modelled, the share does not depend on
 * the sampling interval, nor on how a run is divided (except for ticks of the machine's CPU time,
 * 10 ms).  If it is measured, this holds if a busy CPU consumes constant power: variations of CPU
 * time and power within an interval (100 ms, or the sampling interval if longer) are not resolved.
 *
 * Memory: the tree's share is its RSS / total memory, with the mean RSS of both ends of an
 * interval.
 *
 * GPUs: if only the tree uses a GPU, the share is 1.  Else it is the tree's part of the
 * multiprocessor use of all processes; if that is unknown or 0, of the GPU memory they hold.  The
 * share is unknown in containers, where the driver's process ids have no meaning.
 *
 * Jobs: one process of each host reports the machine's energy (<resmon/job.h>, reports_host).  The
 * others report their shares only, so the runs of a job can be summed.  This process is chosen when
 * its monitor starts.  Energy that the machine consumes after the end of that process is in no run.
 *
 * Scopes (resmon_run_scope): the tree's share between two samples is divided among the open scopes.
 * Each thread gets the part of the processors' energy given by its part of the tree's CPU time.
 * This part is divided among the thread's scopes by their part of that CPU time.  The rest (threads
 * and processes without scopes, memory) is divided among all scopes by wall time.
 *
 * GPUs are read less often if reading them is expensive (max_overhead).  Their energy since the
 * last reading is divided among the scopes of that whole time by wall time.  With
 * RESMON_DOMAIN_GPU, time is weighted with the sampled power, also for the tree's share.
 *
 * The energy of the outermost scopes and of the time outside all scopes sums up to the tree's
 * share.  Scopes read no counter.
 */
#ifndef RESMON_ENERGY_H
#define RESMON_ENERGY_H

#include <resmon/carbon.h>
#include <resmon/run.h>

RESMON_BEGIN_DECLS

/**
 * Gets the energy of a run.
 * RESMON_ENOENT: energy was not requested (RESMON_DOMAIN_ENERGY).  RESMON_EINVAL: an argument is
 * NULL, or struct_size is wrong.
 * Thread class: any thread.  Since 0.1.
 */
RESMON_API resmon_status resmon_run_get_energy(const resmon_run *run, resmon_energy *ret_energy);

/** Returns the number of components; 0 if energy was not requested.  Any thread.  Since 0.1. */
RESMON_API size_t resmon_run_energy_part_count(const resmon_run *run);

/** Gets component `index`.  RESMON_ENOENT: `index` is past the end.  Any thread.  Since 0.1. */
RESMON_API resmon_status resmon_run_get_energy_part(const resmon_run *run, size_t index,
                                                    resmon_energy_part *ret_part);

RESMON_END_DECLS

#endif
