/* SPDX-License-Identifier: MIT */
/*
 * A program without a race, built with ThreadSanitizer and linked with a library that is not: the
 * sanitizer finds nothing, whatever RESMON asks for.  It exits with 66 where it finds something.
 */
#include <resmon/resmon.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define THREADS 3
#define ROUNDS  3

static resmon_monitor *second; /* beside the one of RESMON, if any */

static long cpu_ms(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static double work(long most_ms)
{
    RESMON_FUNCTION();
    volatile double sum = 0;
    long until = cpu_ms() + most_ms;
    while (cpu_ms() < until) {
        RESMON_SCOPE("inner");
        for (int i = 0; i < 20000; i++) {
            sum = sum + i * 0.5;
        }
        RESMON_LINE();
        char *bytes = malloc(1 << 20);
        memset(bytes, 1, 1 << 20);
        RESMON_LINE();
        free(bytes);
    }
    return sum;
}

static void *run_thread(void *number)
{
    uint64_t watch = 0;
    resmon_watched watched = {0};
    (void)resmon_watch_begin(RESMON_METER_RSS | RESMON_METER_IO, &watch);
    RESMON_TIMED("timed", work(20));
    RESMON_PEAK_RSS("peak", work(20));
    (void)resmon_monitor_tag(second, "worked");
    (void)resmon_watch_lap(watch, &watched);
    (void)resmon_monitor_sample_now(second);
    (void)work(100);
    (void)resmon_watch_end(watch, &watched);
    return number;
}

static int go_round(void)
{
    const resmon_monitor_options options = {.struct_size = sizeof options, .interval_ms = 5};
    pthread_t threads[THREADS];
    resmon_run *run = NULL;
    if (resmon_monitor_new(&options, &second) != RESMON_OK ||
        resmon_monitor_start(second) != RESMON_OK) {
        return 1;
    }
    for (int i = 0; i < THREADS; i++) {
        if (pthread_create(&threads[i], NULL, run_thread, NULL) != 0) {
            return 1;
        }
    }
    (void)work(50);
    (void)resmon_monitor_set_label(second, "in between");
    if (resmon_monitor_snapshot(second, &run) != RESMON_OK) {
        return 1;
    }
    resmon_run_free(run);
    for (int i = 0; i < THREADS; i++) {
        (void)pthread_join(threads[i], NULL);
    }
    if (resmon_monitor_stop(second) != RESMON_OK) {
        return 1;
    }
    resmon_monitor_free(second);
    return 0;
}

int main(void)
{
    for (int i = 0; i < ROUNDS; i++) {
        if (go_round() != 0) {
            (void)fprintf(stderr, "%s\n", resmon_last_error());
            return 1;
        }
    }
    return 0;
}
