/* SPDX-License-Identifier: MIT */
/*
 * Owns time: CLOCK_MONOTONIC nanoseconds, wall-clock nanoseconds, and ticks - the cheap clock of
 * scopes, which is the CPU's counter where sys/ found it trustworthy and CLOCK_MONOTONIC elsewhere.
 * Ticks become nanoseconds when read out, through two (ticks, ns) pairs of the same run.
 */
#ifndef RM_BASE_CLOCK_H
#define RM_BASE_CLOCK_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "base/compiler.h"
#include "base/made_time.h"

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
 * A clock of CPU time (CLOCK_THREAD_CPUTIME_ID, or a thread's or process's own): false when there
 * is no such one any more.  It asks the kernel, as clock_gettime() does for these in the end: where
 * that is replaced by a library that shifts time (libfaketime), CPU time would jump with it.
 */
bool rm_clock_read_cpu(clockid_t clock, int64_t *ret_ns);

/** CPU time of a clock, in ns; 0 when there is no such one any more. */
static inline int64_t rm_clock_cpu_ns(clockid_t clock)
{
    int64_t ns = 0;
    (void)rm_clock_read_cpu(clock, &ns);
    return ns;
}

/** The clock of a process's CPU time by its number (CPUCLOCK_SCHED), for which
 * clock_getcpuclockid(3) asks the kernel once more whether there is one.  It can be read until the
 * process has been waited for. */
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
 * ARM64).  The kernel's own trust in it is asked by os/clocksource. */
bool rm_clock_cpu_has_constant_counter(void);

/** One moment, seen by both clocks. */
struct rm_clock_pair {
    uint64_t ticks;
    int64_t ns; /* CLOCK_MONOTONIC */
};

/** Reads both clocks as close together as possible (best of a few tries, about 20 ns apart). */
struct rm_clock_pair rm_clock_read_pair(void);

/** Nanoseconds per tick between two moments; 1.0 where ticks are nanoseconds or no time passed. */
double rm_clock_ns_per_tick(struct rm_clock_pair from, struct rm_clock_pair to);

#endif
