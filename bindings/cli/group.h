/* SPDX-License-Identifier: MIT */
/*
 * Owns what the command asks of a cgroup that a monitor observes.
 */
#ifndef RESMON_CLI_GROUP_H
#define RESMON_CLI_GROUP_H

#include <stdbool.h>

#include <resmon/monitor.h>

/** Whether it is gone, or has no process any more. */
bool cli_group_is_empty(resmon_monitor *monitor);

/** Whether the kernel has killed processes of it for want of memory. */
bool cli_group_out_of_memory(resmon_monitor *monitor);

#endif
