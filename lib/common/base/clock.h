/* SPDX-License-Identifier: MIT */
/*
 * Owns time: CLOCK_MONOTONIC nanoseconds, wall-clock nanoseconds, and ticks - the cheap clock of
 * scopes, which is the CPU's counter where os/clocksource trusts it, and CLOCK_MONOTONIC elsewhere.
 * Decoding converts ticks to nanoseconds through two (ticks, ns) pairs of the same run.  Also the
 * fake clock of tests, and the deadline of a thread.
 */
#ifndef RM_BASE_CLOCK_H
#define RM_BASE_CLOCK_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "base/compiler.h"

/* ---- made time --------------------------------------------------------------------------- */

/*
 * A fake clock: in test builds (RM_FAULT_INJECTION), every clock here and every wait of
 * rm_condition follows it once a test has begun it; other builds compile it to nothing.
 *
 * It advances only when no thread works: when the thread that began it and all threads of the
 * library wait, it jumps to the earliest of their deadlines.  So a day of a monitor takes as long
 * as its work, and has the same result on every machine.  A thread that waits in another way (for a
 * file, a lock, a server) counts as working, and the clock does not advance.
 */

#ifdef RM_FAULT_INJECTION

/** Begins at `now_ns`, with the calling thread, which has used 1 s of CPU time so far.  No thread
 * of the library may run. */
void rm_made_time_begin(int64_t now_ns);

/** Waits until the library's threads have ended, and goes back to the kernel's time. */
void rm_made_time_end(void);

/** The machine pauses (its host, another program): only CLOCK_MONOTONIC and the wall clock go on.
 */
void rm_made_time_pass(int64_t ns);

/** The calling thread works for so long. */
void rm_made_time_work(int64_t ns);

/** The wall clock alone moves: it is set, or the machine was suspended. */
void rm_made_time_set_wall(int64_t change_ns);

/** From now on, each reading of a clock of CPU time is such work. */
void rm_made_time_look_costs(int64_t ns);

/* For base. */

RM_SHARED extern bool rm_made_time_is_on; /* atomic */

RM_SHARED int64_t rm_made_time_ns(clockid_t clock);

/** Waits until `*changes` differs from `mark`, or until `until_ns`. */
void rm_made_time_wait(const uint32_t *changes, uint32_t mark, int64_t until_ns);

/** Wakes the waiting threads: some `*changes` has changed. */
void rm_made_time_tell(void);

/** +1: a thread begins or goes on; -1: it ends, or another one works in its place. */
void rm_made_time_count(int change);

#define RM_TIME_IS_MADE() __atomic_load_n(&rm_made_time_is_on, __ATOMIC_ACQUIRE)

#else

#define RM_TIME_IS_MADE()                          (false)
#define rm_made_time_ns(clock)                     (INT64_C(0))
#define rm_made_time_wait(changes, mark, until_ns) ((void)0)
#define rm_made_time_tell()                        ((void)0)
#define rm_made_time_count(change)                 ((void)0)

#endif

/* ---- clocks ------------------------------------------------------------------------------ */

#define RM_NS_PER_S  INT64_C(1000000000)
#define RM_NS_PER_MS INT64_C(1000000)

/* Set once, before the first scope session; only ever read afterwards. */
extern bool rm_clock_has_counter;

static inline int64_t rm_clock_of_time(clockid_t clock)
{
    struct timespec now = {0, 0};
    if (RM_TIME_IS_MADE()) {
        return rm_made_time_ns(clock);
    }
    (void)clock_gettime(clock, &now);
    return (int64_t)now.tv_sec * RM_NS_PER_S + now.tv_nsec;
}

static inline int64_t rm_clock_monotonic_ns(void)
{
    return rm_clock_of_time(CLOCK_MONOTONIC);
}

static inline int64_t rm_clock_realtime_ns(void)
{
    return rm_clock_of_time(CLOCK_REALTIME);
}

/**
 * Reads a clock of CPU time (CLOCK_THREAD_CPUTIME_ID, or of a thread or process): false when the
 * clock does not exist any more.  By the system call that clock_gettime() makes for these clocks:
 * a library that replaces clock_gettime() to shift time (libfaketime) would shift CPU time, too.
 */
bool rm_clock_read_cpu(clockid_t clock, int64_t *ret_ns);

/** CPU time of a clock, in ns; 0 when the clock does not exist any more. */
static inline int64_t rm_clock_cpu_ns(clockid_t clock)
{
    int64_t ns = 0;
    (void)rm_clock_read_cpu(clock, &ns);
    return ns;
}

/** The clock of a process's CPU time (CPUCLOCK_SCHED), by the number of the process and without the
 * system call of clock_getcpuclockid(3).  It can be read until the process has been reaped. */
static inline clockid_t rm_clock_of_process(uint32_t pid)
{
    return (clockid_t)(~pid << 3 | 2U);
}

/** The CPU's cycle-like counter; meaningful only where rm_clock_has_counter. */
static inline uint64_t rm_clock_counter(void)
{
#if defined(__x86_64__) || defined(__i386__)
    return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
    uint64_t value;
    __asm__ volatile("mrs %0, cntvct_el0" : "=r"(value));
    return value;
#else
    return (uint64_t)rm_clock_monotonic_ns();
#endif
}

/** Whether ticks are the CPU's; else they are nanoseconds. */
static inline bool rm_clock_ticks_by_counter(void)
{
    return RM_LIKELY(RM_LOAD(&rm_clock_has_counter)) && !RM_TIME_IS_MADE();
}

static inline uint64_t rm_clock_ticks(void)
{
    return rm_clock_ticks_by_counter() ? rm_clock_counter() : (uint64_t)rm_clock_monotonic_ns();
}

/** Whether this CPU's counter is constant and never stops (CPUID 0x80000007 EDX bit 8; always on
 * ARM64).  os/clocksource checks whether the kernel trusts it, too. */
bool rm_clock_cpu_has_constant_counter(void);

/** One moment, by both clocks. */
struct rm_clock_pair {
    uint64_t ticks;
    int64_t ns; /* CLOCK_MONOTONIC */
};

/** Reads both clocks as close together as possible (best of a few tries, about 20 ns apart). */
struct rm_clock_pair rm_clock_read_pair(void);

/** Nanoseconds per tick between two moments; 1.0 where ticks are nanoseconds or no time passed. */
double rm_clock_ns_per_tick(struct rm_clock_pair from, struct rm_clock_pair to);

/* ---- deadlines --------------------------------------------------------------------------- */

/*
 * How much time a thread of the library has left.  The engine sets a deadline when a monitor stops;
 * work that waits for others (net/http, for one) reads it, and gives up or saves its work in time.
 */

#define RM_DEADLINE_NONE INT64_MAX

/** From now on, the deadline of this thread is the value (atomic) at `deadline_ns`. */
void rm_deadline_follow(const int64_t *deadline_ns);

/** This thread's deadline (CLOCK_MONOTONIC), or RM_DEADLINE_NONE. */
int64_t rm_deadline_ns(void);

#endif
