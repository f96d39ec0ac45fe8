/* SPDX-License-Identifier: MIT */
/*
 * A run of 1024 rows x 80 columns written as a document and loaded again, against cJSON alone
 * printing and parsing the same numbers.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <resmon/resmon.h>

#include "base/buffer.h"
#include "base/number.h"
#include "bench.h"
#include "format/document.h"
#include "format/json.h"
#include "run/record.h"
#include "run/run.h"

#define ROWS    1024
#define COLUMNS 80
#define PATH    "bench-document.json"

static resmon_run *make_run(void)
{
    resmon_run *run = rm_run_new();
    if (run == NULL) {
        abort();
    }
    run->info.state = "stopped";
    run->column_count = COLUMNS;
    run->row_count = ROWS;
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
    for (size_t c = 0; c < COLUMNS; c++) {
        run->columns[c] = (resmon_column){.metric = "proc.mem.rss",
                                          .unit = "B",
                                          .instance = "",
                                          .source = "proc_mem",
                                          .kind = RESMON_GAUGE,
                                          .level = RESMON_LEVEL_PROCESS};
    }
    srand(1);
    for (size_t i = 0; i < (size_t)ROWS * COLUMNS * RM_SERIES_KINDS; i++) {
        run->values[i] = (double)rand() / 7.0;
    }
    return run;
}

static void print_numbers(struct rm_buffer *text, const double *values)
{
    rm_buffer_puts(text, "[");
    for (size_t i = 0; i < ROWS; i++) {
        char number[RM_NUMBER_BYTES];
        rm_buffer_add(text, number, rm_number_double(number, values[i]));
        rm_buffer_puts(text, i + 1 < ROWS ? "," : "]");
    }
}

/* What any program must do that prints these numbers exactly, and reads them with cJSON. */
static double floor_numbers(void *context, size_t count)
{
    const resmon_run *run = context;
    double start = bench_now_ns();
    for (size_t i = 0; i < count; i++) {
        for (size_t c = 0; c < COLUMNS * RM_SERIES_KINDS; c++) {
            struct rm_json *back = NULL;
            struct rm_buffer text;
            rm_buffer_init(&text, SIZE_MAX / 4);
            print_numbers(&text, run->values + c * ROWS);
            if (text.status != RESMON_OK ||
                rm_json_parse(text.text, text.length, &back) != RESMON_OK) {
                abort();
            }
            rm_json_free(back);
            rm_buffer_free(&text);
        }
    }
    return (bench_now_ns() - start) / (double)count;
}

static double save_and_load(void *context, size_t count)
{
    double start = bench_now_ns();
    for (size_t i = 0; i < count; i++) {
        resmon_run *back = NULL;
        if (resmon_run_save(context, PATH) != RESMON_OK ||
            resmon_run_load(PATH, &back) != RESMON_OK) {
            fprintf(stderr, "cannot save or load: %s\n", resmon_last_error());
            exit(2);
        }
        resmon_run_free(back);
    }
    return (bench_now_ns() - start) / (double)count;
}

int main(int argc, char **argv)
{
    struct bench bench = bench_begin(argc, argv, "bench_document");
    bench.is_quick = true; /* a round takes most of a second */
    resmon_run *run = make_run();
    struct stat info;
    bench_ratio(&bench, "1024 x 80, written and loaded", floor_numbers, save_and_load, run, 1, 1.5);
    if (stat(PATH, &info) == 0) {
        bench_value(&bench, "size of the document", (double)info.st_size / 1e6, "MB", 0.0);
    }
    (void)unlink(PATH);
    resmon_run_free(run);
    return bench_end(&bench);
}
