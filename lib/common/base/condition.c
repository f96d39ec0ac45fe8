/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* syscall */
#include "base/condition.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"

/* As SYS_futex has it, whatever the width of time_t in the C library. */
struct kernel_timespec {
    long tv_sec;
    long tv_nsec;
};

/* errno stays the program's, whose threads wait here too. */
static void futex(uint32_t *word, int operation, uint32_t value, const struct kernel_timespec *left)
{
    int error = errno;
    (void)syscall(SYS_futex, word, operation, value, left, NULL, 0);
    errno = error;
}

/*
 * Happens-before: what was changed is changed before the count is, and the count is read (the mark)
 * before what may have changed.  Of "one more change" and "one more waiter", both sequentially
 * consistent, either side sees the other's: so nobody sleeps over a change.
 */
void rm_condition_signal(struct rm_condition *condition)
{
    (void)__atomic_add_fetch(&condition->changes, 1, __ATOMIC_SEQ_CST);
    if (RM_TIME_IS_MADE()) {
        rm_made_time_tell();
    }
    if (__atomic_load_n(&condition->waiters, __ATOMIC_SEQ_CST) > 0) {
        futex(&condition->changes, FUTEX_WAKE_PRIVATE, INT_MAX, NULL);
    }
}

uint32_t rm_condition_mark(const struct rm_condition *condition)
{
    return __atomic_load_n(&condition->changes, __ATOMIC_SEQ_CST);
}

static struct kernel_timespec what_is_left(int64_t until_ns)
{
    int64_t left_ns = until_ns - rm_clock_monotonic_ns();
    left_ns = left_ns > 0 ? left_ns : 0;
    int64_t left_s = left_ns / RM_NS_PER_S;
    return (struct kernel_timespec){left_s < INT_MAX ? (long)left_s : INT_MAX,
                                    (long)(left_ns % RM_NS_PER_S)};
}

void rm_condition_wait_past(struct rm_condition *condition, uint32_t mark, int64_t until_ns)
{
    if (RM_TIME_IS_MADE()) {
        rm_made_time_wait(&condition->changes, mark, until_ns);
        return;
    }
    const struct kernel_timespec left = what_is_left(until_ns);
    bool is_bounded = until_ns != RM_WAIT_FOR_EVER;
    (void)__atomic_add_fetch(&condition->waiters, 1, __ATOMIC_SEQ_CST);
    if (!is_bounded || left.tv_sec > 0 || left.tv_nsec > 0) {
        futex(&condition->changes, FUTEX_WAIT_PRIVATE, mark, is_bounded ? &left : NULL);
    }
    (void)__atomic_sub_fetch(&condition->waiters, 1, __ATOMIC_SEQ_CST);
}

void rm_condition_nap(int64_t ns)
{
    struct rm_condition nothing = {0};
    rm_condition_wait_past(&nothing, 0, rm_clock_monotonic_ns() + ns);
}

bool rm_condition_wait(struct rm_condition *condition, pthread_mutex_t *lock, int64_t until_ns)
{
    uint32_t mark = rm_condition_mark(condition);
    (void)pthread_mutex_unlock(lock);
    rm_condition_wait_past(condition, mark, until_ns);
    (void)pthread_mutex_lock(lock);
    return until_ns == RM_WAIT_FOR_EVER || rm_clock_monotonic_ns() < until_ns;
}
