/* SPDX-License-Identifier: MIT */
/*
 * Owns opening of performance counters (perf_event_open(2)).
 */
#ifndef RM_SYS_PERF_H
#define RM_SYS_PERF_H

#include <stdint.h>

/** A counter of a PMU of the machine, on `cpu`, for all processes; -1 with errno. */
int rm_perf_open(uint32_t type, uint64_t config, int cpu);

/** A software event of this thread, in user space: the least that can be asked for; -1 with errno.
 */
int rm_perf_open_least(void);

/** There is no PMU: -1 with ENOENT. */
int rm_perf_open_none(uint32_t type, uint64_t config, int cpu);

#endif
