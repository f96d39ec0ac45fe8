/* SPDX-License-Identifier: MIT */
/*
 * Owns threads of the library: each is named, has all signals blocked and a stack of known size;
 * work on such a stack instead of the caller's; the id and name of the calling thread; and waiting
 * for another thread.
 */
#ifndef RM_BASE_THREAD_H
#define RM_BASE_THREAD_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include <resmon/status.h>

#include "base/compiler.h"

enum rm_thread_stack {
    RM_STACK_SMALL,     /* 256 KiB: for our own code */
    RM_STACK_LIBRARIES, /* 1 MiB: for libraries, as of JSON and HTTP */
    RM_STACK_OF_PROGRAM /* as the program's own threads have, at least 1 MiB: for its callbacks */
};

/* What a thread runs. */
struct rm_thread_work {
    const char *name; /* at most 15 bytes */
    enum rm_thread_stack stack;
    void *(*run)(void *);
    void *context;
};

/** Starts a thread that no signal of the host program can reach. */
resmon_status rm_thread_start(pthread_t *ret_thread, const struct rm_thread_work *work);

/**
 * Runs `work` on a thread of ours with a stack of RM_STACK_LIBRARIES, and waits: the caller's stack
 * may be very small.  Returns its status, with the text of its error.  If no thread can be started,
 * `work` runs on the caller's stack if that has 64 KiB left; else RESMON_EBUSY, and nothing was
 * done.  A thread of ours runs `work` itself.  errno stays.
 */
RM_SHARED resmon_status rm_thread_call(resmon_status (*work)(void *context), void *context);

/** As rm_thread_call(), but a thread of ours, too, hands the work to another one and waits. */
RM_SHARED resmon_status rm_thread_call_apart(resmon_status (*work)(void *context), void *context);

/** Bytes of the calling thread's stack that are left; 0: not known, as on an alternate stack of
 * signals.  Reads /proc on the main thread. */
size_t rm_thread_stack_left(void);

/** How many such threads the kernel counts in the process: a joined one, too, until the kernel has
 * removed it.  And the number of changes of that: if it is the same before and after a reading of
 * something else, the count was right during the reading. */
uint64_t rm_thread_count(uint64_t *ret_changes);

/** Whether thread `id` is one of these, or may be, as one is just being started.  Any thread. */
bool rm_thread_may_be_ours(uint32_t id);

/** The calling thread's id and name.  Async-signal-safe. */
uint32_t rm_thread_id(void);

/** Asks for a short time slice for the calling thread, which works little and should run soon after
 * it is woken, also where another thread has the CPU (sched(7); Linux 6.12 and later). */
void rm_thread_run_soon(void);

/** The clock of this thread's CPU time, for other threads of the process to read. */
clockid_t rm_thread_cpu_clock(void);

/** The clock of the CPU time of thread `id` of this process. */
clockid_t rm_thread_cpu_clock_of(uint32_t id);
void rm_thread_name(char name[16]);

/* ---- waiting ----------------------------------------------------------------------------- */

/*
 * Waiting for another thread, with a deadline on CLOCK_MONOTONIC or without one.
 *
 * On the kernel's futex, and not on pthread_cond_timedwait() and sem_clockwait(): libraries that
 * shift a program's clock (libfaketime) replace these, and take every deadline for one of the wall
 * clock.  After a jump of that clock they return at once, for ever.  The kernel gets timeouts as
 * the remaining time, so that no clock is compared with another.
 */

#define RM_WAIT_FOR_EVER INT64_MAX

/* Zeroed: no thread waits.  Needs no destruction. */
struct rm_condition {
    uint32_t changes; /* atomic */
    uint32_t waiters; /* atomic */
};

/** Wakes all waiting threads after a change.  Any thread, with or without their lock. */
void rm_condition_signal(struct rm_condition *condition);

/** To be read before the state that may change. */
uint32_t rm_condition_mark(const struct rm_condition *condition);

/** Waits for a signal after `mark` was read, or until `until_ns`; may return early.  No
 * cancellation point. */
void rm_condition_wait_past(struct rm_condition *condition, uint32_t mark, int64_t until_ns);

/** Sleeps for `ns`; may return early. */
RM_SHARED void rm_condition_nap(int64_t ns);

/** Waits for a change of the state that `lock` guards, with the lock released meanwhile.  False:
 * `until_ns` has passed. */
bool rm_condition_wait(struct rm_condition *condition, pthread_mutex_t *lock, int64_t until_ns);

#endif
