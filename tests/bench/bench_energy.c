/* SPDX-License-Identifier: MIT */
/*
 * What reading four energy counters costs, against four bare preads of the same files.  The files
 * are of sysfs, as the counters are, but not those: reading RAPL itself takes some microseconds
 * more on both sides.  And what the tables of carbon and processors cost a look-up.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <resmon/carbon.h>

#include "bench.h"
#include "carbon/cpu_power.h"
#include "collect/energy_zones.h"
#include "sys/perf.h"

#define ZONES   4
#define COUNTER "/sys/class/net/lo/statistics/rx_bytes"

static const char *const ids[ZONES] = {"intel-rapl:0", "intel-rapl:0:0", "intel-rapl:1",
                                       "intel-rapl:1:0"};

struct setup {
    char directory[64];
    int fds[ZONES];
    struct rm_root root;
    struct rm_scratch scratch;
    struct rm_energy_zones zones;
    int64_t now_ns;
};

static void check(resmon_status status)
{
    if (status != RESMON_OK) {
        fprintf(stderr, "cannot set up: %s\n", resmon_last_error());
        exit(2);
    }
}

static void make_directory(const struct setup *setup, const char *path)
{
    char full[512];
    (void)snprintf(full, sizeof full, "%s/%s", setup->directory, path);
    if (mkdir(full, 0700) != 0) {
        abort();
    }
}

static void make_zone(struct setup *setup, size_t index)
{
    char path[128], full[512];
    (void)snprintf(path, sizeof path, "sys/class/powercap/%s", ids[index]);
    make_directory(setup, path);
    (void)snprintf(full, sizeof full, "%s/%s/name", setup->directory, path);
    FILE *file = fopen(full, "w");
    if (file == NULL || fprintf(file, index % 2 == 0 ? "package-%zu\n" : "dram\n", index / 2) < 0 ||
        fclose(file) != 0) {
        abort();
    }
    (void)snprintf(full, sizeof full, "%s/%s/energy_uj", setup->directory, path);
    if (symlink(COUNTER, full) != 0) {
        abort();
    }
    setup->fds[index] = open(COUNTER, O_RDONLY | O_CLOEXEC);
}

static void set_up(struct setup *setup)
{
    (void)snprintf(setup->directory, sizeof setup->directory, "/tmp/resmon-bench-XXXXXX");
    if (mkdtemp(setup->directory) == NULL) {
        abort();
    }
    make_directory(setup, "sys");
    make_directory(setup, "sys/class");
    make_directory(setup, "sys/class/powercap");
    for (size_t i = 0; i < ZONES; i++) {
        make_zone(setup, i);
    }
    check(rm_root_open(&setup->root, setup->directory));
    check(rm_scratch_init(&setup->scratch));
    check(rm_energy_zones_open(&setup->zones, &setup->root, &setup->scratch, rm_perf_open_none));
}

static void tear_down(struct setup *setup)
{
    char command[128];
    rm_energy_zones_close(&setup->zones);
    rm_scratch_free(&setup->scratch);
    rm_root_close(&setup->root);
    (void)snprintf(command, sizeof command, "rm -r %s", setup->directory);
    if (system(command) != 0) {
        abort();
    }
}

static double floor_reads(void *context, size_t count)
{
    struct setup *setup = context;
    char text[64];
    double start = bench_now_ns();
    for (size_t i = 0; i < count; i++) {
        for (size_t z = 0; z < ZONES; z++) {
            if (pread(setup->fds[z], text, sizeof text, 0) <= 0) {
                abort();
            }
        }
    }
    return (bench_now_ns() - start) / (double)count;
}

static double our_reads(void *context, size_t count)
{
    struct setup *setup = context;
    double start = bench_now_ns();
    for (size_t i = 0; i < count; i++) {
        setup->now_ns += 1000000000;
        rm_energy_zones_read(&setup->zones, &setup->scratch, setup->now_ns, setup->now_ns);
    }
    return (bench_now_ns() - start) / (double)count;
}

static double look_up_place(void *context, size_t count)
{
    const resmon_carbon_options options = {
        .struct_size = sizeof options, .country = "FR", .flags = RESMON_CARBON_NO_SITE};
    resmon_carbon_intensity found = {.struct_size = sizeof found};
    (void)context;
    double start = bench_now_ns();
    for (size_t i = 0; i < count; i++) {
        check(resmon_carbon_find(&options, &found));
    }
    return (bench_now_ns() - start) / (double)count;
}

static double look_up_processor(void *context, size_t count)
{
    char name[RM_CPU_NAME_BYTES];
    (void)context;
    double start = bench_now_ns();
    for (size_t i = 0; i < count; i++) {
        if (!(rm_cpu_tdp("AMD EPYC 7763 64-Core Processor", name) > 0.0)) {
            abort();
        }
    }
    return (bench_now_ns() - start) / (double)count;
}

int main(int argc, char **argv)
{
    struct bench bench = bench_begin(argc, argv, "bench_energy");
    static struct setup setup;
    if (access(COUNTER, R_OK) != 0) {
        printf("  skipped: there is no " COUNTER "\n");
        return bench_end(&bench);
    }
    set_up(&setup);
    bench_count(&bench, "zones", setup.zones.count, ZONES);
    bench_ratio(&bench, "energy of four zones", floor_reads, our_reads, &setup, 20000, 1.3);
    bench_value(&bench, "a place in the tables",
                bench_median(&bench, look_up_place, NULL, 1000) / 1e3, "us", 0.0);
    bench_value(&bench, "a processor in the table",
                bench_median(&bench, look_up_processor, NULL, 10) / 1e3, "us", 0.0);
    tear_down(&setup);
    return bench_end(&bench);
}
