/* SPDX-License-Identifier: MIT */
/*
 * Owns --verbose: lines on stderr about what a monitor reads, what it does not and why, what
 * changes while it runs, and the library's log.
 */
#ifndef RESMON_CLI_VERBOSE_H
#define RESMON_CLI_VERBOSE_H

#include <resmon/monitor.h>

#include "arguments.h"

/** Adds the lines to a monitor that was not started.  `arguments` must outlive it. */
resmon_status cli_verbose_add(const struct cli_arguments *arguments, resmon_monitor *monitor);

#endif
