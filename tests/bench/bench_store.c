/* SPDX-License-Identifier: MIT */
/*
 * The store on a fake clock: 10^8 samples of one column (months at 100 ms), then a wide run; time a
 * sample, and memory that must not grow.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <resmon/resmon.h>

#include "bench.h"
#include "metric/metric.h"
#include "os/mapping.h"
#include "store/layout.h"
#include "store/series.h"

struct store {
    struct rm_mapping mapping;
    struct rm_block block;
    size_t columns;
};

static void open_store(struct store *store, size_t columns)
{
    struct rm_block_sizes sizes = {
        .columns = columns,
        .rows = 400,
        .sources = 1,
        .tags = 1024,
        .sites = 1024,
        .nodes = 2048,
        .threads = 256,
        .depth = 64,
        .fact_bytes = 8192,
    };
    uint64_t bytes;
    if (rm_block_measure(&sizes, &bytes) != RESMON_OK ||
        rm_mapping_anonymous(&store->mapping, bytes) != RESMON_OK) {
        fprintf(stderr, "cannot set up: %s\n", resmon_last_error());
        exit(2);
    }
    rm_block_format(&store->block, store->mapping.memory, &sizes);
    struct rm_column *column = rm_block_record(&store->block, RM_SECTION_COLUMNS, 0);
    for (size_t c = 0; c < columns; c++) {
        column[c].metric = c % 2 == 0 ? RM_PROC_MEM_RSS : RM_PROC_IO_READ_BYTES;
        column[c].kind = c % 2 == 0 ? RESMON_GAUGE : RESMON_COUNTER;
    }
    rm_series_begin(&store->block);
    store->columns = columns;
}

/* Adds samples 100 ms apart; returns the real time that one took. */
static double add_samples(struct store *store, size_t count, uint64_t *clock)
{
    static double values[RM_MAX_COLUMNS];
    const struct rm_sampler_cost cost = {0};
    double start = bench_now_ns();
    for (size_t i = 0; i < count; i++) {
        uint64_t t = (*clock)++;
        for (size_t c = 0; c < store->columns; c++) {
            values[c] =
                c % 2 == 0 ? (double)((t * 2654435761U) & 0xffffff) + 1.0 : (double)t * 512.0;
        }
        struct rm_sample sample = {.t_ns = (int64_t)t * 100000000, .values = values};
        rm_series_add(&store->block, &sample, &cost);
    }
    return (bench_now_ns() - start) / (double)count;
}

static void check_totals(struct bench *bench, const struct store *store, uint64_t samples)
{
    const struct rm_commit *state = rm_series_state(&store->block);
    uint64_t in_rows = state->rows * state->stride + state->open.n;
    if (state->samples != samples || in_rows != samples) {
        printf("  LOST SAMPLES: %llu of %llu\n", (unsigned long long)in_rows,
               (unsigned long long)samples);
        bench->has_failed = true;
    }
}

int main(int argc, char **argv)
{
    struct bench bench = bench_begin(argc, argv, "bench_store");
    size_t many = bench.is_quick ? 1000000 : 100000000;
    struct store narrow, wide;
    uint64_t clock = 0;
    open_store(&narrow, 1);
    (void)add_samples(&narrow, 1000000, &clock);
    (void)bench_resident_bytes(); /* its own code is resident from here on */
    double before = bench_resident_bytes();
    double ns = add_samples(&narrow, many, &clock);
    double after = bench_resident_bytes();
    check_totals(&bench, &narrow, clock);
    printf("  %zu samples of one column, %llu halvings\n", many,
           (unsigned long long)rm_series_state(&narrow.block)->halvings);
    bench_value(&bench, "a sample of one column", ns, "ns", 0.0);
    bench_value(&bench, "growth of memory", (after - before) / 1024.0, "KiB", 128.0);

    double base = bench_resident_bytes();
    clock = 0;
    open_store(&wide, 133);
    ns = add_samples(&wide, bench.is_quick ? 10000 : 1000000, &clock);
    check_totals(&bench, &wide, clock);
    bench_value(&bench, "a sample of 133 columns, per column", ns / 133.0, "ns", 0.0);
    bench_value(&bench, "memory of a full run of 133 columns",
                (bench_resident_bytes() - base) / 1048576.0, "MiB", 4.0);
    rm_mapping_free(&narrow.mapping);
    rm_mapping_free(&wide.mapping);
    return bench_end(&bench);
}
