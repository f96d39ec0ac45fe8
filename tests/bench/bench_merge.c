/* SPDX-License-Identifier: MIT */
/*
 * Jobs merged: 1,000 nodes of 400 rows x 100 columns, and 10,000 ranks with 50 scopes each; how it
 * grows with the nodes, and what it takes with the parsing of their documents.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <resmon/resmon.h>

#include "base/buffer.h"
#include "bench.h"
#include "format/document.h"
#include "merge/merge.h"
#include "merge/steps.h"
#include "metric/metric.h"
#include "run/record.h"

#define ROWS    400
#define COLUMNS 100
#define SCOPES  50
#define NODES   1000
#define RANKS   10000

static void say(struct resmon_run *run, const char *group, const char *key, const char *value,
                char kind)
{
    run->facts[run->fact_count++] = (struct rm_fact){group, key, value, kind};
}

static char node_name[32], node_index[32], rank_text[32];

static void make_rows(struct resmon_run *run)
{
    run->columns = rm_arena_alloc(&run->strings, COLUMNS, sizeof *run->columns);
    run->t_first = rm_arena_alloc(&run->strings, ROWS, sizeof *run->t_first);
    run->t_last = rm_arena_alloc(&run->strings, ROWS, sizeof *run->t_last);
    run->row_samples = rm_arena_alloc(&run->strings, ROWS, sizeof *run->row_samples);
    run->values = rm_arena_alloc(&run->strings, (size_t)ROWS * COLUMNS * RM_SERIES_KINDS,
                                 sizeof *run->values);
    if (run->columns == NULL || run->t_first == NULL || run->t_last == NULL ||
        run->row_samples == NULL || run->values == NULL) {
        abort();
    }
    run->column_count = COLUMNS;
    run->row_count = ROWS;
    for (size_t c = 0; c < COLUMNS; c++) {
        const struct rm_metric *metric = rm_metric_row(c);
        rm_record_clear(RM_RECORD_statistics, &run->columns[c]);
        run->columns[c].metric = rm_metric_name(metric);
        run->columns[c].unit = rm_metric_unit(metric);
        run->columns[c].instance = "";
        run->columns[c].source = "made";
        run->columns[c].kind = (int32_t)(metric->kind & RM_KIND_MASK);
        run->columns[c].level = metric->level;
        run->columns[c].n = ROWS;
        run->columns[c].duration_s = ROWS;
    }
    for (size_t i = 0; i < ROWS; i++) {
        run->t_first[i] = (int64_t)i * 1000000000;
        run->t_last[i] = (int64_t)(i + 1) * 1000000000;
        run->row_samples[i] = 10;
    }
    srand(1);
    for (size_t i = 0; i < (size_t)ROWS * COLUMNS * RM_SERIES_KINDS; i++) {
        run->values[i] = (double)(i % ROWS) + (double)rand() / RAND_MAX;
    }
}

static void make_scopes(struct resmon_run *run)
{
    static char names[SCOPES][16];
    run->scopes = rm_arena_alloc(&run->strings, SCOPES, sizeof *run->scopes);
    if (run->scopes == NULL) {
        abort();
    }
    for (size_t i = 0; i < SCOPES; i++) {
        rm_record_clear(RM_RECORD_scope, &run->scopes[i]);
        (void)snprintf(names[i], sizeof names[i], "scope %zu", i);
        run->scopes[i].name = names[i];
        run->scopes[i].file = "made.c";
        run->scopes[i].function = "made";
        run->scopes[i].parent = i % 5 == 0 ? -1 : (int64_t)i - 1;
        run->scopes[i].depth = i % 5;
        run->scopes[i].calls = 10;
        run->scopes[i].wall_ns = 1e9 + (double)i;
        run->scopes[i].open_ns = run->scopes[i].concurrent_ns = 0.0;
    }
    run->scope_count = SCOPES;
}

/* Whose node and rank are what stands in the texts above. */
static resmon_run *make_run(bool has_rows)
{
    resmon_run *run = rm_run_new();
    if (run == NULL) {
        abort();
    }
    run->info.state = "stopped";
    run->info.start_realtime_ns = INT64_C(1764000000000000000);
    run->info.duration_ns = ROWS * INT64_C(1000000000);
    run->info.stride = 10;
    run->facts = rm_arena_alloc(&run->strings, 16, sizeof *run->facts);
    if (run->facts == NULL) {
        abort();
    }
    say(run, "job", "system", "slurm", RM_FACT_TEXT);
    say(run, "job", "id", "4711", RM_FACT_TEXT);
    say(run, "job", "node_name", node_name, RM_FACT_TEXT);
    say(run, "job", "node_index", node_index, RM_FACT_NUMBER);
    say(run, "job", "rank", rank_text, RM_FACT_NUMBER);
    say(run, "job", "reports_host", has_rows ? "1" : "0", RM_FACT_NUMBER);
    say(run, "settings", "interval_ms", "100", RM_FACT_NUMBER);
    if (has_rows) {
        make_rows(run);
    } else {
        make_scopes(run);
    }
    return run;
}

static void set_place(size_t node, size_t rank)
{
    (void)snprintf(node_name, sizeof node_name, "node%04zu", node);
    (void)snprintf(node_index, sizeof node_index, "%zu", node);
    (void)snprintf(rank_text, sizeof rank_text, "%zu", rank);
}

/* Seconds; the most memory that it took. */
static double merge(const resmon_run *run, size_t nodes, size_t ranks_of_node, double *ret_bytes)
{
    struct rm_merge merge;
    struct resmon_run *merged = NULL;
    double before = bench_resident_bytes(), begin = bench_now_ns();
    rm_merge_begin(&merge);
    for (size_t i = 0; i < nodes * ranks_of_node; i++) {
        set_place(i / ranks_of_node, i);
        if (rm_merge_add(&merge, run) != RESMON_OK) {
            fprintf(stderr, "%s\n", resmon_last_error());
            exit(2);
        }
    }
    if (rm_merge_make(&merge, &merged) != RESMON_OK) {
        exit(2);
    }
    double seconds = (bench_now_ns() - begin) / 1e9;
    *ret_bytes = bench_resident_bytes() - before;
    rm_run_free(merged);
    rm_merge_free(&merge);
    return seconds;
}

/* The document of one node, parsed. */
struct both {
    const resmon_run *run;
    struct rm_buffer text;
};

static double parse(void *context, size_t count)
{
    const struct rm_buffer *text = &((struct both *)context)->text;
    double start = bench_now_ns();
    for (size_t i = 0; i < count; i++) {
        resmon_run *run = NULL;
        if (rm_document_parse(text->text, text->length, &run) != RESMON_OK) {
            exit(2);
        }
        rm_run_free(run);
    }
    return (bench_now_ns() - start) / (double)count;
}

static double add_one(void *context, size_t count)
{
    double bytes, seconds = merge(((struct both *)context)->run, count, 1, &bytes);
    return seconds * 1e9 / (double)count;
}

int main(int argc, char **argv)
{
    struct bench bench = bench_begin(argc, argv, "bench_merge");
    double bytes;
    bench.is_quick = true; /* a round takes seconds */
    set_place(0, 0);
    resmon_run *node = make_run(true), *rank = make_run(false);
    struct both both = {.run = node};
    rm_buffer_init(&both.text, (size_t)64 << 20);
    if (rm_document_print(node, &both.text) != RESMON_OK) {
        exit(2);
    }
    double quarter = merge(node, NODES / 4, 1, &bytes), all = merge(node, NODES, 1, &bytes);
    bench_value(&bench, "1,000 nodes x 400 rows x 100 columns merged", all, "s", 10.0);
    bench_value(&bench, "memory for that", bytes / 1048576.0, "MiB", 1024.0);
    bench_value(&bench, "a node of 1,000, by one of 250", all / quarter / 4.0, "", 1.5);
    bench_ratio(&bench, "a node: its document parsed, and merged", parse, add_one, &both, 100, 0.0);
    double ranks = merge(rank, NODES, RANKS / NODES, &bytes);
    bench_value(&bench, "10,000 ranks x 50 scopes merged", ranks, "s", 10.0);
    bench_value(&bench, "memory for that", bytes / 1048576.0, "MiB", 512.0);
    rm_buffer_free(&both.text);
    rm_run_free(node);
    rm_run_free(rank);
    return bench_end(&bench);
}
