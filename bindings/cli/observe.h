/* SPDX-License-Identifier: MIT */
/*
 * Owns the monitor of a verb that observes: made of the command line, what is asked of a cgroup
 * that it observes, and what its run becomes in the end: files, a summary, tables by line.
 */
#ifndef RESMON_CLI_OBSERVE_H
#define RESMON_CLI_OBSERVE_H

#include <stdbool.h>
#include <sys/types.h>

#include <resmon/monitor.h>

#include "arguments.h"
#include "job.h"

/* What is of the machine, and of no process. */
#define CLI_MACHINE_DOMAINS(more) more "node+cpu+memory+psi+disk+net+energy+gpu"

struct cli_observing {
    const struct cli_arguments *arguments;
    resmon_monitor *monitor;    /* NULL: there is none */
    struct cli_job_place place; /* if an output is the directory of a job */
};

/** Makes the monitor: of a process, or with `pid` 0 of the cgroup of the option `cgroup`,
 * with what the command line says; `command` is the command line that the run shows (NULL: that of
 * /proc). False, and a line that says why: what was asked for is wrong. */
bool cli_observe_make(struct cli_observing *observing, pid_t pid, const char *command);

/** Stops the monitor, writes what was asked for, and prints.  False: not all of it could be. */
bool cli_observe_finish(const struct cli_observing *observing);

/** All is done that this process does for its job: its recording goes, by which others saw that it
 * was not, if its document is there. */
void cli_observe_leave(const struct cli_observing *observing);

void cli_observe_free(struct cli_observing *observing);

/** Whether it is gone, or has no process any more. */
bool cli_group_is_empty(resmon_monitor *monitor);

/** Whether the kernel has killed processes of it for want of memory. */
bool cli_group_out_of_memory(resmon_monitor *monitor);

/** The output that is the directory of a job; NULL: none. */
const char *cli_observe_directory(const struct cli_arguments *arguments);

/** The last that was said of an option of the library; NULL: nothing. */
const struct cli_said *cli_said_of(const struct cli_arguments *arguments, const char *key);

#endif
