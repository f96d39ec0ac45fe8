/* SPDX-License-Identifier: MIT */
/*
 * Makes traces for truth_trace.py, in a directory: single.json of a run with several threads, open
 * scopes, hostile names, tags and samples, its document single-run.json beside it; and several.json
 * of that run and another one of the same process.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <resmon/resmon.h>

#define MUST(call)                                                         \
    do {                                                                   \
        if ((call) != RESMON_OK) {                                         \
            (void)fprintf(stderr, "%s: %s\n", #call, resmon_last_error()); \
            exit(1);                                                       \
        }                                                                  \
    } while (0)

static pthread_barrier_t barrier;

static void pause_for(long us)
{
    (void)nanosleep(&(struct timespec){.tv_nsec = us * 1000}, NULL);
}

static void *work(void *unused)
{
    (void)unused;
    for (int i = 0; i < 300; i++) {
        RESMON_SCOPE("work \"\\ \xc3\xa9");
        for (int k = 0; k < i % 4; k++) {
            RESMON_SCOPE("step");
            {
                RESMON_SCOPE("control \x01 and \xff");
                pause_for(i % 50 == 0 ? 1000 : 0);
            }
        }
    }
    RESMON_SCOPE("left open");
    (void)pthread_barrier_wait(&barrier); /* while it is looked at */
    (void)pthread_barrier_wait(&barrier);
    return NULL;
}

static resmon_monitor *started(const char *name)
{
    resmon_monitor *monitor = NULL;
    const resmon_monitor_options options = {.struct_size = sizeof options,
                                            .interval_ms = 5,
                                            .rows = 16,
                                            .name = name,
                                            .scopes = RESMON_METER_WALL,
                                            .scope_threads = 8,
                                            .events = 500};
    MUST(resmon_monitor_new(&options, &monitor));
    MUST(resmon_monitor_start(monitor));
    return monitor;
}

static resmon_run *first_run(void)
{
    enum { THREADS = 3 };
    pthread_t threads[THREADS];
    resmon_run *run = NULL;
    resmon_monitor *monitor = started("first \"run\"");
    (void)pthread_barrier_init(&barrier, NULL, THREADS + 1);
    for (int i = 0; i < THREADS; i++) {
        (void)pthread_create(&threads[i], NULL, work, NULL);
    }
    MUST(resmon_monitor_tag(monitor, "tag \"one\"\n"));
    RESMON_SCOPE("main");
    pause_for(100000);
    (void)pthread_barrier_wait(&barrier);
    MUST(resmon_monitor_tag(monitor, ""));
    MUST(resmon_monitor_sample_now(monitor));
    MUST(resmon_monitor_snapshot(monitor, &run));
    (void)pthread_barrier_wait(&barrier);
    for (int i = 0; i < THREADS; i++) {
        (void)pthread_join(threads[i], NULL);
    }
    resmon_monitor_free(monitor);
    return run;
}

static resmon_run *second_run(void)
{
    resmon_run *run = NULL;
    resmon_monitor *monitor = started("second");
    {
        RESMON_SCOPE("alone");
        pause_for(20000);
    }
    MUST(resmon_monitor_stop(monitor));
    MUST(resmon_monitor_snapshot(monitor, &run));
    resmon_monitor_free(monitor);
    return run;
}

static const char *path_in(const char *directory, const char *name)
{
    static char path[4096];
    (void)snprintf(path, sizeof path, "%s/%s", directory, name);
    return path;
}

int main(int argc, char **argv)
{
    if (argc != 2) {
        (void)fprintf(stderr, "made_traces DIRECTORY\n");
        return 2;
    }
    resmon_run *first = first_run();
    resmon_run *second = second_run();
    const resmon_run *const runs[] = {second, first};
    MUST(resmon_trace_save(&runs[1], 1, path_in(argv[1], "single.json")));
    MUST(resmon_trace_save(runs, 2, path_in(argv[1], "several.json")));
    resmon_status status = resmon_run_save(first, path_in(argv[1], "single-run.json"));
    resmon_run_free(first);
    resmon_run_free(second);
    return status == RESMON_OK || status == RESMON_ENOTSUP ? 0 : 1;
}
