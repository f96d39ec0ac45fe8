/* SPDX-License-Identifier: MIT */
/*
 * What reading four energy counters costs, against four bare preads of the same files.  The files
 * are of sysfs, as the counters are, but not those: reading RAPL itself takes some microseconds
 * more on both sides.  And what the tables of carbon and processors cost a look-up, and the
 * division of energy among scopes a sample.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <resmon/carbon.h>

#include "bench.h"
#include "carbon/power.h"
#include "collect/energy_zones.h"
#include "isolated.h"
#include "os/perf.h"
#include "store/layout.h"
#include "store/scope_energy.h"

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

static double open_zones(void *context, size_t unused)
{
    struct setup *setup = context;
    (void)unused;
    bench_check(rm_root_open(&setup->root, setup->directory));
    bench_check(rm_scratch_init(&setup->scratch));
    bench_check(
        rm_energy_zones_open(&setup->zones, &setup->root, &setup->scratch, rm_perf_open_none));
    return 0.0;
}

static double close_zones(void *context, size_t unused)
{
    struct setup *setup = context;
    (void)unused;
    rm_energy_zones_close(&setup->zones);
    rm_scratch_free(&setup->scratch);
    rm_root_close(&setup->root);
    return 0.0;
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
    (void)isolated_call(open_zones, setup, 1);
}

static void tear_down(struct setup *setup)
{
    char command[128];
    (void)isolated_call(close_zones, setup, 1);
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

static double read_zones(void *context, size_t count)
{
    struct setup *setup = context;
    double start = bench_now_ns();
    for (size_t i = 0; i < count; i++) {
        setup->now_ns += 1000000000;
        rm_energy_zones_read(&setup->zones, &setup->scratch, setup->now_ns, setup->now_ns);
    }
    return (bench_now_ns() - start) / (double)count;
}

static double our_reads(void *setup, size_t count)
{
    return isolated_call(read_zones, setup, count);
}

static double look_up_place(void *context, size_t count)
{
    const resmon_carbon_options options = {
        .struct_size = sizeof options, .country = "FR", .flags = RESMON_CARBON_NO_SITE};
    resmon_carbon_intensity found = {.struct_size = sizeof found};
    (void)context;
    double start = bench_now_ns();
    for (size_t i = 0; i < count; i++) {
        bench_check(resmon_carbon_find(&options, &found));
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

/* ---- scopes ----------------------------------------------------------------------------- */

#define SCOPES  1000U
#define THREADS 8U

/* A full tree of scopes, three deep, in each of the threads; all of them ran in each slice. */
static struct rm_block made_trees(void)
{
    const struct rm_block_sizes sizes = {.rows = 2,
                                         .sources = 1,
                                         .tags = 1,
                                         .sites = 2,
                                         .nodes = SCOPES + THREADS + 2,
                                         .threads = THREADS,
                                         .depth = 4,
                                         .fact_bytes = 1,
                                         .scope_energy = 1};
    struct rm_block block;
    uint64_t bytes;
    bench_check(rm_block_measure(&sizes, &bytes));
    void *memory = aligned_alloc(64, (bytes + 63) / 64 * 64);
    if (memory == NULL) {
        abort();
    }
    memset(memory, 0, bytes);
    rm_block_format(&block, memory, &sizes);
    block.header->retired_root = rm_node_ref_of(1);
    for (uint64_t i = 0; i < THREADS; i++) {
        struct rm_scope_thread_record *thread = rm_block_record(&block, RM_SECTION_THREADS, i);
        thread->state = RM_THREAD_LIVE;
        thread->root = rm_node_ref_of(2 + i);
    }
    for (uint64_t i = 0; i < SCOPES; i++) {
        uint64_t own = 2 + THREADS + i;
        uint64_t parent = i < THREADS * 13 ? 2 + i % THREADS : own - THREADS * 13;
        struct rm_scope_node *above = rm_node_at(&block, rm_node_ref_of(parent));
        struct rm_scope_node *node = rm_node_at(&block, rm_node_ref_of(own));
        node->site = 1;
        node->next = above->first_child;
        above->first_child = rm_node_ref_of(own);
    }
    return block;
}

static double divide_energy(void *context, size_t count)
{
    const struct rm_block *block = context;
    static const double cpu_s[THREADS] = {0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1};
    const struct rm_energy_slice slice = {
        .elapsed = 1000000, .cpu_j = 10.0, .other_j = 1.0, .cpu_s = 1.0, .thread_cpu_s = cpu_s};
    double ns = 0.0;
    for (size_t i = 0; i < count; i++) {
        for (uint64_t n = 2 + THREADS; n < 2 + THREADS + SCOPES; n++) {
            rm_node_at(block, rm_node_ref_of(n))->sums[0].total += 1000;
        }
        double start = bench_now_ns();
        rm_scope_energy_divide(block, &slice);
        ns += bench_now_ns() - start;
    }
    return ns / (double)count;
}

static void bench_scopes(struct bench *bench)
{
    struct rm_block block = made_trees();
    bench_value(bench, "energy among 1000 scopes, 8 threads",
                bench_median(bench, divide_energy, &block, 200) / 1e3, "us", 1000.0);
    free(block.base);
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
    bench_scopes(&bench);
    tear_down(&setup);
    return bench_end(&bench);
}
