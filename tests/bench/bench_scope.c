/* SPDX-License-Identifier: MIT */
/*
 * What a scope costs: wall only against two bare clock reads, disabled against an empty inlined
 * call, with the exact RSS peak against two bare (pwrite + getrusage); nested, in two threads, and
 * its growth in memory.  And a checkpoint, against two clock reads and one of the kernel's file.
 */
#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <resmon/resmon.h>

#include "bench.h"

/* ---- floors ----------------------------------------------------------------------------- */

static int uses_counter; /* as the library says of itself */

static inline uint64_t bare_clock(void)
{
#if defined(__x86_64__)
    if (uses_counter) {
        return __builtin_ia32_rdtsc();
    }
#elif defined(__aarch64__)
    if (uses_counter) {
        uint64_t value;
        __asm__ volatile("mrs %0, cntvct_el0" : "=r"(value));
        return value;
    }
#endif
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000U + (uint64_t)now.tv_nsec;
}

static double floor_clock(void *context, size_t count)
{
    (void)context;
    volatile uint64_t sink = 0;
    double start = bench_now_ns();
    for (size_t i = 0; i < count; i++) {
        uint64_t begin = bare_clock();
        sink = bare_clock() - begin;
    }
    (void)sink;
    return (bench_now_ns() - start) / (double)count;
}

static inline void nothing(void)
{
    __asm__ volatile("" ::: "memory");
}

static double floor_empty(void *context, size_t count)
{
    (void)context;
    double start = bench_now_ns();
    for (size_t i = 0; i < count; i++) {
        nothing();
    }
    return (bench_now_ns() - start) / (double)count;
}

static double floor_peak(void *context, size_t count)
{
    (void)context;
    struct rusage usage;
    int fd = open("/proc/self/clear_refs", O_WRONLY | O_CLOEXEC);
    double start = bench_now_ns();
    for (size_t i = 0; i < count; i++) {
        for (int k = 0; k < 2; k++) {
            if (pwrite(fd, "5", 1, 0) != 1 || getrusage(RUSAGE_SELF, &usage) != 0) {
                abort();
            }
        }
    }
    double elapsed = bench_now_ns() - start;
    close(fd);
    return elapsed / (double)count;
}

/* What a scope asks of the kernel for the CPU time of a process without children, at both ends. */
static double floor_tree_cpu(void *context, size_t count)
{
    (void)context;
    struct rusage usage;
    struct timespec now;
    siginfo_t info;
    double start = bench_now_ns();
    for (size_t i = 0; i < count; i++) {
        for (int k = 0; k < 2; k++) {
            if (getrusage(RUSAGE_CHILDREN, &usage) != 0 ||
                clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now) != 0) {
                abort();
            }
            (void)waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT | __WALL);
        }
    }
    return (bench_now_ns() - start) / (double)count;
}

static double floor_line(void *context, size_t count)
{
    (void)context;
    char text[128];
    volatile uint64_t sink = 0;
    int fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
    double start = bench_now_ns();
    for (size_t i = 0; i < count; i++) {
        uint64_t begin = bare_clock();
        if (pread(fd, text, sizeof text, 0) <= 0) {
            abort();
        }
        sink = bare_clock() - begin;
    }
    (void)sink;
    double elapsed = bench_now_ns() - start;
    close(fd);
    return elapsed / (double)count;
}

/* ---- ours ------------------------------------------------------------------------------- */

static double scopes(void *context, size_t count)
{
    (void)context;
    double start = bench_now_ns();
    for (size_t i = 0; i < count; i++) {
        RESMON_SCOPE("bench");
        nothing();
    }
    return (bench_now_ns() - start) / (double)count;
}

/* As in a thread of a pool: nothing else is open. */
static double hung_scopes(void *context, size_t count)
{
    const uint64_t *under = context;
    double start = bench_now_ns();
    for (size_t i = 0; i < count; i++) {
        RESMON_SCOPE_UNDER(*under, "hung");
        nothing();
    }
    return (bench_now_ns() - start) / (double)count;
}

static double handles(void *context, size_t count)
{
    (void)context;
    RESMON_SCOPE("handles");
    volatile uint64_t sink = 0;
    double start = bench_now_ns();
    for (size_t i = 0; i < count; i++) {
        sink = resmon_scope_here();
    }
    (void)sink;
    return (bench_now_ns() - start) / (double)count;
}

static double tasks(void *context, size_t count)
{
    const uint64_t *under = context;
    static resmon_site site = {"task", __FILE__, "tasks", __LINE__, 0};
    resmon_task *task;
    double start = bench_now_ns();
    for (size_t i = 0; i < count; i++) {
        if (resmon_task_begin(&site, *under, 0, &task) == RESMON_OK) {
            resmon_task_end(task);
        }
    }
    return (bench_now_ns() - start) / (double)count;
}

static double lines(void *context, size_t count)
{
    (void)context;
    RESMON_SCOPE("lines");
    double start = bench_now_ns();
    for (size_t i = 0; i < count; i++) {
        RESMON_LINE();
        nothing();
    }
    return (bench_now_ns() - start) / (double)count;
}

/* Four levels: the cost of one of them. */
static double nested_scopes(void *context, size_t count)
{
    (void)context;
    double start = bench_now_ns();
    for (size_t i = 0; i < count / 4; i++) {
        RESMON_SCOPE("a");
        {
            RESMON_SCOPE("b");
            {
                RESMON_SCOPE("c");
                {
                    RESMON_SCOPE("d");
                    nothing();
                }
            }
        }
    }
    return (bench_now_ns() - start) / (double)(count / 4 * 4);
}

/* Two children in turn: the cache of the child visited last misses every time. */
static double alternating_scopes(void *context, size_t count)
{
    (void)context;
    double start = bench_now_ns();
    for (size_t i = 0; i < count / 2; i++) {
        {
            RESMON_SCOPE("even");
            nothing();
        }
        {
            RESMON_SCOPE("odd");
            nothing();
        }
    }
    return (bench_now_ns() - start) / (double)(count / 2 * 2);
}

struct part {
    bench_fn run;
    size_t count;
    double ns;
};

static void *run_part(void *context)
{
    struct part *part = context;
    part->ns = part->run(NULL, part->count);
    return NULL;
}

static double in_two_threads(bench_fn run, size_t count)
{
    pthread_t other;
    struct part part = {run, count, 0.0};
    if (pthread_create(&other, NULL, run_part, &part) != 0) {
        abort();
    }
    double own = run(NULL, count);
    pthread_join(other, NULL);
    return (own + part.ns) / 2.0;
}

/* Many children of one scope, each as often as the others. */
enum { CHILDREN = 10000, APART = 6007 };
static resmon_site *children[CHILDREN];

static void make_children(void)
{
    char name[32];
    for (size_t i = 0; i < CHILDREN; i++) {
        (void)snprintf(name, sizeof name, "child %zu", i);
        if (resmon_site_intern(name, &children[i]) != RESMON_OK) {
            abort();
        }
    }
}

static double visit_children(size_t count, size_t step)
{
    double start = bench_now_ns();
    for (size_t i = 0, at = 0; i < count; i++) {
        resmon_scope_end(resmon_scope_begin(children[at]));
        at += step;
        at -= at >= CHILDREN ? CHILDREN : 0;
    }
    return (bench_now_ns() - start) / (double)count;
}

static double children_in_order(void *context, size_t count)
{
    (void)context;
    return visit_children(count, 1);
}

/* As good as in random order: far from each other, and never the one behind. */
static double children_apart(void *context, size_t count)
{
    (void)context;
    return visit_children(count, APART);
}

/* What no look-up can do without: two clock reads, and where they lie apart for each child, its
 * site, its place in a table that is a third full, and two cache lines of what is known of it. */
static double floor_apart(void *context, size_t count)
{
    enum { SLOTS = 32768, LINE = 64 / sizeof(uint64_t), NODE = 6 * LINE };
    static uint64_t slots[SLOTS], nodes[CHILDREN * NODE];
    (void)context;
    for (size_t i = 0; i < CHILDREN; i++) {
        slots[children[i]->id * 2654435761U % SLOTS] = i * NODE;
    }
    double start = bench_now_ns();
    for (size_t i = 0, at = 0; i < count; i++) {
        uint64_t *node = nodes + slots[children[at]->id * 2654435761U % SLOTS];
        node[0]++;
        uint64_t begin = bare_clock();
        node[LINE] += bare_clock() - begin;
        at = (at + APART) % CHILDREN;
    }
    return (bench_now_ns() - start) / (double)count;
}

static double snapshots(void *monitor, size_t count)
{
    double start = bench_now_ns();
    for (size_t i = 0; i < count; i++) {
        resmon_run *run;
        if (resmon_monitor_scopes(monitor, &run) != RESMON_OK) {
            exit(2);
        }
        resmon_run_free(run);
    }
    return (bench_now_ns() - start) / (double)count;
}

static double floor_clock_2(void *context, size_t count)
{
    (void)context;
    return in_two_threads(floor_clock, count);
}

static double scopes_2(void *context, size_t count)
{
    (void)context;
    return in_two_threads(scopes, count);
}

enum { THREADS = 200 };

/* CPU time of one operation, where far more threads than CPUs do them. */
static double cpu_in_many_threads(bench_fn run, size_t count)
{
    pthread_t threads[THREADS];
    struct part parts[THREADS];
    struct timespec begin, end;
    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &begin);
    for (size_t i = 0; i < THREADS; i++) {
        parts[i] = (struct part){run, count, 0.0};
        if (pthread_create(&threads[i], NULL, run_part, &parts[i]) != 0) {
            abort();
        }
    }
    for (size_t i = 0; i < THREADS; i++) {
        (void)pthread_join(threads[i], NULL);
    }
    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &end);
    double ns = (double)(end.tv_sec - begin.tv_sec) * 1e9 + (double)(end.tv_nsec - begin.tv_nsec);
    return ns / (double)(THREADS * count);
}

static double floor_clock_many(void *context, size_t count)
{
    (void)context;
    return cpu_in_many_threads(floor_clock, count);
}

static double scopes_many(void *context, size_t count)
{
    (void)context;
    return cpu_in_many_threads(scopes, count);
}

static resmon_monitor *start_monitor(uint64_t meters, size_t events)
{
    resmon_monitor_options options = {
        .struct_size = sizeof options,
        .interval_ms = 10000,
        .scopes = meters,
        .events = events,
        .max_meter_share = 1e9, /* take the meter every time */
    };
    resmon_monitor *monitor;
    if (resmon_monitor_new(&options, &monitor) != RESMON_OK ||
        resmon_monitor_start(monitor) != RESMON_OK) {
        fprintf(stderr, "cannot start: %s\n", resmon_last_error());
        exit(2);
    }
    return monitor;
}

static void bench_events(struct bench *bench, size_t count)
{
    resmon_run *run;
    resmon_monitor *monitor = start_monitor(RESMON_METER_WALL, 10000);
    bench_ratio(bench, "scope, wall + events", floor_clock, scopes, NULL, count, 1.6);
    bench_ratio(bench, "scope, wall + events, two threads", floor_clock_2, scopes_2, NULL, count,
                1.6);
    if (resmon_monitor_snapshot(monitor, &run) != RESMON_OK ||
        resmon_run_event_count(run) < 10000) {
        fprintf(stderr, "no events: %s\n", resmon_last_error());
        exit(2);
    }
    resmon_run_free(run);
    resmon_monitor_free(monitor);
}

static void bench_children(struct bench *bench)
{
    resmon_monitor_options options = {
        .struct_size = sizeof options, .interval_ms = 10000, .scope_paths = 2 * CHILDREN};
    resmon_monitor *monitor;
    make_children();
    if (resmon_monitor_new(&options, &monitor) != RESMON_OK ||
        resmon_monitor_start(monitor) != RESMON_OK) {
        exit(2);
    }
    bench_value(bench, "first visits of 10,000 children, each", visit_children(CHILDREN, 1) / 1e3,
                "us", 0.0);
    bench_ratio(bench, "scope, one of 10,000 children, in order", floor_clock, children_in_order,
                NULL, 200000, 1.4);
    bench_ratio(bench, "scope, one of 10,000 children, in any order", floor_apart, children_apart,
                NULL, 200000, 2.0);
    bench_value(bench, "scopes of a run with 10,000 of them",
                bench_median(bench, snapshots, monitor, 3) / 1e6, "ms", 0.0);
    resmon_monitor_free(monitor);
}

static void bench_growth(struct bench *bench)
{
    size_t count = bench->is_quick ? 1000000 : 1000000000;
    resmon_monitor *monitor = start_monitor(RESMON_METER_WALL, 0);
    (void)nested_scopes(NULL, 10000);
    (void)bench_resident_bytes(); /* its own code is resident from here on */
    double before = bench_resident_bytes();
    (void)nested_scopes(NULL, count);
    double after = bench_resident_bytes();
    resmon_monitor_free(monitor);
    printf("  (%.0f scopes: RSS grew by %.0f B)\n", (double)count, after - before);
    /* Pages of the sampling thread and of stdio may come in between: whole tenths of bytes only. */
    bench_value(bench, "growth per scope instance", floor((after - before) / (double)count * 10.0),
                "x 0.1 B", 0.5);
}

static void bench_start_stop(struct bench *bench)
{
    double best = 1e18;
    for (int i = 0; i < 21; i++) {
        double start = bench_now_ns();
        resmon_monitor_free(start_monitor(RESMON_METER_WALL, 0));
        double elapsed = bench_now_ns() - start;
        best = elapsed < best ? elapsed : best;
    }
    bench_value(bench, "start + stop of a monitor (best of 21)", best / 1e6, "ms", 2.0);
}

int main(int argc, char **argv)
{
    struct bench bench = bench_begin(argc, argv, "bench_scope");
    size_t count = 1000000;
    bench_ratio(&bench, "scope, disabled", floor_empty, scopes, NULL, count, 0.0);
    double disabled =
        bench_median(&bench, scopes, NULL, count) - bench_median(&bench, floor_empty, NULL, count);
    bench_value(&bench, "scope, disabled, above an empty call", disabled, "ns", 1.5);

    resmon_monitor *monitor = start_monitor(RESMON_METER_WALL, 0);
    resmon_run *run;
    if (resmon_monitor_sources(monitor, &run) == RESMON_OK) {
        const char *clock = resmon_run_fact(run, "run", "scope_clock");
        uses_counter = clock != NULL && strcmp(clock, "clock_gettime") != 0;
        printf("  clock: %s\n", clock);
        resmon_run_free(run);
    }
    bench_ratio(&bench, "scope, wall", floor_clock, scopes, NULL, count, 1.4);
    bench_ratio(&bench, "scope, wall, nested four deep", floor_clock, nested_scopes, NULL, count,
                1.4);
    bench_ratio(&bench, "scope, wall, alternating children", floor_clock, alternating_scopes, NULL,
                count, 1.9);
    bench_ratio(&bench, "scope, wall, two threads", floor_clock_2, scopes_2, NULL, count, 1.4);
    bench_ratio(&bench, "scope, wall, 200 threads", floor_clock_many, scopes_many, NULL, count / 20,
                1.4);
    uint64_t under;
    {
        RESMON_SCOPE("submits");
        RESMON_SCOPE("work");
        under = resmon_scope_here();
    }
    bench_ratio(&bench, "scope under a handle", floor_clock, hung_scopes, &under, count, 0.0);
    bench_value(&bench, "resmon_scope_here()", bench_median(&bench, handles, NULL, count), "ns",
                0.0);
    bench_ratio(&bench, "a task, begun and ended", floor_clock, tasks, &under, 100000, 0.0);
    bench_ratio(&bench, "RESMON_LINE()", floor_line, lines, NULL, 20000, 0.0);
    resmon_monitor_free(monitor);

    bench_events(&bench, count);
    monitor = start_monitor(RESMON_METER_RSS, 0);
    bench_ratio(&bench, "scope, wall + exact RSS peak", floor_peak, scopes, NULL, 20000, 1.1);
    resmon_monitor_free(monitor);
    monitor = start_monitor(RESMON_METER_CPU, 0);
    bench_ratio(&bench, "scope, wall + CPU time", floor_clock, scopes, NULL, 100000, 0.0);
    resmon_monitor_free(monitor);
    monitor = start_monitor(RESMON_METER_PCPU, 0);
    bench_ratio(&bench, "scope, wall + CPU time of the process", floor_tree_cpu, scopes, NULL,
                20000, 1.3);
    resmon_monitor_free(monitor);
    monitor = start_monitor(RESMON_METER_IO, 0);
    bench_ratio(&bench, "scope, wall + I/O", floor_clock, scopes, NULL, 20000, 0.0);
    resmon_monitor_free(monitor);

    bench_children(&bench);
    bench_growth(&bench);
    bench_start_stop(&bench);
    return bench_end(&bench);
}
