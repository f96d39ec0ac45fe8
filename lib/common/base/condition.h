/* SPDX-License-Identifier: MIT */
/*
 * Owns waiting for another thread, with a deadline on CLOCK_MONOTONIC or without one.
 *
 * On the kernel's futex, and not on pthread_cond_timedwait() and sem_clockwait(): libraries that
 * shift a program's clock (libfaketime) replace these, and take every deadline for one of the wall
 * clock.  After a jump of that clock they return at once, for ever.  Timeouts are handed to the
 * kernel as what is left, so that no clock is compared with another.
 */
#ifndef RM_BASE_CONDITION_H
#define RM_BASE_CONDITION_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/compiler.h"

#define RM_WAIT_FOR_EVER INT64_MAX

/* Zeroed: nobody waits.  Needs no end. */
struct rm_condition {
    uint32_t changes; /* atomic */
    uint32_t waiters; /* atomic */
};

/** Says that something has changed: to all who wait.  Any thread, with or without their lock. */
void rm_condition_signal(struct rm_condition *condition);

/** What is to be asked for before a look at what may have changed. */
uint32_t rm_condition_mark(const struct rm_condition *condition);

/** Waits until something has changed since `mark`, or until `until_ns`: look again.  No
 * cancellation point; may return early. */
void rm_condition_wait_past(struct rm_condition *condition, uint32_t mark, int64_t until_ns);

/** Lets so much time pass; may return early. */
RM_SHARED void rm_condition_nap(int64_t ns);

/** Waits for a change of what `lock` guards, and gives the lock back meanwhile.  False: it is
 * `until_ns`. */
bool rm_condition_wait(struct rm_condition *condition, pthread_mutex_t *lock, int64_t until_ns);

#endif
