/* SPDX-License-Identifier: MIT */
/*
 * Waiting (base/thread): no change is slept over, and deadlines are kept; and a library that shifts
 * the program's wall clock (played here by functions of the same names) neither makes threads of
 * the library turn in circles nor adds its jump to CPU time.
 */
#define _GNU_SOURCE /* syscall */
#include "test.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <resmon/resmon.h>

#include "base/clock.h"
#include "base/thread.h"
#include "sanitizer.h"

/* ---- a library that shifts time --------------------------------------------------------- */

static int64_t jump_s;   /* atomic */
static uint64_t at_once; /* atomic: waits that returned at once */

static int no_wait(void)
{
    (void)__atomic_add_fetch(&at_once, 1, __ATOMIC_RELAXED);
    return ETIMEDOUT;
}

int pthread_cond_timedwait(pthread_cond_t *cond, pthread_mutex_t *lock,
                           const struct timespec *until)
{
    (void)cond, (void)lock, (void)until;
    return no_wait();
}

int sem_clockwait(sem_t *semaphore, clockid_t clock, const struct timespec *until);
int sem_clockwait(sem_t *semaphore, clockid_t clock, const struct timespec *until)
{
    (void)semaphore, (void)clock, (void)until;
    errno = no_wait();
    return -1;
}

int sem_timedwait(sem_t *semaphore, const struct timespec *until)
{
    return sem_clockwait(semaphore, CLOCK_REALTIME, until);
}

int clock_nanosleep(clockid_t clock, int flags, const struct timespec *until, struct timespec *left)
{
    (void)clock, (void)flags, (void)until, (void)left;
    (void)no_wait();
    return 0;
}

/* All clocks but that of CLOCK_MONOTONIC jump. */
int clock_gettime(clockid_t clock, struct timespec *ret_now)
{
    long now[2];
    if (syscall(SYS_clock_gettime, clock, now) != 0) {
        return -1;
    }
    ret_now->tv_sec = now[0];
    ret_now->tv_nsec = now[1];
    if (clock != CLOCK_MONOTONIC) {
        ret_now->tv_sec += (time_t)__atomic_load_n(&jump_s, __ATOMIC_RELAXED);
    }
    return 0;
}

static resmon_status take_rows(void *context, const resmon_rows *rows)
{
    (void)context, (void)rows;
    return RESMON_OK;
}

static resmon_status take_snapshot(void *context, const resmon_run *run)
{
    (void)context, (void)run;
    return RESMON_OK;
}

static void check_jump(int64_t seconds)
{
    const resmon_monitor_options options = {.struct_size = sizeof options, .interval_ms = 5};
    const resmon_sink_ops ops = {.struct_size = sizeof ops,
                                 .rows = take_rows,
                                 .snapshot = take_snapshot,
                                 .snapshot_interval_ms = 1000};
    resmon_monitor *monitor;
    resmon_run *run;
    __atomic_store_n(&jump_s, 0, __ATOMIC_RELAXED);
    __atomic_store_n(&at_once, 0, __ATOMIC_RELAXED);
    assert_ok(resmon_monitor_new(&options, &monitor));
    assert_ok(resmon_monitor_add_sink(monitor, &ops, NULL));
    assert_ok(resmon_monitor_start(monitor));
    assert_ok(resmon_monitor_sample_now(monitor));
    __atomic_store_n(&jump_s, seconds, __ATOMIC_RELAXED);
    for (int i = 0; i < 5; i++) {
        assert_ok(resmon_monitor_sample_now(monitor));
    }
    assert_ok(resmon_monitor_stop(monitor));
    assert_ok(resmon_monitor_snapshot(monitor, &run));
    for (size_t c = 0; c < resmon_run_column_count(run); c++) {
        resmon_column column = {.struct_size = sizeof column};
        resmon_column statistics = {.struct_size = sizeof statistics};
        assert_ok(resmon_run_get_column(run, c, &column));
        assert_ok(resmon_run_get_column(run, c, &statistics));
        if (strstr(column.metric, ".cpu.time") != NULL && statistics.n > 0 &&
            statistics.last > 1000.0) {
            fail_msg("%s grew by %g s", column.metric, statistics.last);
        }
    }
    resmon_run_free(run);
    resmon_monitor_free(monitor);
    assert_int_equal(__atomic_load_n(&at_once, __ATOMIC_RELAXED), 0);
}

TEST(a_jump_of_the_wall_clock)
{
    if (HAS_THREAD_SANITIZER) {
        print_message("skipped: the sanitizer has functions of these names\n");
        skip();
    }
    check_jump(3600);
    check_jump(-3600);
}

/* ---- waiting ---------------------------------------------------------------------------- */

TEST(a_change_is_not_slept_over)
{
    struct rm_condition condition = {0};
    uint32_t mark = rm_condition_mark(&condition);
    errno = 77;
    rm_condition_signal(&condition);
    rm_condition_wait_past(&condition, mark, RM_WAIT_FOR_EVER);
    assert_int_equal(errno, 77);
}

TEST(deadlines)
{
    pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    struct rm_condition condition = {0};
    (void)pthread_mutex_lock(&lock);
    assert_false(rm_condition_wait(&condition, &lock, 0));
    assert_false(rm_condition_wait(&condition, &lock, -RM_NS_PER_S));
    int64_t until_ns = rm_clock_monotonic_ns() + RM_NS_PER_MS;
    errno = 77;
    while (rm_condition_wait(&condition, &lock, until_ns)) {
    }
    assert_true(rm_clock_monotonic_ns() >= until_ns);
    assert_int_equal(errno, 77);
    (void)pthread_mutex_unlock(&lock);
    assert_int_equal(condition.waiters, 0);
}

#define TURNS 20000

static struct {
    pthread_mutex_t lock;
    struct rm_condition changed;
    int turn;
} game = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Two in turns: one that is slept over would stop both. */
static void *play(void *context)
{
    const int *me = context;
    (void)pthread_mutex_lock(&game.lock);
    for (int i = 0; i < TURNS; i++) {
        while (game.turn % 2 != *me) {
            (void)rm_condition_wait(&game.changed, &game.lock, RM_WAIT_FOR_EVER);
        }
        game.turn++;
        rm_condition_signal(&game.changed);
    }
    (void)pthread_mutex_unlock(&game.lock);
    return NULL;
}

TEST(two_in_turns)
{
    static int numbers[] = {0, 1};
    pthread_t other;
    assert_int_equal(pthread_create(&other, NULL, play, &numbers[1]), 0);
    (void)play(&numbers[0]);
    assert_int_equal(pthread_join(other, NULL), 0);
    assert_int_equal(game.turn, 2 * TURNS);
}
