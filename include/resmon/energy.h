/* SPDX-License-Identifier: MIT */
/*
 * resmon/energy.h - energy of a run: joules of the machine and of the process tree, by component,
 * each with how it is known, and their emissions at the place of the machine.
 *
 * Sources, the first that there is.  Processors: RAPL through powercap, the PMU "power" of perf, a
 * model.  Memory: the dram counters of the same, a model.  GPUs: NVML's energy counter, else its
 * power over time.  Mean power is energy over time.  What this user can read, and what opens the
 * rest, says <resmon/doctor.h>.  In the environment, RESMON_ENERGY_ROOT=/host names a directory
 * below which RAPL's files are (containers do not see them, unless the host's /sys is mounted in
 * them somewhere), and RESMON_NVML=FILE another NVML.
 *
 * The tree's share of the processors' energy.  A model says what they draw when idle (a tenth of
 * what they may draw; of virtual CPUs by their architecture; the remark of the source energy_tree
 * has the figures).  What they drew beyond that goes by CPU time: to the tree as CPU time of all
 * CPU time in use, and no more of it than all processors may draw in a second of CPU time.  Of the
 * idle part the tree bears, by default, as much as it used of the machine's capacity (CPU time of
 * the time of all CPUs); other policies are RESMON_FLAG_IDLE_*.  What no process used is nobody's.
 * So the shares of all processes never exceed the whole, and a share is linear in CPU time: of a
 * machine that is modelled it does not depend on the interval, nor on how a run is cut (to ticks of
 * the machine's CPU time, 10 ms).  Of a machine that is measured, this holds as far as a busy CPU
 * draws the same power all the time: CPU time and power that vary together inside of an interval
 * (100 ms, or the interval of the samples where that is longer) are not told apart.
 *
 * Of the memory's: as rss of all memory, from the mean of rss at both ends of an interval.  Of a
 * GPU's: as use of its multiprocessors where the driver tells that by process, else as GPU memory
 * held; not known in containers, where the driver's pids mean nothing.
 *
 * In a job, one process of each host reports the machine's energy (<resmon/job.h>, reports_host);
 * the others have their shares alone, so that runs of a job can be added up.  Which one is settled
 * when its monitor starts: what the machine draws after that has ended is in nobody's run.
 *
 * Scopes (resmon_run_scope) divide the tree's share of each time between two samples.  A thread's
 * part of the processors' energy, as its CPU time of the tree's, goes to its scopes as their part
 * of that time.  What is left (threads and processes without scopes, memory) goes to all scopes as
 * their part of the wall time.  GPUs are read less often, where they are dear to ask
 * (max_overhead): what they drew since the reading before goes to the scopes of all that time, as
 * their part of it.  With RESMON_DOMAIN_GPU, time counts there as much as power was drawn in it, by
 * the samples, and so it does for the tree's share.  Outermost scopes and what is outside of all of
 * them add up to the tree's share; no counter is read in a scope.
 */
#ifndef RESMON_ENERGY_H
#define RESMON_ENERGY_H

#include <resmon/carbon.h>
#include <resmon/run.h>

RESMON_BEGIN_DECLS

/**
 * The energy of a run.  RESMON_ENOENT: it was not asked for (RESMON_DOMAIN_ENERGY),
 * or the library that made the run was built without it; the text says which.
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
