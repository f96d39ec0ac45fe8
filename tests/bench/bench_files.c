/* SPDX-License-Identifier: MIT */
/*
 * What sinks write to files, against write() of the same bytes: the table of a run as comma-
 * separated values, whole and line by line, and a trace of 4 threads x 100000 scopes.  All numbers
 * have fractions to the last digit: the slowest to print.  And the printing of one number alone.
 *
 * In memory (/dev/shm) where there is such a file system: the disk's speed is not ours.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <resmon/resmon.h>

#include "base/compiler.h"
#include "base/number.h"
#include "bench.h"
#include "format/csv.h"
#include "metric/metric.h"
#include "run/record.h"
#include "run/run.h"
#include "sink/sinks.h"

#define THREADS 4
#define EVENTS  100000
#define NAMES   50
#define ROWS    4096
#define COLUMNS 100
#define PIECE   65536
#define NUMBERS 1024

/* What is written, and where. */
struct work {
    struct resmon_run *run;
    char path[64];
    char columns_path[64]; /* of the columns' file beside it */
    size_t bytes;          /* that ours comes to */
    double *lines;         /* ROWS x COLUMNS, row after row */
    double numbers[NUMBERS];
};

/* ---- a run ------------------------------------------------------------------------------ */

static void add_events(struct resmon_run *run)
{
    run->threads = bench_need(rm_arena_alloc(&run->strings, THREADS, sizeof *run->threads));
    run->event_names = bench_need(rm_arena_alloc(&run->strings, NAMES, sizeof *run->event_names));
    run->events = bench_need(rm_arena_alloc(&run->strings, THREADS * EVENTS, sizeof *run->events));
    run->thread_count = THREADS;
    run->event_name_count = NAMES;
    run->event_count = (size_t)THREADS * EVENTS;
    for (size_t i = 0; i < NAMES; i++) {
        char name[32];
        (void)snprintf(name, sizeof name, "phase \"%zu\" of many", i);
        run->event_names[i] = bench_need((void *)(uintptr_t)rm_arena_text(&run->strings, name, 32));
    }
    for (uint32_t t = 0; t < THREADS; t++) {
        run->threads[t] = (struct rm_run_thread){100000 + t, "worker"};
        for (size_t i = 0; i < EVENTS; i++) {
            run->events[t * (size_t)EVENTS + i] =
                (struct rm_run_event){.start_ns = (int64_t)i * 1234567,
                                      .duration_ns = 1000000 + rand() % 200000,
                                      .name = (uint32_t)(i % NAMES),
                                      .thread = t};
        }
    }
}

static void add_rows(struct resmon_run *run)
{
    size_t values = (size_t)COLUMNS * RM_SERIES_KINDS * ROWS;
    run->column_count = COLUMNS;
    run->row_count = ROWS;
    run->columns = bench_need(rm_arena_alloc(&run->strings, COLUMNS, sizeof *run->columns));
    run->t_first = bench_need(rm_arena_alloc(&run->strings, ROWS, sizeof *run->t_first));
    run->t_last = bench_need(rm_arena_alloc(&run->strings, ROWS, sizeof *run->t_last));
    run->row_samples = bench_need(rm_arena_alloc(&run->strings, ROWS, sizeof *run->row_samples));
    run->values = bench_need(rm_arena_alloc(&run->strings, values, sizeof *run->values));
    for (size_t c = 0; c < COLUMNS; c++) {
        const struct rm_metric *metric = rm_metric_row(c);
        run->columns[c] = (resmon_column){.metric = rm_metric_name(metric),
                                          .unit = rm_metric_unit(metric),
                                          .kind = metric->kind & RM_KIND_MASK,
                                          .instance = ""};
    }
    for (size_t i = 0; i < ROWS; i++) {
        run->t_first[i] = run->t_last[i] = (int64_t)i * 120000000;
        run->row_samples[i] = 1;
    }
    for (size_t i = 0; i < values; i++) {
        run->values[i] = (double)rand() / 7.0;
    }
}

static void set_up(struct work *work)
{
    const char *place = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : ".";
    work->run = bench_need(rm_run_new());
    work->lines = bench_need(malloc(sizeof *work->lines * ROWS * COLUMNS));
    printf("  files in %s\n", place);
    (void)snprintf(work->path, sizeof work->path, "%s/bench-%ld.csv", place, (long)getpid());
    (void)snprintf(work->columns_path, sizeof work->columns_path, "%s/bench-%ld-columns.csv", place,
                   (long)getpid());
    add_rows(work->run);
    add_events(work->run);
    for (size_t i = 0; i < (size_t)ROWS * COLUMNS; i++) {
        work->lines[i] = (double)rand() / 7.0;
    }
}

static void set_bytes(struct work *work)
{
    struct stat info;
    work->bytes = stat(work->path, &info) == 0 ? (size_t)info.st_size : 0;
}

/* ---- floors ----------------------------------------------------------------------------- */

/* As many bytes, `piece` by `piece`. */
static double write_pieces(const struct work *work, size_t piece)
{
    static char bytes[PIECE];
    memset(bytes, '7', sizeof bytes);
    double start = bench_now_ns();
    int fd = open(work->path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    for (size_t done = 0; done < work->bytes; done += piece) {
        size_t length = work->bytes - done < piece ? work->bytes - done : piece;
        if (write(fd, bytes, length) != (ssize_t)length) {
            abort();
        }
    }
    if (fsync(fd) != 0 || close(fd) != 0) {
        abort();
    }
    return bench_now_ns() - start;
}

static double bare_pieces(void *context, size_t count)
{
    (void)count;
    return write_pieces(context, PIECE);
}

static double bare_lines(void *context, size_t count)
{
    const struct work *work = context;
    (void)count;
    return write_pieces(work, work->bytes / ROWS);
}

static double bare_printf(void *context, size_t count)
{
    const struct work *work = context;
    char text[RM_NUMBER_BYTES];
    double start = bench_now_ns();
    for (size_t i = 0; i < count; i++) {
        if (snprintf(text, sizeof text, "%.17g", work->numbers[i % NUMBERS]) <= 0) {
            abort();
        }
    }
    return (bench_now_ns() - start) / (double)count;
}

/* ---- ours ------------------------------------------------------------------------------- */

static double csv_whole(void *context, size_t count)
{
    const struct work *work = context;
    (void)count;
    double start = bench_now_ns();
    bench_check(resmon_run_save_csv(work->run, work->path));
    return bench_now_ns() - start;
}

static double csv_lines(void *context, size_t count)
{
    const struct work *work = context;
    const resmon_csv_options options = {.struct_size = sizeof options, .path = work->path};
    struct rm_sink sink;
    (void)count;
    bench_check(rm_sink_make(rm_sink_kind_find("csv"), &options, &sink));
    bench_check(sink.ops.start(sink.context, work->run));
    double start = bench_now_ns();
    for (size_t i = 0; i < ROWS; i++) {
        const resmon_rows rows = {.struct_size = sizeof rows,
                                  .run = work->run,
                                  .row_count = 1,
                                  .column_count = COLUMNS,
                                  .t_ns = &work->run->t_last[i],
                                  .values = work->lines + i * COLUMNS};
        bench_check(sink.ops.rows(sink.context, &rows));
    }
    bench_check(sink.ops.stop(sink.context, work->run));
    double elapsed = bench_now_ns() - start;
    sink.ops.close(sink.context);
    return elapsed;
}

static double trace(void *context, size_t count)
{
    const struct work *work = context;
    const resmon_run *const runs[] = {work->run};
    (void)count;
    double start = bench_now_ns();
    bench_check(resmon_trace_save(runs, 1, work->path));
    return bench_now_ns() - start;
}

static double numbers(void *context, size_t count)
{
    const struct work *work = context;
    char text[RM_NUMBER_BYTES];
    double start = bench_now_ns();
    for (size_t i = 0; i < count; i++) {
        if (rm_number_double(text, work->numbers[i % NUMBERS]) == 0) {
            abort();
        }
    }
    return (bench_now_ns() - start) / (double)count;
}

/* ---- rows ------------------------------------------------------------------------------- */

static void bench_numbers(struct bench *bench, struct work *work)
{
    static const struct {
        const char *what;
        double divisor;
    } kinds[] = {
        {"whole number, against snprintf", 1.0},
        {"with two places", 100.0},
        {"with all its digits", 7.0},
    };
    for (size_t k = 0; k < RM_ARRAY_LEN(kinds); k++) {
        for (size_t i = 0; i < NUMBERS; i++) {
            work->numbers[i] = (double)rand() / kinds[k].divisor;
        }
        bench_ratio(bench, kinds[k].what, bare_printf, numbers, work, 100000, 0.25);
    }
}

int main(int argc, char **argv)
{
    struct bench bench = bench_begin(argc, argv, "bench_files");
    static struct work work;
    const struct {
        const char *what;
        bench_fn floor, ours;
    } files[] = {
        {"CSV of a whole run", bare_pieces, csv_whole},
        {"CSV line by line, as samples come", bare_lines, csv_lines},
        {"trace", bare_pieces, trace},
    };
    set_up(&work);
    bench_numbers(&bench, &work);
    bench.is_quick = true; /* a round takes a tenth of a second */
    for (size_t i = 0; i < RM_ARRAY_LEN(files); i++) {
        (void)files[i].ours(&work, 1);
        set_bytes(&work);
        printf("  %s: %.1f MB\n", files[i].what, (double)work.bytes / 1e6);
        bench_speed(&bench, files[i].what, files[i].floor, files[i].ours, &work, work.bytes, 100.0);
    }
    (void)unlink(work.path);
    (void)unlink(work.columns_path);
    free(work.lines);
    rm_run_free(work.run);
    return bench_end(&bench);
}
