/* SPDX-License-Identifier: MIT */
/*
 * Stacks at the highest rate of a program that does all that a signal handler can stumble over:
 * allocates, loads and unloads libraries, recurses deeply, starts threads by the hundred, forks,
 * runs on alternate stacks, blocks signals.  It must neither hang nor fall.  ThreadSanitizer puts
 * signals off to where it can take them, and watches what the handler touches.
 *
 * RESMON_STRESS_S: for how many seconds (default 6), and to the end of the round.
 */
#define _GNU_SOURCE /* sigaltstack, vfork */
#include "test.h"

#include <dlfcn.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <unistd.h>

#include "base/clock.h"
#include "stack/unwind.h"

static bool is_over; /* atomic */

static bool goes_on(void)
{
    return !__atomic_load_n(&is_over, __ATOMIC_RELAXED);
}

__attribute__((noinline)) static int descend(int depth)
{
    volatile char filler[64];
    filler[0] = (char)depth;
    return depth > 0 ? descend(depth - 1) + filler[0] : 0;
}

static void *work_a_little(void *unused)
{
    volatile unsigned sum = 0;
    for (unsigned i = 0; i < 300000; i++) {
        sum += i;
    }
    (void)sum;
    return unused;
}

static void *allocate(void *unused)
{
    for (unsigned round = 0; goes_on(); round++) {
        RESMON_SCOPE("allocate");
        char *blocks[64];
        for (unsigned i = 0; i < 64; i++) {
            size_t bytes = 100 + (round * 7919 + i * 104729) % 100000;
            blocks[i] = malloc(bytes);
            assert_non_null(blocks[i]);
            blocks[i][bytes / 2] = 1;
        }
        for (unsigned i = 0; i < 64; i++) {
            free(blocks[i]);
        }
    }
    return unused;
}

static void *load_libraries(void *unused)
{
    static const char *const names[] = {"libz.so.1", "libdw.so.1", "libpfm.so.4", "libresolv.so.2"};
    while (goes_on()) {
        for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
            void *library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
            (void)(library != NULL ? dlclose(library) : 0);
        }
    }
    return unused;
}

static void *recurse(void *unused)
{
    while (goes_on()) {
        (void)descend(5000);
    }
    return unused;
}

static void *start_threads(void *unused)
{
    while (goes_on()) {
        pthread_t threads[4];
        for (int i = 0; i < 4; i++) {
            assert_int_equal(pthread_create(&threads[i], NULL, work_a_little, NULL), 0);
        }
        for (int i = 0; i < 4; i++) {
            (void)pthread_join(threads[i], NULL);
        }
    }
    return unused;
}

static void *fork_children(void *unused)
{
    static int round; /* of one thread; not on the stack that a vfork shares */
    for (round = 0; goes_on(); round++) {
        pid_t child = round % 3 == 0 ? vfork() : fork();
        if (child == 0 && round % 3 == 1) {
            _exit(0);
        }
        if (child == 0) {
            (void)execlp("true", "true", (char *)NULL);
            _exit(1);
        }
        assert_true(child > 0);
        assert_exits(child, 0);
    }
    return unused;
}

static void *block_signals(void *unused)
{
    sigset_t all;
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, NULL);
    while (goes_on()) {
        (void)work_a_little(NULL);
    }
    return unused;
}

static void on_signal(int number)
{
    (void)number;
    (void)descend(20);
}

static void *use_another_stack(void *unused)
{
    const stack_t another = {.ss_sp = malloc(262144), .ss_size = 262144};
    const stack_t none = {.ss_flags = SS_DISABLE};
    assert_non_null(another.ss_sp);
    assert_int_equal(sigaltstack(&another, NULL), 0);
    while (goes_on()) {
        (void)pthread_kill(pthread_self(), SIGUSR1);
        (void)work_a_little(NULL);
    }
    assert_int_equal(sigaltstack(&none, NULL), 0);
    free(another.ss_sp);
    return unused;
}

/* How many stacks the handler took. */
static uint64_t run_once(void)
{
    static void *(*const works[])(void *) = {allocate,      allocate,         load_libraries,
                                             recurse,       start_threads,    fork_children,
                                             block_signals, use_another_stack};
    enum { WORKS = sizeof works / sizeof works[0] };
    const resmon_monitor_options options = {
        .struct_size = sizeof options,
        .domains = RESMON_DOMAIN_PROCESS,
        .stacks = RESMON_STACKS_ALL,
        .stack_hz = 1000,
        .fault_period = 16,
    };
    resmon_monitor *monitor = NULL;
    resmon_run *run = NULL;
    resmon_run_stack_info info = {.struct_size = sizeof info};
    pthread_t threads[WORKS];
    assert_ok(resmon_monitor_new(&options, &monitor));
    assert_ok(resmon_monitor_start(monitor));
    __atomic_store_n(&is_over, false, __ATOMIC_RELAXED);
    for (size_t i = 0; i < WORKS; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, works[i], NULL), 0);
    }
    (void)sleep(1);
    assert_ok(resmon_monitor_snapshot(monitor, &run)); /* in the midst of it */
    resmon_run_free(run);
    __atomic_store_n(&is_over, true, __ATOMIC_RELAXED);
    for (size_t i = 0; i < WORKS; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    }
    assert_ok(resmon_monitor_stop(monitor));
    assert_ok(resmon_monitor_snapshot(monitor, &run));
    assert_ok(resmon_run_get_stack_info(run, RESMON_STACK_CPU, &info));
    resmon_run_free(run);
    resmon_monitor_free(monitor);
    return info.samples;
}

TEST(nothing_hangs_or_falls)
{
    const char *seconds = getenv("RESMON_STRESS_S");
    int64_t until_ns =
        rm_clock_monotonic_ns() + (seconds != NULL ? strtol(seconds, NULL, 10) : 6) * RM_NS_PER_S;
    struct sigaction action = {.sa_flags = SA_ONSTACK};
    action.sa_handler = on_signal;
    assert_int_equal(sigaction(SIGUSR1, &action, NULL), 0);
    if (rm_unwind_open() != RESMON_OK) {
        print_message("skipped: %s\n", resmon_last_error());
        exit(77);
    }
    unsigned rounds = 0;
    uint64_t all = 0;
    do {
        uint64_t samples = run_once();
        print_message("round %u: %" PRIu64 " stacks of CPU time\n", ++rounds, samples);
        all += samples;
    } while (rm_clock_monotonic_ns() < until_ns);
    assert_true(all > 0);
}
