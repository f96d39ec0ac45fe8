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
#include "engine/sampler.h"
#include "os/mapping.h"
#include "setup/options.h"

static const char *const files[] = {
    "/proc/self/stat",    "/proc/self/io",         "/proc/self/statm",  "/proc/self/status",
    "/proc/stat",         "/proc/loadavg",         "/proc/meminfo",     "/proc/vmstat",
    "/proc/pressure/cpu", "/proc/pressure/memory", "/proc/pressure/io", "/proc/diskstats",
    "/proc/net/dev",
};

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

static double our_samples(void *context, size_t count)
{
    struct setup *setup = context;
    double start = bench_now_ns();
    for (size_t i = 0; i < count; i++) {
        rm_sampler_take(&setup->sampler, rm_clock_monotonic_ns(), RM_SAMPLE_ALL);
    }
    return (bench_now_ns() - start) / (double)count;
}

static void check(resmon_status status)
{
    if (status != RESMON_OK) {
        fprintf(stderr, "cannot set up: %s\n", resmon_last_error());
        exit(2);
    }
}

static void set_up(struct setup *setup)
{
    resmon_monitor_options given = {
        .struct_size = sizeof given,
        .domains = RESMON_DOMAIN_PROCESS | RESMON_DOMAIN_NODE,
        .max_overhead = 1.0,
    };
    struct rm_block block;
    struct rm_sampler_output output = {0};
    uint64_t bytes;
    setup->root = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    for (size_t f = 0; f < FILE_COUNT; f++) {
        setup->fds[f] = open(files[f], O_RDONLY | O_CLOEXEC);
    }
    if (clock_getcpuclockid(getpid(), &setup->clock) != 0) {
        abort();
    }
    check(rm_options_read(&given, &setup->options));
    rm_sampler_prepare(&setup->sampler, &setup->options);
    check(rm_sampler_open(&setup->sampler));
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
    check(rm_block_measure(&sizes, &bytes));
    check(rm_mapping_anonymous(&setup->mapping, bytes));
    rm_block_format(&block, setup->mapping.memory, &sizes);
    block.header->start = rm_clock_read_pair();
    check(rm_sampler_begin(&setup->sampler, &block, &output));
    printf("  %zu sources, %zu columns\n", setup->sampler.source_count,
           setup->sampler.column_count);
}

int main(int argc, char **argv)
{
    struct bench bench = bench_begin(argc, argv, "bench_sample");
    static struct setup setup;
    set_up(&setup);
    bench_ratio(&bench, "full process + node sample", floor_reads, our_samples, &setup, 2000, 1.3);
    bench_psutil("sample", bench_median(&bench, our_samples, &setup, 200));
    rm_sampler_close_sources(&setup.sampler);
    rm_sampler_close(&setup.sampler);
    rm_options_free(&setup.options);
    rm_mapping_free(&setup.mapping);
    return bench_end(&bench);
}
