/* SPDX-License-Identifier: MIT */
/*
 * What counters cost in a scope: a group of four events against two bare reads of such a group; the
 * default group (hardware where it is), and, where PAPI is installed, its high-level regions.
 */
#include <dlfcn.h>
#include <linux/perf_event.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <resmon/resmon.h>

#include "bench.h"

#define EVENTS 4

/* In a round: short, so that the floor and ours see the same machine. */
#define SCOPES 1000

struct group {
    int leader;
    uint32_t type;
    uint64_t configs[EVENTS];
};

static int open_group(struct group *group)
{
    group->leader = -1;
    for (int i = 0; i < EVENTS; i++) {
        struct perf_event_attr attributes = {
            .type = group->type,
            .size = sizeof attributes,
            .config = group->configs[i],
            .exclude_hv = 1,
            .exclude_kernel = getuid() != 0,
            .read_format =
                PERF_FORMAT_GROUP | PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING,
        };
        int fd = (int)syscall(SYS_perf_event_open, &attributes, 0, -1, group->leader,
                              PERF_FLAG_FD_CLOEXEC);
        if (fd < 0) {
            return -1;
        }
        group->leader = i == 0 ? fd : group->leader;
    }
    return 0;
}

static double floor_reads(void *context, size_t count)
{
    const struct group *group = context;
    uint64_t words[3 + EVENTS];
    double start = bench_now_ns();
    for (size_t i = 0; i < 2 * count; i++) {
        if (read(group->leader, words, sizeof words) != (ssize_t)sizeof words) {
            abort();
        }
    }
    return (bench_now_ns() - start) / (double)count;
}

static double scopes(void *context, size_t count)
{
    (void)context;
    double start = bench_now_ns();
    for (size_t i = 0; i < count; i++) {
        RESMON_SCOPE("bench");
        __asm__ volatile("" ::: "memory");
    }
    return (bench_now_ns() - start) / (double)count;
}

static resmon_monitor *start_monitor(const char *counters)
{
    resmon_monitor_options options = {
        .struct_size = sizeof options,
        .interval_ms = 10000,
        .domains = RESMON_DOMAIN_PROCESS,
        .scope_counters = counters,
        .scopes = RESMON_METER_PERF,
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

static void stop_monitor(resmon_monitor *monitor)
{
    resmon_monitor_stop(monitor);
    resmon_monitor_free(monitor);
}

static int (*papi_begin)(const char *region);
static int (*papi_end)(const char *region);

static double papi_regions(void *context, size_t count)
{
    (void)context;
    double start = bench_now_ns();
    for (size_t i = 0; i < count; i++) {
        papi_begin("bench");
        papi_end("bench");
    }
    return (bench_now_ns() - start) / (double)count;
}

/* PAPI writes its results beside the program at its end. */
static void bench_papi(struct bench *bench)
{
    void *papi = dlopen("libpapi.so", RTLD_NOW);
    papi = papi != NULL ? papi : dlopen("libpapi.so.7.0", RTLD_NOW);
    if (papi == NULL) {
        printf("PAPI high-level: not installed\n");
        return;
    }
    setenv("PAPI_OUTPUT_DIRECTORY", "/tmp", 0);
    setenv("PAPI_EVENTS", "perf::PAGE-FAULTS,perf::CONTEXT-SWITCHES,perf::TASK-CLOCK", 0);
    *(void **)&papi_begin = dlsym(papi, "PAPI_hl_region_begin");
    *(void **)&papi_end = dlsym(papi, "PAPI_hl_region_end");
    if (papi_begin != NULL && papi_end != NULL && papi_begin("first") == 0) {
        papi_end("first");
        bench_value(bench, "PAPI high-level, begin and end of a region",
                    bench_median(bench, papi_regions, NULL, 10000), "ns", 0);
    }
}

int main(int argc, char **argv)
{
    struct bench bench = bench_begin(argc, argv, "counters");
    struct group software = {-1,
                             PERF_TYPE_SOFTWARE,
                             {PERF_COUNT_SW_PAGE_FAULTS, PERF_COUNT_SW_PAGE_FAULTS_MIN,
                              PERF_COUNT_SW_PAGE_FAULTS_MAJ, PERF_COUNT_SW_TASK_CLOCK}};
    struct group hardware = {-1, PERF_TYPE_HARDWARE, {1, 0, 3, 5}};
    if (open_group(&software) != 0) {
        printf("counters: skipped, the kernel counts nothing for this user\n");
        return 77;
    }
    resmon_monitor *monitor = start_monitor("page-faults+minor-faults+major-faults+task-clock");
    bench_ratio(&bench, "scope with four software events", floor_reads, scopes, &software, SCOPES,
                1.1);
    stop_monitor(monitor);
    if (open_group(&hardware) == 0) {
        monitor = start_monitor("default");
        bench_ratio(&bench, "scope with four hardware events", floor_reads, scopes, &hardware,
                    SCOPES, 1.1);
        stop_monitor(monitor);
    } else {
        printf("scope with four hardware events: this machine has no hardware counters\n");
    }
    bench_papi(&bench);
    return bench_end(&bench);
}
