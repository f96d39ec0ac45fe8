/* SPDX-License-Identifier: MIT */
/*
 * What one full sample of the process and of the node costs, against the same system calls without
 * anything around them: one pread of each file (and a second where the first filled the kernel's
 * buffer), and the calls that are no reads.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#include <resmon/resmon.h>

#include "bench.h"
#include "collect/collect.h"
#include "engine/sampler.h"
#include "isolated.h"
#include "os/mapping.h"
#include "setup/options.h"
#include "store/layout.h"

static const char *const files[] = {
    "/proc/self/stat",    "/proc/self/io",         "/proc/self/statm",  "/proc/self/status",
    "/proc/stat",         "/proc/loadavg",         "/proc/meminfo",     "/proc/vmstat",
    "/proc/pressure/cpu", "/proc/pressure/memory", "/proc/pressure/io", "/proc/diskstats",
    "/proc/net/dev",
};

extern const struct rm_collector rm_collect_node_cpu;

#define FILE_COUNT (sizeof files / sizeof files[0])

struct setup {
    int fds[FILE_COUNT];
    int root;
    clockid_t clock;
    struct rm_options options;
    struct rm_sampler sampler;
    struct rm_mapping mapping;
};

static double floor_reads(void *context, size_t count)
{
    struct setup *setup = context;
    double start = bench_now_ns();
    for (size_t i = 0; i < count; i++) {
        struct rusage usage;
        struct timespec cpu;
        struct stat info;
        struct statvfs space;
        for (size_t f = 0; f < FILE_COUNT; f++) {
            if (setup->fds[f] >= 0) {
                bench_read_bare(setup->fds[f]);
            }
        }
        if (getrusage(RUSAGE_SELF, &usage) != 0 || clock_gettime(setup->clock, &cpu) != 0 ||
            fstatat(setup->root, "proc/self/fd", &info, 0) != 0 ||
            fstatvfs(setup->root, &space) != 0) {
            abort();
        }
    }
    return (bench_now_ns() - start) / (double)count;
}

static double take_samples(void *context, size_t count)
{
    struct setup *setup = context;
    double start = bench_now_ns();
    for (size_t i = 0; i < count; i++) {
        rm_sampler_take(&setup->sampler, rm_clock_monotonic_ns(), RM_SAMPLE_ALL);
    }
    return (bench_now_ns() - start) / (double)count;
}

static double our_samples(void *setup, size_t count)
{
    return isolated_call(take_samples, setup, count);
}

static void open_files(struct setup *setup)
{
    setup->root = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    for (size_t f = 0; f < FILE_COUNT; f++) {
        setup->fds[f] = open(files[f], O_RDONLY | O_CLOEXEC);
    }
    if (clock_getcpuclockid(getpid(), &setup->clock) != 0) {
        abort();
    }
}

static double set_up(void *context, size_t unused)
{
    struct setup *setup = context;
    (void)unused;
    resmon_monitor_options given = {
        .struct_size = sizeof given,
        .domains = RESMON_DOMAIN_PROCESS | RESMON_DOMAIN_NODE,
        .max_overhead = 1.0,
    };
    struct rm_block block;
    struct rm_sampler_output output = {0};
    uint64_t bytes;
    bench_check(rm_options_read(&given, &setup->options));
    rm_sampler_prepare(&setup->sampler, &setup->options);
    bench_check(rm_sampler_open(&setup->sampler));
    struct rm_block_sizes sizes = {
        .columns = setup->sampler.column_count,
        .rows = setup->options.values.rows,
        .sources = setup->sampler.source_count,
        .tags = 16,
        .sites = 2,
        .nodes = 2,
        .threads = 1,
        .depth = 1,
        .fact_bytes = 4096,
    };
    bench_check(rm_block_measure(&sizes, &bytes));
    bench_check(rm_mapping_anonymous(&setup->mapping, bytes));
    rm_block_format(&block, setup->mapping.memory, &sizes);
    block.header->start = rm_clock_read_pair();
    bench_check(rm_sampler_begin(&setup->sampler, &block, &output));
    printf("  %zu sources, %zu columns\n", setup->sampler.source_count,
           setup->sampler.column_count);
    return 0.0;
}

static double tear_down(void *context, size_t unused)
{
    struct setup *setup = context;
    (void)unused;
    rm_sampler_close_sources(&setup->sampler);
    rm_sampler_close(&setup->sampler);
    rm_options_free(&setup->options);
    rm_mapping_free(&setup->mapping);
    return 0.0;
}

/* ---- machines with many processors, as files ------------------------------------------------ */

struct many {
    struct rm_collect collect;
    void *state;
    int fd;
};

static void make_stat(const char *root, unsigned cpus)
{
    char path[128];
    (void)snprintf(path, sizeof path, "%s/proc", root);
    (void)mkdir(path, 0700);
    (void)snprintf(path, sizeof path, "%s/proc/stat", root);
    FILE *file = fopen(path, "we");
    for (unsigned cpu = 0; file != NULL && cpu <= cpus; cpu++) {
        char name[16] = "";
        (void)snprintf(name, sizeof name, "%u", cpu - 1);
        (void)fprintf(file, "cpu%s 366638 3295 163249 16815%u 2190 0 10712 5021 0 0\n",
                      cpu > 0 ? name : " ", cpu);
    }
    if (file == NULL || fprintf(file, "ctxt 4711\nbtime 1\nprocesses 42\nprocs_running 1\n") < 0 ||
        fclose(file) != 0) {
        perror(path);
        exit(2);
    }
}

static double floor_stat(void *context, size_t count)
{
    const struct many *many = context;
    double start = bench_now_ns();
    for (size_t i = 0; i < count; i++) {
        bench_read_bare(many->fd);
    }
    return (bench_now_ns() - start) / (double)count;
}

static double read_stat(void *context, size_t count)
{
    struct many *many = context;
    double values[64];
    double start = bench_now_ns();
    for (size_t i = 0; i < count; i++) {
        bench_check(rm_collect_node_cpu.read(&many->collect, many->state, values));
    }
    return (bench_now_ns() - start) / (double)count;
}

static void bench_many(struct bench *bench, const char *what, unsigned cpus)
{
    char root[] = "/tmp/resmon-bench-XXXXXX", path[128];
    struct many many = {.state = calloc(1, rm_collect_node_cpu.state_bytes)};
    if (mkdtemp(root) == NULL || many.state == NULL) {
        abort();
    }
    make_stat(root, cpus);
    (void)snprintf(path, sizeof path, "%s/proc/stat", root);
    many.fd = open(path, O_RDONLY | O_CLOEXEC);
    bench_check(rm_collect_init(&many.collect, root, 0, 0));
    bench_check(rm_collect_node_cpu.open(&many.collect, many.state));
    bench_ratio(bench, what, floor_stat, read_stat, &many, 200, 0.0);
    rm_collect_node_cpu.close(many.state);
    rm_collect_free(&many.collect);
    free(many.state);
    (void)close(many.fd);
    (void)unlink(path);
    *strrchr(path, '/') = '\0';
    (void)rmdir(path);
    (void)rmdir(root);
}

int main(int argc, char **argv)
{
    struct bench bench = bench_begin(argc, argv, "bench_sample");
    static struct setup setup;
    open_files(&setup);
    (void)isolated_call(set_up, &setup, 1);
    bench_ratio(&bench, "full process + node sample", floor_reads, our_samples, &setup, 2000, 1.2);
    bench_psutil("sample", bench_median(&bench, our_samples, &setup, 200));
    (void)isolated_call(tear_down, &setup, 1);
    bench_many(&bench, "CPU figures of 128 processors", 128);
    bench_many(&bench, "CPU figures of 1,024 processors", 1024);
    return bench_end(&bench);
}
