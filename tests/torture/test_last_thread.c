/* SPDX-License-Identifier: MIT */
/*
 * A program whose main thread leaves by pthread_exit() ends with its last thread, observed or not,
 * with its exit handlers run.
 */
#include "test.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static const struct timespec a_while = {.tv_nsec = 100000000};

static void *work(void *unused)
{
    (void)nanosleep(&a_while, NULL);
    return unused;
}

static resmon_monitor *monitor;

static void stop_at_exit(void)
{
    resmon_run *run = NULL;
    if (resmon_monitor_stop(monitor) != RESMON_OK ||
        resmon_monitor_snapshot(monitor, &run) != RESMON_OK || resmon_run_row_count(run) < 2) {
        _exit(3);
    }
    resmon_run_free(run);
    resmon_monitor_free(monitor);
    _exit(42); /* the handler ran, and the monitor worked to the end */
}

static resmon_status ignore_rows(void *context, const resmon_rows *rows)
{
    (void)context, (void)rows;
    return RESMON_OK;
}

static void leave_by_pthread_exit(uint64_t interval_ms)
{
    resmon_monitor_options options = {.struct_size = sizeof options, .interval_ms = interval_ms};
    const resmon_sink_ops sink = {.struct_size = sizeof sink, .rows = ignore_rows};
    pthread_t thread;
    if (resmon_monitor_new(&options, &monitor) != RESMON_OK ||
        resmon_monitor_add_sink(monitor, &sink, NULL) != RESMON_OK ||
        resmon_monitor_start(monitor) != RESMON_OK || atexit(stop_at_exit) != 0 ||
        pthread_create(&thread, NULL, work, NULL) != 0) {
        _exit(2);
    }
    (void)pthread_detach(thread);
    pthread_exit(NULL);
}

static void check_end(uint64_t interval_ms)
{
    (void)fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        (void)alarm(120);
        leave_by_pthread_exit(interval_ms);
    }
    assert_exits(child, 42);
}

TEST(main_thread_leaves_first)
{
    check_end(5);
}

TEST(main_thread_leaves_between_rare_samples)
{
    check_end(86400000);
}
