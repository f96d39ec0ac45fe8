/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* syscall */
#include "base/clock.h"

#include <pthread.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>
#endif

#include "base/compiler.h"

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

/* ---- made time ---------------------------------------------------------------------------- */

#ifdef RM_FAULT_INJECTION

struct waiter {
    const uint32_t *changes;
    uint32_t mark;
    int64_t until_ns;
    struct waiter *next;
};

bool rm_made_time_is_on;

static struct {
    pthread_mutex_t lock;
    pthread_cond_t moment; /* signalled at each change */
    struct waiter *waiters;
    int threads; /* the test's, and all of the library */
    int64_t monotonic_ns, wall_ns, process_ns, look_ns;
} made = {.lock = PTHREAD_MUTEX_INITIALIZER, .moment = PTHREAD_COND_INITIALIZER};

/* CPU time of the calling thread.  Clocks of other threads and processes read as that of this
 * process. */
static RM_THREAD_LOCAL int64_t own_ns;

static void lock(void)
{
    (void)pthread_mutex_lock(&made.lock);
}

static void unlock_and_wake(void)
{
    (void)pthread_cond_broadcast(&made.moment);
    (void)pthread_mutex_unlock(&made.lock);
}

void rm_made_time_begin(int64_t now_ns)
{
    lock();
    made.monotonic_ns = made.wall_ns = now_ns;
    made.process_ns = own_ns = 1000000000;
    made.look_ns = 0;
    made.threads = 1;
    made.waiters = NULL;
    __atomic_store_n(&rm_made_time_is_on, true, __ATOMIC_RELEASE);
    unlock_and_wake();
}

static void pass(int64_t ns)
{
    made.monotonic_ns += ns;
    made.wall_ns += ns;
}

void rm_made_time_pass(int64_t ns)
{
    lock();
    pass(ns);
    unlock_and_wake();
}

static void work(int64_t ns)
{
    pass(ns);
    made.process_ns += ns;
    own_ns += ns;
}

void rm_made_time_work(int64_t ns)
{
    lock();
    work(ns);
    unlock_and_wake();
}

void rm_made_time_set_wall(int64_t change_ns)
{
    lock();
    made.wall_ns += change_ns;
    unlock_and_wake();
}

void rm_made_time_look_costs(int64_t ns)
{
    lock();
    made.look_ns = ns;
    unlock_and_wake();
}

int64_t rm_made_time_ns(clockid_t clock)
{
    lock();
    int64_t ns = made.monotonic_ns;
    if (clock == CLOCK_REALTIME) {
        ns = made.wall_ns;
    } else if (clock != CLOCK_MONOTONIC) {
        work(made.look_ns);
        ns = clock == CLOCK_THREAD_CPUTIME_ID ? own_ns : made.process_ns;
    }
    unlock_and_wake();
    return ns;
}

static bool is_over(const struct waiter *waiter)
{
    return __atomic_load_n(waiter->changes, __ATOMIC_SEQ_CST) != waiter->mark ||
           made.monotonic_ns >= waiter->until_ns;
}

/* Advances to the earliest deadline, when no thread works. */
static bool let_pass(void)
{
    int waiting = 0;
    int64_t next_ns = INT64_MAX;
    for (const struct waiter *waiter = made.waiters; waiter != NULL; waiter = waiter->next) {
        waiting += is_over(waiter) ? 0 : 1;
        next_ns = waiter->until_ns < next_ns ? waiter->until_ns : next_ns;
    }
    if (waiting < made.threads) {
        return false;
    }
    if (next_ns == INT64_MAX) {
        __builtin_trap(); /* a deadlock, which a debugger shows */
    }
    pass(next_ns - made.monotonic_ns);
    return true;
}

static void wait_on(void)
{
    if (let_pass()) {
        (void)pthread_cond_broadcast(&made.moment);
    } else {
        (void)pthread_cond_wait(&made.moment, &made.lock);
    }
}

void rm_made_time_end(void)
{
    lock();
    const uint32_t nothing = 0;
    struct waiter self = {&nothing, 0, INT64_MAX, made.waiters};
    made.waiters = &self;
    while (made.threads > 1) {
        wait_on();
    }
    made.waiters = NULL;
    __atomic_store_n(&rm_made_time_is_on, false, __ATOMIC_RELEASE);
    unlock_and_wake();
}

void rm_made_time_wait(const uint32_t *changes, uint32_t mark, int64_t until_ns)
{
    lock();
    struct waiter self = {changes, mark, until_ns, made.waiters};
    made.waiters = &self;
    while (!is_over(&self)) {
        wait_on();
    }
    struct waiter **place = &made.waiters;
    while (*place != &self) {
        place = &(*place)->next;
    }
    *place = self.next;
    unlock_and_wake();
}

void rm_made_time_tell(void)
{
    lock();
    unlock_and_wake();
}

void rm_made_time_count(int change)
{
    lock();
    made.threads += change;
    unlock_and_wake();
}

#endif

/* ---- deadlines ---------------------------------------------------------------------------- */

static RM_THREAD_LOCAL const int64_t *followed;

void rm_deadline_follow(const int64_t *deadline_ns)
{
    followed = deadline_ns;
}

int64_t rm_deadline_ns(void)
{
    return followed != NULL ? RM_LOAD(followed) : RM_DEADLINE_NONE;
}
