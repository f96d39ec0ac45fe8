/* SPDX-License-Identifier: MIT */
/*
 * base/fork: parts are done in one order, whole ones only, and a lock that is held over a fork is
 * free in both processes, also where a signal handler forks while its own thread has it.
 */
#include "test.h"

#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/fork.h"

/* The library's own parts of these places are not taken here. */
#define FIRST  RM_FORK_COUNTERS
#define SECOND RM_FORK_CLOCKS
#define THIRD  RM_FORK_LEADER
#define LATE   RM_FORK_HTTP
#define LOCKED RM_FORK_STDERR

static char order[32]; /* upper case: before; lower case: after */
static void (*also_before)(void);

static void note(char c)
{
    size_t length = strlen(order);
    if (length + 1 < sizeof order) {
        order[length] = c;
    }
}

static void before_first(void)
{
    note('A');
    if (also_before != NULL) {
        also_before();
    }
}

static void after_first(void)
{
    note('a');
}

static void before_third(void)
{
    note('C');
}

static void after_third(void)
{
    note('c');
}

static void ignored(void)
{
    note('!');
}

/* Forks; the child ends with what `check` says of it. */
static void fork_and_check(bool (*check)(void))
{
    memset(order, 0, sizeof order);
    pid_t child = fork();
    if (child == 0) {
        (void)alarm(20);
        _exit(check() ? 0 : 1);
    }
    assert_true(child > 0);
    assert_exits(child, 0);
}

static bool child_has_the_order(void)
{
    return strcmp(order, "ACac") == 0;
}

TEST(parts_have_one_order)
{
    static const struct rm_fork_part third = {before_third, after_third, after_third};
    static const struct rm_fork_part second = {NULL, NULL, NULL};
    static const struct rm_fork_part first = {before_first, after_first, after_first};
    static const struct rm_fork_part again = {ignored, ignored, ignored};
    rm_fork_take_part(THIRD, &third);
    rm_fork_take_part(SECOND, &second);
    rm_fork_take_part(FIRST, &first);
    rm_fork_take_part(FIRST, &again);
    fork_and_check(child_has_the_order);
    assert_string_equal(order, "ACca");
}

static uint32_t forks_of_parent;

static bool child_is_one_fork_on(void)
{
    return rm_forks() == forks_of_parent + 1;
}

TEST(forks_are_counted)
{
    rm_fork_watch();
    forks_of_parent = rm_forks();
    fork_and_check(child_is_one_fork_on);
    assert_int_equal(rm_forks(), forks_of_parent);
}

/* ---- a part that comes while a fork is under way ---------------------------------------- */

static sem_t fork_is_under_way, is_taken;
static int late_before, late_after;

static void count_before(void)
{
    late_before++;
}

static void count_after(void)
{
    late_after++;
}

static void *take_part_late(void *unused)
{
    static const struct rm_fork_part late = {count_before, count_after, count_after};
    (void)unused;
    (void)sem_wait(&fork_is_under_way);
    rm_fork_take_part(LATE, &late);
    (void)sem_post(&is_taken);
    return NULL;
}

/* Gives the other thread time to do the wrong thing. */
static void let_the_other_in(void)
{
    struct timespec until;
    (void)clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += 50000000;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    (void)sem_post(&fork_is_under_way);
    (void)sem_timedwait(&is_taken, &until);
}

static bool late_is_whole(void)
{
    return late_before == late_after;
}

TEST(a_part_takes_part_in_all_of_a_fork)
{
    pthread_t thread;
    assert_int_equal(sem_init(&fork_is_under_way, 0, 0), 0);
    assert_int_equal(sem_init(&is_taken, 0, 0), 0);
    assert_int_equal(pthread_create(&thread, NULL, take_part_late, NULL), 0);
    also_before = let_the_other_in;
    fork_and_check(late_is_whole);
    also_before = NULL;
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(late_before, late_after);
    fork_and_check(late_is_whole);
    assert_int_equal(late_before, 1);
    assert_int_equal(late_after, 1);
}

/* ---- locks ------------------------------------------------------------------------------ */

static struct rm_fork_lock lock = RM_FORK_LOCK_INITIALIZER;
static bool child_is_whole;

static void hold(void)
{
    rm_fork_lock_hold(&lock);
}

static void release(void)
{
    rm_fork_lock_release(&lock);
}

static void renew(void)
{
    child_is_whole = rm_fork_lock_renew(&lock);
}

static const struct rm_fork_part locked = {hold, release, renew};

static bool lock_is_free(void)
{
    bool is_free = pthread_mutex_trylock(&lock.lock.mutex) == 0;
    if (is_free) {
        (void)pthread_mutex_unlock(&lock.lock.mutex);
    }
    return is_free;
}

static bool child_has_what_is_whole(void)
{
    return child_is_whole && lock_is_free();
}

static bool child_has_what_is_torn(void)
{
    return !child_is_whole && lock_is_free();
}

static void fork_in_handler(int number)
{
    (void)number;
    fork_and_check(child_has_what_is_torn);
}

TEST(a_handler_forks_while_its_thread_has_the_lock)
{
    struct sigaction action, before;
    memset(&action, 0, sizeof action);
    action.sa_handler = fork_in_handler;
    assert_int_equal(sigaction(SIGUSR1, &action, &before), 0);
    rm_fork_take_part(LOCKED, &locked);
    fork_and_check(child_has_what_is_whole);
    assert_true(lock_is_free());
    rm_fork_lock(&lock);
    assert_int_equal(raise(SIGUSR1), 0);
    assert_false(lock_is_free());
    rm_fork_unlock(&lock);
    assert_true(lock_is_free());
    assert_int_equal(sigaction(SIGUSR1, &before, NULL), 0);
}

static volatile sig_atomic_t handled;

static void count_signal(int number)
{
    (void)number;
    handled = handled + 1;
}

static int handled_before;

static void raise_before(void)
{
    (void)raise(SIGUSR2);
    handled_before = handled;
}

static bool signals_are_let_in(void)
{
    sigset_t blocked;
    return pthread_sigmask(SIG_SETMASK, NULL, &blocked) == 0 &&
           sigismember(&blocked, SIGUSR2) == 0 && sigismember(&blocked, SIGTERM) == 1;
}

/* What it came to while locks are held waits, and what the program has blocked stays so. */
TEST(signals_wait_for_the_fork)
{
    struct sigaction action, before;
    sigset_t terminate;
    memset(&action, 0, sizeof action);
    action.sa_handler = count_signal;
    assert_int_equal(sigaction(SIGUSR2, &action, &before), 0);
    (void)sigemptyset(&terminate);
    (void)sigaddset(&terminate, SIGTERM);
    assert_int_equal(pthread_sigmask(SIG_BLOCK, &terminate, NULL), 0);
    also_before = raise_before;
    fork_and_check(signals_are_let_in);
    also_before = NULL;
    assert_int_equal(handled_before, 0);
    assert_int_equal(handled, 1);
    assert_true(signals_are_let_in());
    assert_int_equal(pthread_sigmask(SIG_UNBLOCK, &terminate, NULL), 0);
    assert_int_equal(sigaction(SIGUSR2, &before, NULL), 0);
}

static bool is_over; /* atomic */

static void *take_and_give(void *unused)
{
    while (!__atomic_load_n(&is_over, __ATOMIC_RELAXED)) {
        rm_fork_lock(&lock);
        rm_fork_unlock(&lock);
    }
    return unused;
}

static void *fork_often(void *ret_failures)
{
    int *failures = ret_failures;
    for (int i = 0; i < 50; i++) {
        int status = -1;
        pid_t child = fork();
        if (child == 0) {
            (void)alarm(20);
            _exit(child_has_what_is_whole() ? 0 : 1);
        }
        *failures += child <= 0 || waitpid(child, &status, 0) != child || status != 0;
    }
    return NULL;
}

TEST(threads_fork_at_once)
{
    pthread_t worker, forkers[2];
    int failures[2] = {0, 0};
    assert_int_equal(pthread_create(&worker, NULL, take_and_give, NULL), 0);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(pthread_create(&forkers[i], NULL, fork_often, &failures[i]), 0);
    }
    for (int i = 0; i < 2; i++) {
        assert_int_equal(pthread_join(forkers[i], NULL), 0);
        assert_int_equal(failures[i], 0);
    }
    __atomic_store_n(&is_over, true, __ATOMIC_RELAXED);
    assert_int_equal(pthread_join(worker, NULL), 0);
}

FIXTURE(set_up)
{
    (void)alarm(120); /* a lock that is not given back */
    return 0;
}

TEST_FILE(.set_up = set_up);
