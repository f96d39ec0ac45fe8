/* SPDX-License-Identifier: MIT */
/*
 * Owns how much time a thread of the library has left.  The engine sets it when a monitor stops;
 * work that waits for others (net/http, for one) asks, and gives up or puts its work away in time.
 */
#ifndef RM_BASE_DEADLINE_H
#define RM_BASE_DEADLINE_H

#include <stdint.h>

#define RM_DEADLINE_NONE INT64_MAX

/** From now on this thread's deadline is what is stored (atomically) at `deadline_ns`. */
void rm_deadline_follow(const int64_t *deadline_ns);

/** This thread's deadline (CLOCK_MONOTONIC), or RM_DEADLINE_NONE. */
int64_t rm_deadline_ns(void);

#endif
