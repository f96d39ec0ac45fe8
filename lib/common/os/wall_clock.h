/* SPDX-License-Identifier: MIT */
/*
 * Owns how far the time of day of this machine may be wrong, as its kernel and whoever keeps it in
 * step with others (NTP) have it.
 */
#ifndef RM_OS_WALL_CLOCK_H
#define RM_OS_WALL_CLOCK_H

/** Either way, in ns; NaN: the kernel does not say.  Of a clock that nobody keeps in step it says
 * 16 s. */
double rm_wall_clock_error_ns(void);

#endif
