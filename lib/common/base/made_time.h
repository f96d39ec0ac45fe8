/* SPDX-License-Identifier: MIT */
/*
 * Owns time that is made: in test builds (RM_FAULT_INJECTION) every clock of base/clock and every
 * wait of base/condition follows it, once a test has begun it; other builds compile it to nothing.
 *
 * It passes by itself only while nobody works: when the thread that began it and all threads of the
 * library wait, it is the earliest of their deadlines.  So a day of a monitor takes as long as its
 * work, and comes out the same on every machine.  Who waits in another way (for a file, a lock, a
 * server) works, and time stands.
 */
#ifndef RM_BASE_MADE_TIME_H
#define RM_BASE_MADE_TIME_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "base/compiler.h"

#ifdef RM_FAULT_INJECTION

/** Begins, at `now_ns`, with the calling thread, which has worked for a second so far; none of the
 * library's may run. */
void rm_made_time_begin(int64_t now_ns);

/** The kernel's time again, when the library's threads have ended. */
void rm_made_time_end(void);

/** The machine stands still for so long, and nobody sees it but by CLOCK_MONOTONIC and the wall
 * clock: a pause by its host, another program's turn. */
void rm_made_time_pass(int64_t ns);

/** The calling thread works for so long. */
void rm_made_time_work(int64_t ns);

/** The wall clock alone moves: it is set, or the machine was suspended. */
void rm_made_time_set_wall(int64_t change_ns);

/** From now on a look at a clock of CPU time is such work. */
void rm_made_time_look_costs(int64_t ns);

/* ---- for base --------------------------------------------------------------------------- */

RM_SHARED extern bool rm_made_time_is_on; /* atomic */

RM_SHARED int64_t rm_made_time_ns(clockid_t clock);

/** Waits until `*changes` is another than `mark`, or until `until_ns`. */
void rm_made_time_wait(const uint32_t *changes, uint32_t mark, int64_t until_ns);

/** Some `*changes` has changed. */
void rm_made_time_tell(void);

/** A thread is to begin or goes on, +1; or it ends, or another works in its place, -1. */
void rm_made_time_count(int change);

#define RM_TIME_IS_MADE() __atomic_load_n(&rm_made_time_is_on, __ATOMIC_ACQUIRE)

#else

#define RM_TIME_IS_MADE()                          (false)
#define rm_made_time_ns(clock)                     (INT64_C(0))
#define rm_made_time_wait(changes, mark, until_ns) ((void)0)
#define rm_made_time_tell()                        ((void)0)
#define rm_made_time_count(change)                 ((void)0)

#endif

#endif
