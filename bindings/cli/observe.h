/* SPDX-License-Identifier: MIT */
/*
 * Owns the monitor of a verb that observes: it is created from the command line; at the end, files,
 * a summary and tables by line are written.  Also queries the state of an observed cgroup.
 */
#ifndef RESMON_CLI_OBSERVE_H
#define RESMON_CLI_OBSERVE_H

#include <stdbool.h>
#include <sys/types.h>

#include <resmon/monitor.h>

#include "arguments.h"
#include "job.h"

/* Domains of the machine, without those of processes. */
#define CLI_MACHINE_DOMAINS(more) more "node+cpu+memory+psi+disk+net+energy+gpu"

struct cli_observing {
    const struct cli_arguments *arguments;
    resmon_monitor *monitor;    /* NULL: none */
    struct cli_job_place place; /* if an output is the directory of a job */
};

/** Creates the monitor of a process, or with `pid` 0 of the cgroup of the option `cgroup`, with the
 * options of the command line.  `command`: command line to show in the run (NULL: that of /proc).
 * False, and a message: the options are wrong. */
bool cli_observe_make(struct cli_observing *observing, pid_t pid, const char *command);

/** Stops the monitor, writes the outputs, and prints.  False: an output could not be written. */
bool cli_observe_finish(const struct cli_observing *observing);

/** Removes the recording of this process if its document exists.  As long as there is a recording,
 * other ranks take the process as running. */
void cli_observe_leave(const struct cli_observing *observing);

void cli_observe_free(struct cli_observing *observing);

/** Whether the observed cgroup was removed, or has no processes any more. */
bool cli_group_is_empty(resmon_monitor *monitor);

/** Whether the OOM killer has killed processes of the observed cgroup. */
bool cli_group_out_of_memory(resmon_monitor *monitor);

/** The value of -o that is the directory of a job; NULL: none. */
const char *cli_observe_directory(const struct cli_arguments *arguments);

/** The last occurrence of a library option on the command line; NULL: none. */
const struct cli_given *cli_given_of(const struct cli_arguments *arguments, const char *key);

#endif
