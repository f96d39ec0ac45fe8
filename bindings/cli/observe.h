/* SPDX-License-Identifier: MIT */
/*
 * Owns the monitor of a verb that observes: made of the command line, and what its run becomes in
 * the end: files, a summary, tables by line.
 */
#ifndef RESMON_CLI_OBSERVE_H
#define RESMON_CLI_OBSERVE_H

#include <stdbool.h>
#include <sys/types.h>

#include <resmon/monitor.h>

#include "arguments.h"

/** A monitor of a process, or with `pid` 0 of the control group of the option `cgroup`, with what
 * the command line says; `command` is the command line that the run shows (NULL: that of /proc).
 * NULL, and a line that says why: what was asked for is wrong. */
resmon_monitor *cli_observe_make(const struct cli_arguments *arguments, pid_t pid,
                                 const char *command);

/** Stops the monitor, writes what was asked for, and prints.  False: not all of it could be. */
bool cli_observe_finish(const struct cli_arguments *arguments, resmon_monitor *monitor);

/** All is done that this process does for its job: its recording goes, by which others saw that it
 * was not, if its document is there. */
void cli_observe_leave(const struct cli_arguments *arguments);

/** The output that is the directory of a job (job_files.h); NULL: none. */
const char *cli_observe_directory(const struct cli_arguments *arguments);

/** The last that was said of an option of the library; NULL: nothing. */
const struct cli_said *cli_said_of(const struct cli_arguments *arguments, const char *key);

#endif
