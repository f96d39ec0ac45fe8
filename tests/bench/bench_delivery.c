/* SPDX-License-Identifier: MIT */
/*
 * What sinks cost the program that has them: at start, when the first one needs the network, while
 * one is slow, and at the end when a server does not answer.  Linked as a program would be, with
 * the shared library and without libcurl.
 */
#include <arpa/inet.h>
#include <fcntl.h>
#include <math.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <resmon/resmon.h>

#include "bench.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

static resmon_monitor *new_monitor(const resmon_monitor_options *options)
{
    resmon_monitor *monitor;
    bench_check(resmon_monitor_new(options, &monitor));
    return monitor;
}

static void pause_ms(long ms)
{
    (void)nanosleep(&(struct timespec){ms / 1000, ms % 1000 * 1000000}, NULL);
}

/* Two figures from a process in which nothing has happened yet. */
static void in_child(void (*measure)(double figures[2]), double figures[2])
{
    int ends[2];
    const size_t bytes = 2 * sizeof *figures;
    if (pipe(ends) != 0) {
        abort();
    }
    (void)fflush(stdout);
    pid_t pid = fork();
    if (pid == 0) {
        measure(figures);
        _exit(write(ends[1], figures, bytes) == (ssize_t)bytes ? 0 : 1);
    }
    (void)close(ends[1]);
    if (read(ends[0], figures, bytes) != (ssize_t)bytes || waitpid(pid, NULL, 0) != pid) {
        abort();
    }
    (void)close(ends[0]);
}

/* ---- start ------------------------------------------------------------------------------ */

static size_t libcurl_mappings(void)
{
    char line[1024];
    size_t count = 0;
    FILE *file = fopen("/proc/self/maps", "re");
    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        count += strstr(line, "libcurl") != NULL ? 1 : 0;
    }
    if (file == NULL) {
        abort();
    }
    fclose(file);
    return count;
}

static void bench_start(struct bench *bench)
{
    double best = 1e18;
    for (int i = 0; i < 21; i++) {
        double start = bench_now_ns();
        resmon_monitor *monitor = new_monitor(NULL);
        bench_check(resmon_monitor_start(monitor));
        resmon_monitor_free(monitor);
        double elapsed = bench_now_ns() - start;
        best = elapsed < best ? elapsed : best;
    }
    bench_value(bench, "start + stop without a sink (best of 21)", best / 1e6, "ms", 2.0);
    bench_count(bench, "mappings of libcurl after that", libcurl_mappings(), 0);
}

/* ---- the first sink that needs the network ---------------------------------------------- */

static void add_pushgateway(resmon_monitor *monitor, const char *url)
{
    const resmon_pushgateway_options options = {.struct_size = sizeof options, .url = url};
    bench_check(resmon_monitor_add_pushgateway(monitor, &options));
}

static void add_mlflow(resmon_monitor *monitor, const char *url)
{
    const resmon_mlflow_options options = {.struct_size = sizeof options,
                                           .flags = RESMON_MLFLOW_NO_SPOOL,
                                           .tracking_uri = url,
                                           .experiment = "bench"};
    bench_check(resmon_monitor_add_mlflow(monitor, &options));
}

/* Two sinks in a process that has none yet: what each takes. */
static void add_two(double times[2])
{
    resmon_monitor *monitor = new_monitor(NULL);
    for (int i = 0; i < 2; i++) {
        double start = bench_now_ns();
        add_pushgateway(monitor, "http://127.0.0.1:9");
        times[i] = bench_now_ns() - start;
    }
}

static void bench_first_sink(struct bench *bench)
{
    enum { ROUNDS = 11 };
    double first[ROUNDS], second[ROUNDS];
    for (int i = 0; i < ROUNDS; i++) {
        double times[2];
        in_child(add_two, times);
        first[i] = times[0];
        second[i] = times[1];
    }
    bench_value(bench, "first sink over the network: loads libcurl",
                bench_middle(first, ROUNDS) / 1e6, "ms", 0.0);
    bench_value(bench, "the second one", bench_middle(second, ROUNDS) / 1e6, "ms", 0.0);
}

/* ---- a slow sink ------------------------------------------------------------------------ */

static resmon_status sleep_50_ms(void *context, const resmon_rows *rows)
{
    (void)context;
    (void)rows;
    pause_ms(50);
    return RESMON_OK;
}

static resmon_status do_nothing(void *context, const resmon_rows *rows)
{
    (void)context;
    (void)rows;
    return RESMON_OK;
}

struct second {
    double late;   /* samples */
    double cpu_ns; /* for a sample */
};

/* A second of samples every 10 ms, with a slow sink or without. */
static struct second run_second(const resmon_sink_ops *ops)
{
    const resmon_monitor_options options = {
        .struct_size = sizeof options,
        .interval_ms = 10,
        .domains = RESMON_DOMAIN_PROCESS | RESMON_DOMAIN_NODE,
        .max_overhead = 1.0, /* every source at each sample */
        .stop_timeout_ms = 1,
    };
    resmon_run_info info = {.struct_size = sizeof info};
    resmon_run *run;
    resmon_monitor *monitor = new_monitor(&options);
    if (ops != NULL) {
        bench_check(resmon_monitor_add_sink(monitor, ops, NULL));
    }
    bench_check(resmon_monitor_start(monitor));
    pause_ms(1000);
    (void)resmon_monitor_stop(monitor); /* leaves the sink behind */
    bench_check(resmon_monitor_summary(monitor, &run));
    bench_check(resmon_run_get_info(run, &info));
    resmon_run_free(run);
    resmon_monitor_free(monitor);
    pause_ms(60); /* until the sink has returned */
    return (struct second){(double)info.late_samples,
                           (double)info.sampler_cpu_ns / (double)info.samples};
}

/*
 * Seconds with and without the sink, in turn.  Where the number of late samples differs, the sink
 * is as likely as not on the worse side if it does not matter: of n such seconds it is there more
 * than n/2 + 1.5 sqrt(n) times by chance in one of 700 benches, however noisy the machine is.  In
 * the way of the sampling thread, it would be there each time.
 */
static void bench_slow(struct bench *bench, const char *what, const resmon_sink_ops *ops)
{
    enum { ROUNDS = 12 };
    double ratios[ROUNDS], floors[ROUNDS], cpu[ROUNDS], with = 0.0, without = 0.0;
    int worse = 0, differ = 0;
    for (int i = 0; i < ROUNDS; i++) {
        struct second bare = run_second(NULL);
        struct second ours = run_second(ops);
        without += bare.late;
        with += ours.late;
        worse += ours.late > bare.late ? 1 : 0;
        differ += ours.late != bare.late ? 1 : 0;
        floors[i] = bare.cpu_ns;
        cpu[i] = ours.cpu_ns;
        ratios[i] = ours.cpu_ns / bare.cpu_ns;
    }
    printf(
        "  %s: %d s without it, and with it: %.0f and %.0f late samples, %.0f and %.0f us of CPU "
        "a sample\n",
        what, ROUNDS, without, with, bench_middle(floors, ROUNDS) / 1e3,
        bench_middle(cpu, ROUNDS) / 1e3);
    bench_value(bench, "seconds with more late samples than without", worse, "",
                differ / 2.0 + 1.5 * sqrt(differ) + 0.5);
    bench_value(bench, "CPU of a sample over that without the sink", bench_middle(ratios, ROUNDS),
                "", 1.1);
}

/* ---- memory ----------------------------------------------------------------------------- */

/* What a monitor and its lanes grow by, with all of the queue used, at the default interval. */
static double grow(const resmon_sink_ops *ops)
{
    double before = bench_resident_bytes();
    resmon_monitor *monitor = new_monitor(NULL); /* lives as long as the process */
    if (ops != NULL) {
        bench_check(resmon_monitor_add_sink(monitor, ops, NULL));
    }
    bench_check(resmon_monitor_start(monitor));
    for (int i = 0; i < 300; i++) {
        bench_check(resmon_monitor_sample_now(monitor));
    }
    return bench_resident_bytes() - before;
}

/* The first makes the code resident. */
static void measure_lane(double grown[2])
{
    const resmon_sink_ops ops = {.struct_size = sizeof ops, .rows = do_nothing};
    (void)grow(&ops);
    grown[0] = grow(NULL);
    grown[1] = grow(&ops);
}

/* The least of each: a sample that comes by itself in between, after a longer time than the others,
 * has figures of its own, and pages for these. */
static void bench_memory(struct bench *bench)
{
    enum { ROUNDS = 7 };
    double least[2] = {INFINITY, INFINITY};
    for (int i = 0; i < ROUNDS; i++) {
        double grown[2];
        in_child(measure_lane, grown);
        least[0] = fmin(least[0], grown[0]);
        least[1] = fmin(least[1], grown[1]);
    }
    bench_value(bench, "memory of a lane: queue and thread", (least[1] - least[0]) / 1024.0, "KiB",
                320.0);
}

/* ---- servers that do not answer --------------------------------------------------------- */

#define STOP_MS 2000

/* Takes connections and says nothing, or does not even take them. */
struct hole {
    int fd;
    int fillers[16];
    size_t filler_count;
    char url[64];
};

static bool is_connected(int fd, const struct sockaddr_in *address)
{
    struct pollfd wait = {.fd = fd, .events = POLLOUT};
    (void)connect(fd, (const struct sockaddr *)address, sizeof *address);
    return poll(&wait, 1, 200) == 1;
}

static void open_hole(struct hole *hole, bool is_full)
{
    struct sockaddr_in address = {.sin_family = AF_INET};
    socklen_t length = sizeof address;
    *hole = (struct hole){.fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (hole->fd < 0 || bind(hole->fd, (struct sockaddr *)&address, sizeof address) != 0 ||
        listen(hole->fd, is_full ? 0 : 64) != 0 ||
        getsockname(hole->fd, (struct sockaddr *)&address, &length) != 0) {
        abort();
    }
    (void)snprintf(hole->url, sizeof hole->url, "http://127.0.0.1:%d", ntohs(address.sin_port));
    for (bool has_room = is_full; has_room && hole->filler_count < COUNT(hole->fillers);) {
        int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        has_room = is_connected(fd, &address);
        hole->fillers[hole->filler_count++] = fd;
    }
}

static void close_hole(struct hole *hole)
{
    for (size_t i = 0; i < hole->filler_count; i++) {
        (void)close(hole->fillers[i]);
    }
    (void)close(hole->fd);
}

static double stop_ms(void (*add)(resmon_monitor *monitor, const char *url), const char *url)
{
    const resmon_monitor_options options = {.struct_size = sizeof options,
                                            .stop_timeout_ms = STOP_MS};
    resmon_monitor *monitor = new_monitor(&options);
    add(monitor, url);
    bench_check(resmon_monitor_start(monitor));
    pause_ms(100);
    double start = bench_now_ns();
    if (resmon_monitor_stop(monitor) == RESMON_OK) {
        fprintf(stderr, "bench_delivery: a server without an answer is no failure\n");
        exit(2);
    }
    double elapsed = bench_now_ns() - start;
    resmon_monitor_free(monitor);
    return elapsed / 1e6;
}

static void bench_stop(struct bench *bench)
{
    static const struct {
        const char *what;
        void (*add)(resmon_monitor *monitor, const char *url);
        bool is_full;
    } rows[] = {
        {"stop with MLflow, server silent", add_mlflow, false},
        {"stop with MLflow, no connection", add_mlflow, true},
        {"stop with a Pushgateway, server silent", add_pushgateway, false},
        {"stop with a Pushgateway, no connection", add_pushgateway, true},
    };
    double worst = 0.0;
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct hole hole;
        double longest = 0.0;
        open_hole(&hole, rows[i].is_full);
        for (int round = 0; round < (bench->is_quick ? 1 : 3); round++) {
            longest = fmax(longest, stop_ms(rows[i].add, hole.url));
        }
        close_hole(&hole);
        worst = fmax(worst, longest);
        bench_value(bench, rows[i].what, longest, "ms", STOP_MS);
    }
    bench_value(bench, "time over the budget of 2 s", fmax(worst - STOP_MS, 0.0), "ms", 0.0);
}

int main(int argc, char **argv)
{
    struct bench bench = bench_begin(argc, argv, "bench_delivery");
    const resmon_sink_ops slow = {.struct_size = sizeof slow, .rows = sleep_50_ms};
    const resmon_sink_ops remote = {
        .struct_size = sizeof remote, .rows = sleep_50_ms, .flags = RESMON_SINK_REMOTE};
    bench_start(&bench);
    bench_first_sink(&bench);
    bench_memory(&bench);
    bench_slow(&bench, "a sink that sleeps 50 ms at each sample", &slow);
    bench_slow(&bench, "the same, remote", &remote);
    bench_stop(&bench);
    return bench_end(&bench);
}
