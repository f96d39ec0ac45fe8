/* SPDX-License-Identifier: MIT */
/*
 * Owns watches: what the process used between two moments, without a monitor.  They stand in a
 * table of their own and not with the caller, so that a longjmp() past an end leaves no pointer
 * into a stack that is gone: only a watch too few.
 */
#ifndef RM_SCOPE_WATCH_H
#define RM_SCOPE_WATCH_H

#include <resmon/watch.h>

/** Nothing is known: all NaN. */
resmon_watched rm_watched_nothing(void);

#endif
