/* SPDX-License-Identifier: MIT */
/*
 * resmon/emissions.h - energy of runs as codecarbon's emissions.csv, for dashboards of codecarbon:
 * a line for each run, with its 38 columns.
 *
 * Energies are with the PUE, as there (kWh); powers are energy over time (W), without it; GB are
 * GiB.  What is not known is empty: place on a map, and Python's version.  Water is
 * of the machines' energy, without the PUE.
 */
#ifndef RESMON_EMISSIONS_H
#define RESMON_EMISSIONS_H

#include <stddef.h>
#include <stdint.h>

#include <resmon/monitor.h>
#include <resmon/run.h>
#include <resmon/status.h>

RESMON_BEGIN_DECLS

#define RESMON_EMISSIONS_PROCESS                                                                  \
    UINT64_C(1) /**< the share of the process tree (tracking_mode "process"), and not the machine \
                 */

/** A line at the end of a monitor's run.  Since 0.1. */
typedef struct resmon_emissions_options {
    size_t struct_size;
    const char *path; /**< as in resmon_run_save(); made absolute when added */
    uint64_t flags;   /**< RESMON_EMISSIONS_* */
} resmon_emissions_options;

/**
 * Appends a line for the run.  Several processes may append to one file: each line is whole.  A
 * file with another header is kept, and the line goes into PATH.1, or the next that fits.  A full
 * disk leaves the file as it was.
 * RESMON_ENOENT: the energy of the run was not asked for, or its directory is not there;
 * RESMON_EACCES, RESMON_ENOSPC, RESMON_EIO: the file; RESMON_EBUSY: another process has held it for
 * seconds; RESMON_EINVAL: not a regular file; RESMON_ENOTSUP: this build has no energy.  Thread
 * class: any thread.  Since 0.1.
 */
RESMON_API resmon_status resmon_run_append_emissions(const resmon_run *run,
                                                     const resmon_emissions_options *options);

/** Has a line appended at the end of a monitor's run; added before its start.  Failures as
 * resmon_monitor_add_trace().  Thread class: one thread at a time per monitor.  Since 0.1. */
RESMON_API resmon_status resmon_monitor_add_emissions(resmon_monitor *monitor,
                                                      const resmon_emissions_options *options);

RESMON_END_DECLS

#endif
