/* SPDX-License-Identifier: MIT */
/*
 * A trace of 4 threads x 100000 scopes and 1024 rows of counters, against the bare writing of as
 * many bytes.  In memory (/dev/shm) where there is such a file system: the disk's speed is not
 * ours.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <resmon/resmon.h>

#include "base/compiler.h"
#include "bench.h"
#include "store/run.h"

#define THREADS 4
#define EVENTS  100000
#define NAMES   50
#define ROWS    1024
#define PIECE   65536

static char path[64];
static size_t bytes; /* of the trace */

static void *need(void *memory)
{
    if (memory == NULL) {
        abort();
    }
    return memory;
}

static void add_events(struct resmon_run *run)
{
    run->threads = need(rm_arena_alloc(&run->strings, THREADS, sizeof *run->threads));
    run->event_names = need(rm_arena_alloc(&run->strings, NAMES, sizeof *run->event_names));
    run->events = need(rm_arena_alloc(&run->strings, THREADS * EVENTS, sizeof *run->events));
    run->thread_count = THREADS;
    run->event_name_count = NAMES;
    run->event_count = (size_t)THREADS * EVENTS;
    for (size_t i = 0; i < NAMES; i++) {
        char name[32];
        (void)snprintf(name, sizeof name, "phase \"%zu\" of many", i);
        run->event_names[i] = need((void *)(uintptr_t)rm_arena_text(&run->strings, name, 32));
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
    static const char *const metrics[] = {"proc.cpu.percent", "proc.mem.rss",
                                          "node.cpu.percent", "proc.io.read_bytes",
                                          "node.mem.used",    "node.net.ext.sent"};
    run->column_count = RM_ARRAY_LEN(metrics);
    run->row_count = ROWS;
    run->columns = need(rm_arena_alloc(&run->strings, run->column_count, sizeof *run->columns));
    run->t_first = need(rm_arena_alloc(&run->strings, ROWS, sizeof *run->t_first));
    run->t_last = need(rm_arena_alloc(&run->strings, ROWS, sizeof *run->t_last));
    run->values = need(rm_arena_alloc(&run->strings, run->column_count * RM_SERIES_KINDS * ROWS,
                                      sizeof *run->values));
    for (size_t c = 0; c < run->column_count; c++) {
        run->columns[c] = (struct rm_run_column){.metric = metrics[c], .instance = ""};
    }
    for (size_t i = 0; i < ROWS; i++) {
        run->t_first[i] = run->t_last[i] = (int64_t)i * 120000000;
    }
    for (size_t i = 0; i < run->column_count * RM_SERIES_KINDS * ROWS; i++) {
        run->values[i] = (double)rand() / 7.0;
    }
}

static double bare(void *context, size_t count)
{
    static char piece[PIECE];
    (void)context;
    memset(piece, '7', sizeof piece);
    double start = bench_now_ns();
    for (size_t i = 0; i < count; i++) {
        int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
        for (size_t done = 0; done < bytes; done += PIECE) {
            size_t length = bytes - done < PIECE ? bytes - done : PIECE;
            if (write(fd, piece, length) != (ssize_t)length) {
                abort();
            }
        }
        if (fsync(fd) != 0 || close(fd) != 0) {
            abort();
        }
    }
    return (bench_now_ns() - start) / (double)count;
}

static double trace(void *context, size_t count)
{
    const resmon_run *const runs[] = {context};
    double start = bench_now_ns();
    for (size_t i = 0; i < count; i++) {
        if (resmon_trace_save(runs, 1, path) != RESMON_OK) {
            fprintf(stderr, "no trace: %s\n", resmon_last_error());
            exit(2);
        }
    }
    return (bench_now_ns() - start) / (double)count;
}

int main(int argc, char **argv)
{
    struct bench bench = bench_begin(argc, argv, "bench_trace");
    struct resmon_run *run = need(rm_run_new());
    struct stat info;
    const char *place = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : ".";
    bench.is_quick = true; /* a round takes a tenth of a second */
    (void)snprintf(path, sizeof path, "%s/bench-trace-%ld.json", place, (long)getpid());
    add_events(run);
    add_rows(run);
    (void)trace(run, 1);
    bytes = stat(path, &info) == 0 ? (size_t)info.st_size : 0;
    bench_value(&bench, "size of the trace", (double)bytes / 1e6, "MB", 0.0);
    bench_ratio(&bench, "written, against write() of the bytes", bare, trace, run, 1, 0.0);
    double per_byte = bench_median(&bench, trace, run, 1) / (double)bytes;
    bench_value(&bench, "ns a byte: 10 is 100 MB/s", per_byte, "ns", 10.0);
    bench_value(&bench, "speed", 1e3 / per_byte, "MB/s", 0.0);
    (void)unlink(path);
    rm_run_free(run);
    return bench_end(&bench);
}
