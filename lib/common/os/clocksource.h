/* SPDX-License-Identifier: MIT */
/*
 * Owns the decision which clock scopes use: the CPU's counter only where the CPU promises that it
 * is constant and the kernel itself keeps time by it.
 */
#ifndef RM_OS_CLOCKSOURCE_H
#define RM_OS_CLOCKSOURCE_H

/** Decides once per process; returns "tsc", "cntvct" or "clock_gettime". */
const char *rm_clocksource_choose(void);

#endif
