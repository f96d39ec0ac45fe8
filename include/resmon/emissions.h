/* SPDX-License-Identifier: MIT */
/*
 * resmon/emissions.h - energy of runs as codecarbon's emissions.csv, for codecarbon's dashboards.
 *
 *     resmon_emissions_options options = {.struct_size = sizeof options};
 *     options.path = "emissions.csv";
 *     resmon_run_append_emissions(run, &options);
 *
 * The file has one line per run, with codecarbon's 38 columns.  As in codecarbon, energy (kWh)
 * includes the PUE, power (W) is energy / time without PUE, and GB means GiB.  Water is for the
 * energy of the machines, without PUE.  Unknown values are empty: coordinates, and the version of
 * Python.
 */
#ifndef RESMON_EMISSIONS_H
#define RESMON_EMISSIONS_H

#include <stddef.h>
#include <stdint.h>

#include <resmon/monitor.h>
#include <resmon/run.h>
#include <resmon/status.h>

RESMON_BEGIN_DECLS

/** The line has the share of the process tree (tracking_mode "process"), not of the machine. */
#define RESMON_EMISSIONS_PROCESS UINT64_C(1)

/** Options of resmon_run_append_emissions() and resmon_monitor_add_emissions().  Since 0.1. */
typedef struct resmon_emissions_options {
    size_t struct_size;
    const char *path; /**< as in resmon_run_save(); made absolute when added */
    uint64_t flags;   /**< RESMON_EMISSIONS_* */
} resmon_emissions_options;

/**
 * Appends a line for the run.
 * Its columns run_id and experiment_id are the run's labels of these names; without them, a random
 * UUID and the id of the batch job.
 * Several processes may append to one file: each line is whole.  A file with another header is
 * kept; the line goes to PATH.1, or the next number that fits.  A full disk leaves the file
 * unchanged.
 * RESMON_ENOENT: the run has no energy, another process of this host has the energy of the machine
 * (use RESMON_EMISSIONS_PROCESS), or the directory does not exist; RESMON_EACCES, RESMON_ENOSPC,
 * RESMON_EIO: the file cannot be written; RESMON_EBUSY: another process has locked it for seconds;
 * RESMON_EINVAL: an argument is NULL or invalid, or the path is not a regular file.
 * Thread class: any thread.  Since 0.1.
 */
RESMON_API resmon_status resmon_run_append_emissions(const resmon_run *run,
                                                     const resmon_emissions_options *options);

/**
 * Adds a line to the file at the end of a monitor's run; call it before start.
 * For the energy of the machine, one process per host of a job appends a line.
 * RESMON_EINVAL, RESMON_ENOENT, RESMON_EACCES and other errors: as resmon_monitor_add_trace().
 * Thread class: one thread at a time per monitor.  Since 0.1.
 */
RESMON_API resmon_status resmon_monitor_add_emissions(resmon_monitor *monitor,
                                                      const resmon_emissions_options *options);

RESMON_END_DECLS

#endif
