/* SPDX-License-Identifier: MIT */
#include "base/made_time.h"

#ifdef RM_FAULT_INJECTION

#include <pthread.h>
#include <stddef.h>

#include "base/compiler.h"

struct waiter {
    const uint32_t *changes;
    uint32_t mark;
    int64_t until_ns;
    struct waiter *next;
};

bool rm_made_time_is_on;

static struct {
    pthread_mutex_t lock;
    pthread_cond_t moment; /* signalled when something is another than it was */
    struct waiter *waiters;
    int threads; /* that may wait: the test's, and the library's */
    int64_t monotonic_ns, wall_ns, process_ns, look_ns;
} made = {.lock = PTHREAD_MUTEX_INITIALIZER, .moment = PTHREAD_COND_INITIALIZER};

/* CPU time of the thread.  Other threads' and processes' are as that of this process. */
static RM_THREAD_LOCAL int64_t own_ns;

static void lock(void)
{
    (void)pthread_mutex_lock(&made.lock);
}

static void unlock_and_tell(void)
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
    unlock_and_tell();
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
    unlock_and_tell();
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
    unlock_and_tell();
}

void rm_made_time_set_wall(int64_t change_ns)
{
    lock();
    made.wall_ns += change_ns;
    unlock_and_tell();
}

void rm_made_time_look_costs(int64_t ns)
{
    lock();
    made.look_ns = ns;
    unlock_and_tell();
}

/* ---- for base --------------------------------------------------------------------------- */

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
    unlock_and_tell();
    return ns;
}

static bool is_over(const struct waiter *waiter)
{
    return __atomic_load_n(waiter->changes, __ATOMIC_SEQ_CST) != waiter->mark ||
           made.monotonic_ns >= waiter->until_ns;
}

/* When nobody works, until the earliest deadline. */
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
        __builtin_trap(); /* all wait for ever, and a debugger shows for what */
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
    unlock_and_tell();
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
    unlock_and_tell();
}

void rm_made_time_tell(void)
{
    lock();
    unlock_and_tell();
}

void rm_made_time_count(int change)
{
    lock();
    made.threads += change;
    unlock_and_tell();
}

#endif
