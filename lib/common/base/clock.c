/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* syscall */
#include "base/clock.h"

#include <sys/syscall.h>
#include <unistd.h>

#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>
#endif

bool rm_clock_has_counter;

bool rm_clock_cpu_has_constant_counter(void)
{
#if defined(__x86_64__) || defined(__i386__)
    unsigned eax, ebx, ecx, edx;
    return __get_cpuid(0x80000007U, &eax, &ebx, &ecx, &edx) != 0 && (edx & (1U << 8)) != 0;
#elif defined(__aarch64__)
    return true;
#else
    return false;
#endif
}

bool rm_clock_read_cpu(clockid_t clock, int64_t *ret_ns)
{
    struct kernel_timespec { /* as SYS_clock_gettime has it, whatever the width of time_t */
        long tv_sec;
        long tv_nsec;
    } now;
    if (RM_TIME_IS_MADE()) {
        *ret_ns = rm_made_time_ns(clock);
        return true;
    }
    if (syscall(SYS_clock_gettime, clock, &now) != 0) {
        return false;
    }
    *ret_ns = (int64_t)now.tv_sec * RM_NS_PER_S + now.tv_nsec;
    return true;
}

struct rm_clock_pair rm_clock_read_pair(void)
{
    struct rm_clock_pair best = {0, 0};
    uint64_t narrowest = UINT64_MAX;
    for (int i = 0; i < 5; i++) {
        uint64_t before = rm_clock_ticks();
        int64_t ns = rm_clock_monotonic_ns();
        uint64_t gap = rm_clock_ticks() - before;
        if (gap < narrowest) {
            narrowest = gap;
            best = (struct rm_clock_pair){before + gap / 2, ns};
        }
    }
    return best;
}

double rm_clock_ns_per_tick(struct rm_clock_pair from, struct rm_clock_pair to)
{
    if (to.ticks <= from.ticks || to.ns <= from.ns) {
        return 1.0;
    }
    /* Unsigned: a damaged recording may say anything. */
    return (double)((uint64_t)to.ns - (uint64_t)from.ns) / (double)(to.ticks - from.ticks);
}
