/* SPDX-License-Identifier: MIT */
/*
 * engine/monitor: the life of a monitor, whom it observes, what it hands to sinks, what is left of
 * it in a fork's child, and its recording.
 */
#define _DEFAULT_SOURCE
#include "runs.h"

#include <errno.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "run/run.h"
#include "sanitizer.h"

/* Samples only at start and stop, of little: quick to start. */
static resmon_monitor_options quick(void)
{
    return (resmon_monitor_options){.struct_size = sizeof(resmon_monitor_options),
                                    .interval_ms = 3600000,
                                    .domains = RESMON_DOMAIN_PROCESS | RESMON_DOMAIN_MEMORY};
}

static resmon_monitor *started(const resmon_monitor_options *options)
{
    resmon_monitor *monitor = NULL;
    assert_ok(resmon_monitor_new(options, &monitor));
    assert_ok(resmon_monitor_start(monitor));
    return monitor;
}

static resmon_run *snapshot(resmon_monitor *monitor)
{
    resmon_run *run = NULL;
    assert_ok(resmon_monitor_snapshot(monitor, &run));
    return run;
}

static resmon_column statistics_of(const resmon_run *run, const char *metric)
{
    size_t column = 0;
    resmon_column statistics = {.struct_size = sizeof statistics};
    assert_ok(resmon_run_find_column(run, metric, NULL, &column));
    assert_ok(resmon_run_get_column(run, column, &statistics));
    return statistics;
}

/* ---- life ----------------------------------------------------------------------------------- */

TEST(each_state_allows_what_it_says)
{
    resmon_monitor_options options = quick();
    resmon_sink_ops ops = {.struct_size = sizeof ops};
    resmon_monitor *monitor = NULL;
    resmon_run *run = NULL;
    assert_ok(resmon_monitor_new(&options, &monitor));
    /* new */
    assert_status(RESMON_ESTATE, resmon_monitor_stop(monitor));
    assert_status(RESMON_ESTATE, resmon_monitor_tag(monitor, "x"));
    assert_status(RESMON_ESTATE, resmon_monitor_set_label(monitor, "x"));
    assert_status(RESMON_ESTATE, resmon_monitor_sample_now(monitor));
    assert_status(RESMON_ESTATE, resmon_monitor_snapshot(monitor, &run));
    assert_status(RESMON_ESTATE, resmon_monitor_save(monitor, "/nowhere/run.json"));
    assert_ok(resmon_monitor_start(monitor));
    /* running */
    assert_status(RESMON_ESTATE, resmon_monitor_start(monitor));
    assert_status(RESMON_ESTATE, resmon_monitor_add_sink(monitor, &ops, NULL));
    assert_ok(resmon_monitor_tag(monitor, "x"));
    assert_ok(resmon_monitor_set_label(monitor, "x"));
    assert_ok(resmon_monitor_sample_now(monitor));
    run = snapshot(monitor);
    assert_string_equal(info_of(run).state, "running");
    resmon_run_free(run);
    assert_ok(resmon_monitor_stop(monitor));
    /* stopped */
    assert_ok(resmon_monitor_stop(monitor));
    run = NULL;
    assert_status(RESMON_ESTATE, resmon_monitor_start(monitor));
    assert_status(RESMON_ESTATE, resmon_monitor_tag(monitor, "y"));
    assert_status(RESMON_ESTATE, resmon_monitor_set_label(monitor, "y"));
    assert_status(RESMON_ESTATE, resmon_monitor_sample_now(monitor));
    run = snapshot(monitor);
    assert_string_equal(info_of(run).state, "stopped");
    assert_string_equal(info_of(run).label, "x");
    assert_int_equal(resmon_run_tag_count(run), 1);
    resmon_run_free(run);
    resmon_monitor_free(monitor);
}

TEST(null_arguments_are_refused)
{
    resmon_monitor_options options = quick();
    resmon_monitor *monitor = started(&options);
    resmon_run *run = NULL;
    resmon_monitor_free(NULL);
    assert_status(RESMON_EINVAL, resmon_monitor_new(&options, NULL));
    assert_status(RESMON_EINVAL, resmon_monitor_start(NULL));
    assert_status(RESMON_EINVAL, resmon_monitor_stop(NULL));
    assert_status(RESMON_EINVAL, resmon_monitor_tag(NULL, "x"));
    assert_status(RESMON_EINVAL, resmon_monitor_tag(monitor, NULL));
    assert_status(RESMON_EINVAL, resmon_monitor_set_label(NULL, "x"));
    assert_status(RESMON_EINVAL, resmon_monitor_set_label(monitor, NULL));
    assert_status(RESMON_EINVAL, resmon_monitor_sample_now(NULL));
    assert_status(RESMON_EINVAL, resmon_monitor_snapshot(NULL, &run));
    assert_status(RESMON_EINVAL, resmon_monitor_snapshot(monitor, NULL));
    assert_status(RESMON_EINVAL, resmon_monitor_save(monitor, NULL));
    assert_status(RESMON_EINVAL, resmon_monitor_save(NULL, "x"));
    assert_status(RESMON_EINVAL, resmon_monitor_add_sink(NULL, NULL, NULL));
    assert_null(run);
    resmon_monitor_free(monitor);
}

TEST(free_alone_stops_and_a_new_monitor_has_the_scopes)
{
    resmon_monitor_options options = quick();
    options.scopes = RESMON_METER_WALL;
    for (int i = 0; i < 5; i++) {
        resmon_monitor *monitor = started(&options);
        resmon_monitor_free(monitor);
    }
    resmon_monitor *never = NULL;
    assert_ok(resmon_monitor_new(&options, &never));
    resmon_monitor_free(never);
}

TEST(the_shortest_run_has_a_summary)
{
    resmon_monitor_options options = quick();
    resmon_monitor *monitor = started(&options);
    assert_ok(resmon_monitor_stop(monitor));
    resmon_run *run = snapshot(monitor);
    resmon_run_info info = info_of(run);
    resmon_column rss = statistics_of(run, "proc.mem.rss");
    assert_int_equal(info.samples, 2);
    assert_true(info.duration_ns > 0 && info.duration_ns < INT64_C(60000000000));
    assert_int_equal(rss.n, 2);
    assert_true(rss.min > 4096.0 && rss.min <= rss.max);
    /* The mean is a quotient: 1e-15 is what its rounding may add. */
    assert_true(rss.mean >= rss.min * (1.0 - 1e-15) && rss.mean <= rss.max * (1.0 + 1e-15));
    assert_near(rss.duration_s, (double)info.duration_ns / 1e9, 1e-9);
    assert_near(rss.p50, rss.mean, 0.01 * rss.max + (rss.max - rss.min));
    assert_int_equal(resmon_run_row_count(run), 2);
    assert_int_equal(resmon_run_row_first_ns(run)[0], 0);
    resmon_run_free(run);
    resmon_monitor_free(monitor);
}

TEST(sample_now_returns_when_the_sample_is_recorded)
{
    resmon_monitor_options options = quick();
    resmon_monitor *monitor = started(&options);
    for (uint64_t i = 1; i <= 20; i++) {
        assert_ok(resmon_monitor_sample_now(monitor));
        resmon_run *run = NULL;
        assert_ok(resmon_monitor_summary(monitor, &run));
        assert_int_equal(info_of(run).samples, i + 1);
        resmon_run_free(run);
    }
    resmon_monitor_free(monitor);
}

/* The program reads 100 times 1000 bytes; the library does more, for each of its samples. */
TEST(what_the_library_does_is_not_the_programs)
{
    char bytes[1000];
    FILE *zero = fopen("/dev/zero", "r");
    resmon_monitor_options options = quick();
    options.domains = RESMON_DOMAIN_PROCESS | RESMON_DOMAIN_TREE | RESMON_DOMAIN_NODE;
    assert_non_null(zero);
    setbuf(zero, NULL);
    resmon_monitor *monitor = started(&options);
    for (int i = 0; i < 100; i++) {
        assert_int_equal(fread(bytes, 1, sizeof bytes, zero), sizeof bytes);
        assert_ok(resmon_monitor_sample_now(monitor));
    }
    assert_int_equal(fclose(zero), 0);
    resmon_run *run = snapshot(monitor);
    size_t column;
    if (resmon_run_find_column(run, "proc.io.read_chars", NULL, &column) != RESMON_OK) {
        print_message("skipped: /proc/self/io cannot be read here\n");
        skip();
    }
    assert_near(statistics_of(run, "proc.io.read_chars").last, 100000.0, 0.0);
    assert_near(statistics_of(run, "proc.io.read_count").last, 100.0, 0.0);
    assert_near(statistics_of(run, "tree.io.read_chars").last, 100000.0, 0.0);
    assert_int_equal(statistics_of(run, "proc.io.read_chars").resets, 0);
    if (!HAS_THREAD_SANITIZER) { /* it has threads of its own */
        assert_near(statistics_of(run, "proc.threads").max, 1.0, 0.0);
        assert_near(statistics_of(run, "tree.threads").max, 1.0, 0.0);
    }
    resmon_run_free(run);
    resmon_monitor_free(monitor);
}

TEST(a_capture_of_a_part_holds_that_part)
{
    resmon_monitor_options options = quick();
    resmon_monitor *monitor = started(&options);
    resmon_run *run = NULL;
    {
        RESMON_SCOPE("work");
    }
    assert_ok(resmon_monitor_tag(monitor, "mark"));
    assert_ok(resmon_monitor_scopes(monitor, &run));
    assert_int_equal(resmon_run_scope_count(run), 1);
    assert_int_equal(resmon_run_column_count(run) + resmon_run_tag_count(run), 0);
    assert_null(resmon_run_series(run, 0, RESMON_SERIES_LAST));
    resmon_run_free(run);
    assert_ok(resmon_monitor_summary(monitor, &run));
    assert_true(resmon_run_column_count(run) > 0);
    assert_int_equal(resmon_run_row_count(run) + resmon_run_scope_count(run), 0);
    assert_null(resmon_run_series(run, 0, RESMON_SERIES_LAST));
    resmon_run_free(run);
    assert_ok(resmon_monitor_sources(monitor, &run));
    assert_true(resmon_run_source_count(run) > 0);
    assert_int_equal(resmon_run_column_count(run) + resmon_run_scope_count(run), 0);
    resmon_run_free(run);
    run = snapshot(monitor);
    assert_true(resmon_run_column_count(run) > 0 && resmon_run_source_count(run) > 0);
    assert_int_equal(resmon_run_tag_count(run), 1);
    assert_int_equal(resmon_run_scope_count(run), 1);
    assert_non_null(resmon_run_series(run, 0, RESMON_SERIES_MEAN));
    assert_null(resmon_run_series(run, 0, RESMON_SERIES_VALUE + 1));
    assert_null(resmon_run_series(run, 0, -1));
    assert_null(resmon_run_series(run, resmon_run_column_count(run), 0));
    resmon_run_free(run);
    resmon_monitor_free(monitor);
}

TEST(accessors_refuse_short_structs_and_wrong_indexes)
{
    resmon_monitor_options options = quick();
    resmon_monitor *monitor = started(&options);
    resmon_run *run = snapshot(monitor);
    resmon_run_info info = {.struct_size = sizeof info - 1, .label = "untouched"};
    resmon_run_source source = {.struct_size = sizeof source};
    resmon_run_tag tag = {.struct_size = sizeof tag};
    resmon_run_scope scope = {.struct_size = sizeof scope};
    resmon_column column = {.struct_size = sizeof column};
    size_t index = 99;
    assert_status(RESMON_EINVAL, resmon_run_get_info(run, &info));
    assert_string_equal(info.label, "untouched");
    assert_status(RESMON_EINVAL, resmon_run_get_info(run, NULL));
    assert_status(RESMON_EINVAL, resmon_run_get_info(NULL, &info));
    assert_status(RESMON_ENOENT, resmon_run_get_source(run, resmon_run_source_count(run), &source));
    assert_status(RESMON_ENOENT, resmon_run_get_tag(run, 0, &tag));
    assert_status(RESMON_ENOENT, resmon_run_get_scope(run, SIZE_MAX, &scope));
    assert_status(RESMON_ENOENT, resmon_run_get_column(run, resmon_run_column_count(run), &column));
    assert_status(RESMON_ENOENT, resmon_run_find_column(run, "no.such.metric", NULL, &index));
    assert_int_equal(index, 99);
    assert_null(resmon_run_fact(run, "run", "no such key"));
    assert_null(resmon_node_figure_name(resmon_node_figure_count()));
    assert_true(isnan(resmon_run_node_figure(run, resmon_node_figure_count())));
    resmon_run_free(run);
    resmon_monitor_free(monitor);
}

/* ---- several -------------------------------------------------------------------------------- */

TEST(several_monitors_run_at_once)
{
    enum { COUNT = 4 };
    resmon_monitor *monitors[COUNT];
    resmon_monitor_options options = quick();
    for (int i = 0; i < COUNT; i++) {
        monitors[i] = started(&options); /* scopes only if they are free: no failure */
    }
    {
        RESMON_SCOPE("work");
    }
    for (int i = 0; i < COUNT; i++) {
        assert_ok(resmon_monitor_sample_now(monitors[i]));
    }
    for (int i = 0; i < COUNT; i++) {
        assert_ok(resmon_monitor_stop(monitors[i]));
        resmon_run *run = snapshot(monitors[i]);
        assert_int_equal(info_of(run).samples, 3);
        assert_int_equal(resmon_run_scope_count(run), i == 0 ? 1 : 0);
        resmon_run_free(run);
        resmon_monitor_free(monitors[i]);
    }
}

TEST(scopes_have_one_owner)
{
    resmon_monitor_options options = quick();
    resmon_monitor *second = NULL;
    options.scopes = RESMON_METER_WALL;
    resmon_monitor *first = started(&options);
    assert_ok(resmon_monitor_new(&options, &second));
    assert_status(RESMON_EBUSY, resmon_monitor_start(second));
    assert_non_null(strstr(resmon_last_error(), "scopes"));
    assert_status(RESMON_ESTATE, resmon_monitor_start(second)); /* it can only be freed */
    assert_status(RESMON_ESTATE, resmon_monitor_stop(second));
    resmon_monitor_free(second);
    /* The owner is none the worse. */
    {
        RESMON_SCOPE("work");
    }
    options.flags = RESMON_FLAG_NO_SCOPES;
    second = started(&options);
    resmon_monitor_free(second);
    assert_ok(resmon_monitor_stop(first));
    options.flags = 0;
    second = started(&options); /* free since the stop */
    resmon_run *run = snapshot(first);
    assert_int_equal(resmon_run_scope_count(run), 1);
    resmon_run_free(run);
    resmon_monitor_free(first);
    resmon_monitor_free(second);
}

/* ---- other processes ------------------------------------------------------------------------ */

/* A child that lives until its end of the pipe is closed. */
static pid_t sleeping_child(int *ret_pipe)
{
    int fds[2];
    assert_int_equal(pipe(fds), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        char byte;
        (void)close(fds[1]);
        ssize_t done = read(fds[0], &byte, 1);
        _exit(done == 0 ? 0 : 1);
    }
    (void)close(fds[0]);
    *ret_pipe = fds[1];
    return child;
}

static void end_child(pid_t child, int pipe_fd)
{
    (void)close(pipe_fd);
    assert_exits(child, 0);
}

TEST(another_process_can_be_observed_to_its_end)
{
    int pipe_fd;
    char expected[32];
    resmon_monitor_options options = quick();
    pid_t child = sleeping_child(&pipe_fd);
    options.pid = child;
    options.scopes = RESMON_METER_WALL; /* of this process: it has none of the child's */
    resmon_monitor *monitor = started(&options);
    {
        RESMON_SCOPE("not of the child");
    }
    assert_ok(resmon_monitor_sample_now(monitor));
    end_child(child, pipe_fd);
    assert_ok(resmon_monitor_sample_now(monitor)); /* of a process that is gone */
    assert_ok(resmon_monitor_stop(monitor));
    resmon_run *run = snapshot(monitor);
    resmon_column rss = statistics_of(run, "proc.mem.rss");
    assert_int_equal(rss.n, 2);
    assert_true(rss.max > 4096.0);
    (void)snprintf(expected, sizeof expected, "%ld", (long)child);
    assert_string_equal(resmon_run_fact(run, "run", "pid"), expected);
    assert_int_equal(resmon_run_scope_count(run), 0);
    int said = 0;
    for (size_t i = 0; i < resmon_run_source_count(run); i++) {
        resmon_run_source source = {.struct_size = sizeof source};
        assert_ok(resmon_run_get_source(run, i, &source));
        said += source.status == RESMON_ESRCH && strstr(source.reason, "ended") != NULL ? 1 : 0;
    }
    assert_true(said >= 1);
    resmon_run_free(run);
    resmon_monitor_free(monitor);
}

TEST(no_such_process_is_said_at_start)
{
    int pipe_fd;
    resmon_monitor *monitor = NULL;
    resmon_monitor_options options = quick();
    pid_t child = sleeping_child(&pipe_fd);
    end_child(child, pipe_fd);
    options.pid = child;
    assert_ok(resmon_monitor_new(&options, &monitor));
    assert_status(RESMON_ESRCH, resmon_monitor_start(monitor));
    assert_non_null(strstr(resmon_last_error(), "process"));
    assert_status(RESMON_ESTATE, resmon_monitor_stop(monitor));
    resmon_monitor_free(monitor);
}

/* ---- sinks ---------------------------------------------------------------------------------- */

/* What a sink was told, as text: "start rows tag rows stop flush close". */
struct told {
    char order[256];
    size_t columns;
    uint64_t rows;
    int64_t last_t_ns;
    double first_rss, last_rss;
    size_t rss_column;
    char tag[32];
    uint64_t samples_at_stop;
    resmon_status answer; /* of rows() */
};

static void tell(struct told *told, const char *what)
{
    size_t length = strlen(told->order);
    (void)snprintf(told->order + length, sizeof told->order - length, "%s ", what);
}

static resmon_status on_start(void *context, const resmon_run *run)
{
    struct told *told = context;
    tell(told, "start");
    told->columns = resmon_run_column_count(run);
    return resmon_run_find_column(run, "proc.mem.rss", NULL, &told->rss_column);
}

static resmon_status on_rows(void *context, const resmon_rows *rows)
{
    struct told *told = context;
    tell(told, "rows");
    if (rows->struct_size != sizeof *rows || rows->column_count != told->columns ||
        rows->row_count != 1 || (told->rows > 0 && rows->t_ns[0] <= told->last_t_ns)) {
        tell(told, "WRONG");
    }
    told->last_rss = rows->values[told->rss_column];
    told->first_rss = told->rows == 0 ? told->last_rss : told->first_rss;
    told->last_t_ns = rows->t_ns[0];
    told->rows += rows->row_count;
    return told->answer;
}

static resmon_status on_tag(void *context, int64_t t_ns, const char *label)
{
    struct told *told = context;
    tell(told, t_ns > 0 ? "tag" : "WRONG");
    (void)snprintf(told->tag, sizeof told->tag, "%s", label);
    return RESMON_OK;
}

static resmon_status on_stop(void *context, const resmon_run *run)
{
    struct told *told = context;
    tell(told, "stop");
    told->samples_at_stop = info_of(run).samples;
    return RESMON_OK;
}

static resmon_status on_flush(void *context)
{
    tell(context, "flush");
    return RESMON_OK;
}

static void on_close(void *context)
{
    tell(context, "close");
}

static const resmon_sink_ops all_ops = {.struct_size = sizeof all_ops,
                                        .name = "test",
                                        .start = on_start,
                                        .rows = on_rows,
                                        .tag = on_tag,
                                        .stop = on_stop,
                                        .flush = on_flush,
                                        .close = on_close};

TEST(a_sink_is_told_everything_in_order)
{
    struct told told = {0};
    resmon_monitor *monitor = NULL;
    resmon_monitor_options options = quick();
    assert_ok(resmon_monitor_new(&options, &monitor));
    assert_ok(resmon_monitor_add_sink(monitor, &all_ops, &told));
    assert_ok(resmon_monitor_start(monitor));
    assert_ok(resmon_monitor_tag(monitor, "epoch 1"));
    assert_ok(resmon_monitor_sample_now(monitor));
    assert_ok(resmon_monitor_stop(monitor));
    assert_string_equal(told.order, "start rows tag rows rows stop flush ");
    resmon_run *run = snapshot(monitor);
    assert_int_equal(told.columns, resmon_run_column_count(run));
    assert_int_equal(told.samples_at_stop, 3);
    assert_string_equal(told.tag, "epoch 1");
    assert_int_equal(told.last_t_ns, info_of(run).duration_ns);
    resmon_column rss = statistics_of(run, "proc.mem.rss");
    assert_true(told.first_rss == rss.first && told.last_rss == rss.last);
    resmon_run_free(run);
    resmon_monitor_free(monitor);
    assert_string_equal(told.order, "start rows tag rows rows stop flush close ");
}

static int warnings;

static void count_warnings(void *context, int32_t level, const char *line)
{
    (void)context;
    if (level == RESMON_LOG_WARNING && strstr(line, "test") != NULL) {
        (void)__atomic_add_fetch(&warnings, 1, __ATOMIC_RELAXED);
    }
}

TEST(a_failing_sink_is_told_of_once_and_called_on)
{
    struct told failing = {.answer = RESMON_EIO}, healthy = {0};
    resmon_monitor *monitor = NULL;
    resmon_monitor_options options = quick();
    warnings = 0;
    resmon_set_log(count_warnings, NULL, RESMON_LOG_WARNING);
    assert_ok(resmon_monitor_new(&options, &monitor));
    assert_ok(resmon_monitor_add_sink(monitor, &all_ops, &failing));
    assert_ok(resmon_monitor_add_sink(monitor, &all_ops, &healthy));
    assert_ok(resmon_monitor_start(monitor));
    assert_ok(resmon_monitor_sample_now(monitor));
    assert_ok(resmon_monitor_stop(monitor));
    resmon_sink_info info = {.struct_size = sizeof info};
    assert_ok(resmon_monitor_get_sink(monitor, 0, &info));
    assert_int_equal(info.status, RESMON_EIO);
    assert_int_equal(info.failures, 3);
    assert_int_equal(info.calls, 6);
    assert_int_equal(info.is_off, 0);
    assert_ok(resmon_monitor_get_sink(monitor, 1, &info));
    assert_int_equal(info.status, RESMON_OK);
    assert_string_equal(info.name, "test");
    assert_status(RESMON_ENOENT, resmon_monitor_get_sink(monitor, 2, &info));
    resmon_monitor_free(monitor);
    resmon_set_log(NULL, NULL, 0);
    assert_string_equal(failing.order, "start rows rows rows stop flush close ");
    assert_string_equal(healthy.order, "start rows rows rows stop flush close ");
    assert_int_equal(warnings, 1);
}

TEST(a_sink_may_have_no_operations)
{
    resmon_monitor *monitor = NULL;
    resmon_monitor_options options = quick();
    resmon_sink_ops none = {.struct_size = sizeof none};
    resmon_sink_ops brief = {.struct_size = 8};
    assert_ok(resmon_monitor_new(&options, &monitor));
    assert_status(RESMON_EINVAL, resmon_monitor_add_sink(monitor, NULL, NULL));
    assert_status(RESMON_EINVAL, resmon_monitor_add_sink(monitor, &brief, NULL));
    assert_ok(resmon_monitor_add_sink(monitor, &none, NULL));
    assert_ok(resmon_monitor_start(monitor));
    assert_ok(resmon_monitor_tag(monitor, "x"));
    assert_ok(resmon_monitor_stop(monitor));
    resmon_monitor_free(monitor);
}

TEST(sinks_are_bounded_and_closed_without_start)
{
    struct told told = {0};
    resmon_monitor *monitor = NULL;
    resmon_monitor_options options = quick();
    int added = 0;
    assert_ok(resmon_monitor_new(&options, &monitor));
    while (added < 1000 && resmon_monitor_add_sink(monitor, &all_ops, &told) == RESMON_OK) {
        added++;
    }
    assert_int_equal(added, 32);
    assert_status(RESMON_ENOSPC, resmon_monitor_add_sink(monitor, &all_ops, &told));
    resmon_monitor_free(monitor);
    assert_int_equal(strlen(told.order), 32 * strlen("close "));
}

static uint64_t dropped_rows; /* as the sink was told */

/* A sink that holds the queue's only reader until the test lets go. */
static resmon_status wait_for_pipe(void *context, const resmon_rows *rows)
{
    char byte;
    dropped_rows = rows->dropped_rows;
    return read(*(int *)context, &byte, 1) >= 0 ? RESMON_OK : RESMON_EIO;
}

TEST(a_stuck_sink_delays_no_sample_and_loses_none)
{
    int fds[2];
    resmon_monitor *monitor = NULL;
    resmon_monitor_options options = quick();
    resmon_sink_ops stuck = {.struct_size = sizeof stuck, .rows = wait_for_pipe};
    assert_int_equal(pipe(fds), 0);
    assert_ok(resmon_monitor_new(&options, &monitor));
    assert_ok(resmon_monitor_add_sink(monitor, &stuck, &fds[0]));
    assert_ok(resmon_monitor_start(monitor));
    for (int i = 0; i < 300; i++) {
        assert_ok(resmon_monitor_sample_now(monitor));
    }
    resmon_run *run = snapshot(monitor);
    resmon_run_info info = info_of(run);
    assert_int_equal(info.samples, 301);
    assert_int_equal(statistics_of(run, "proc.mem.rss").n, 301);
    assert_true(info.dropped_rows >= 100 && info.dropped_rows < 301); /* the queue holds 128 */
    resmon_run_free(run);
    (void)close(fds[1]); /* reads return 0 from now on */
    assert_ok(resmon_monitor_stop(monitor));
    assert_true(dropped_rows >= info.dropped_rows);
    resmon_monitor_free(monitor);
    (void)close(fds[0]);
}

/* ---- fork ----------------------------------------------------------------------------------- */

#define EXPECT(condition)              \
    do {                               \
        if (!(condition)) {            \
            _exit(__LINE__ % 250 + 1); \
        }                              \
    } while (0)

/* In a child cmocka's asserts would run on with the parent's tests: exit codes instead. */
static void act_as_child(resmon_monitor *inherited)
{
    resmon_run *run = NULL;
    resmon_monitor *own = NULL;
    resmon_monitor_options options = quick();
    EXPECT(resmon_monitor_tag(inherited, "x") == RESMON_ESTATE);
    EXPECT(resmon_monitor_set_label(inherited, "child") == RESMON_ESTATE);
    EXPECT(resmon_monitor_sample_now(inherited) == RESMON_ESTATE);
    EXPECT(resmon_monitor_snapshot(inherited, &run) == RESMON_ESTATE);
    EXPECT(resmon_monitor_start(inherited) == RESMON_ESTATE);
    EXPECT(resmon_monitor_stop(inherited) == RESMON_ESTATE);
    {
        RESMON_SCOPE("measured by nobody");
    }
    resmon_monitor_free(inherited);
    if (HAS_THREAD_SANITIZER) {
        _exit(0); /* it has no threads in the child of a fork */
    }
    options.scopes = RESMON_METER_WALL | RESMON_METER_RSS;
    EXPECT(resmon_monitor_new(&options, &own) == RESMON_OK);
    EXPECT(resmon_monitor_start(own) == RESMON_OK);
    {
        RESMON_SCOPE("of the child");
    }
    EXPECT(resmon_monitor_sample_now(own) == RESMON_OK);
    EXPECT(resmon_monitor_stop(own) == RESMON_OK);
    EXPECT(resmon_monitor_snapshot(own, &run) == RESMON_OK);
    EXPECT(resmon_run_scope_count(run) == 1);
    EXPECT(strcmp(run->scopes[0].name, "of the child") == 0);
    EXPECT(run->info.samples == 3);
    resmon_run_free(run);
    resmon_monitor_free(own);
    _exit(0);
}

TEST(a_forks_child_has_inert_handles_and_may_have_its_own)
{
    int status = 0;
    struct told told = {0};
    resmon_monitor *monitor = NULL;
    resmon_monitor_options options = quick();
    options.scopes = RESMON_METER_WALL | RESMON_METER_RSS;
    assert_ok(resmon_monitor_new(&options, &monitor));
    assert_ok(resmon_monitor_add_sink(monitor, &all_ops, &told));
    assert_ok(resmon_monitor_start(monitor));
    uint64_t open = 0;
    {
        RESMON_SCOPE("of the parent");
        pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0) {
            act_as_child(monitor);
        }
        assert_int_equal(waitpid(child, &status, 0), child);
        open++;
    }
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    if (HAS_THREAD_SANITIZER) {
        print_message("skipped: the child's own monitor, under ThreadSanitizer\n");
    }
    assert_ok(resmon_monitor_stop(monitor));
    resmon_run *run = snapshot(monitor);
    assert_int_equal(resmon_run_scope_count(run), open);
    assert_int_equal(run->scopes[0].calls, 1);
    assert_int_equal(run->scopes[0].open, 0);
    assert_string_equal(run->info.label, "");
    assert_int_equal(run->tag_count, 0);
    resmon_run_free(run);
    resmon_monitor_free(monitor);
    assert_string_equal(told.order, "start rows rows stop flush close ");
}

/* ---- recording ------------------------------------------------------------------------------ */

static char recording[128];

FIXTURE(name_recording)
{
    (void)snprintf(recording, sizeof recording, "%s/run.rec", test_directory);
    return 0;
}

FIXTURE(remove_recording)
{
    (void)unlink(recording);
    return is_left_empty(state);
}

static void assert_same_doubles(const double *a, const double *b, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (!(a[i] == b[i] || (isnan(a[i]) && isnan(b[i])))) {
            fail_msg("number %zu: %.17g, %.17g", i, a[i], b[i]);
        }
    }
}

static void assert_same_run(const resmon_run *a, const resmon_run *b)
{
    assert_string_equal(a->info.label, b->info.label);
    assert_int_equal(a->info.start_realtime_ns, b->info.start_realtime_ns);
    assert_int_equal(a->info.duration_ns, b->info.duration_ns);
    assert_int_equal(a->info.samples, b->info.samples);
    assert_int_equal(a->row_count, b->row_count);
    assert_int_equal(a->column_count, b->column_count);
    assert_int_equal(a->source_count, b->source_count);
    assert_int_equal(a->fact_count, b->fact_count);
    assert_int_equal(a->tag_count, b->tag_count);
    assert_int_equal(a->scope_count, b->scope_count);
    assert_memory_equal(a->t_first, b->t_first, a->row_count * sizeof *a->t_first);
    assert_memory_equal(a->t_last, b->t_last, a->row_count * sizeof *a->t_last);
    assert_same_doubles(a->values, b->values, a->row_count * 4 * a->column_count);
    for (size_t i = 0; i < a->fact_count; i++) {
        assert_string_equal(a->facts[i].key, b->facts[i].key);
        assert_string_equal(a->facts[i].value, b->facts[i].value);
    }
    for (size_t i = 0; i < a->tag_count; i++) {
        assert_int_equal(a->tags[i].t_ns, b->tags[i].t_ns);
        assert_string_equal(a->tags[i].label, b->tags[i].label);
    }
    for (size_t i = 0; i < a->scope_count; i++) {
        assert_string_equal(a->scopes[i].name, b->scopes[i].name);
        assert_int_equal(a->scopes[i].calls, b->scopes[i].calls);
        assert_int_equal(a->scopes[i].open, b->scopes[i].open);
    }
}

TEST(a_recording_loads_as_the_run_that_was)
{
    resmon_run *loaded = NULL;
    resmon_monitor_options options = quick();
    options.record = recording;
    options.name = "recorded";
    options.scopes = RESMON_METER_WALL;
    resmon_monitor *monitor = started(&options);
    uint64_t open = 0;
    resmon_site *site = NULL;
    assert_ok(resmon_site_intern("left open", &site));
    {
        RESMON_SCOPE("work");
    }
    open = resmon_scope_begin(site);
    assert_ok(resmon_monitor_tag(monitor, "mark"));
    assert_ok(resmon_monitor_set_label(monitor, "epoch 3"));
    assert_ok(resmon_monitor_sample_now(monitor));

    /* While it runs: but for the word, what a kill at this moment would leave. */
    resmon_run *before = snapshot(monitor);
    assert_ok(resmon_run_load(recording, &loaded));
    assert_string_equal(info_of(loaded).state, "running");
    assert_same_run(before, loaded);
    assert_string_equal(resmon_run_fact(loaded, "run", "name"), "recorded");
    resmon_run_free(before);
    resmon_run_free(loaded);

    assert_ok(resmon_monitor_stop(monitor));
    resmon_run *after = snapshot(monitor);
    assert_ok(resmon_run_load(recording, &loaded));
    assert_string_equal(info_of(loaded).state, "stopped");
    assert_same_run(after, loaded);
    resmon_run_free(after);
    resmon_run_free(loaded);
    resmon_monitor_free(monitor);
    resmon_scope_end(open);
}

/* A program that inherits RESMON must not put its recording in the place of its parent's. */
TEST(a_recording_in_use_is_refused)
{
    resmon_run *loaded = NULL;
    resmon_monitor *second = NULL;
    resmon_monitor_options options = quick();
    options.record = recording;
    resmon_monitor *first = started(&options);
    assert_ok(resmon_monitor_new(&options, &second));
    assert_status(RESMON_EBUSY, resmon_monitor_start(second));
    assert_non_null(strstr(resmon_last_error(), recording));
    resmon_monitor_free(second);
    assert_ok(resmon_monitor_sample_now(first));
    assert_ok(resmon_monitor_stop(first));
    resmon_monitor_free(first);
    assert_ok(resmon_run_load(recording, &loaded));
    assert_int_equal(info_of(loaded).samples, 3);
    resmon_run_free(loaded);
    resmon_monitor_free(started(&options)); /* now it may */
    assert_ok(resmon_run_load(recording, &loaded));
    assert_int_equal(info_of(loaded).samples, 2);
    resmon_run_free(loaded);
}

TEST(a_recording_that_cannot_be_made_is_said_at_start)
{
    static const struct {
        const char *path;
        resmon_status status;
    } cases[] = {{"/nonexistent-directory/run.rec", RESMON_ENOENT},
                 {"", RESMON_EINVAL},
                 {"/tmp/%q", RESMON_EINVAL}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        resmon_monitor *monitor = NULL;
        resmon_monitor_options options = quick();
        options.record = cases[i].path;
        assert_ok(resmon_monitor_new(&options, &monitor));
        assert_status(cases[i].status, resmon_monitor_start(monitor));
        resmon_monitor_free(monitor);
    }
    /* And the scopes are nobody's. */
    resmon_monitor_options options = quick();
    options.scopes = RESMON_METER_WALL;
    resmon_monitor_free(started(&options));
}

TEST(loading_names_what_is_wrong)
{
    resmon_run *run = NULL;
    assert_status(RESMON_ENOENT, resmon_run_load("/nonexistent-directory/run", &run));
    assert_status(RESMON_EFORMAT, resmon_run_load("/tmp", &run));
    assert_status(RESMON_EINVAL, resmon_run_load(NULL, &run));
    assert_status(RESMON_EINVAL, resmon_run_load("/tmp", NULL));
    FILE *file = fopen(recording, "w");
    assert_non_null(file);
    assert_int_equal(fclose(file), 0);
    assert_status(RESMON_EFORMAT, resmon_run_load(recording, &run)); /* empty */
    file = fopen(recording, "w");
    assert_non_null(file);
    assert_true(fputs("RESMONBK but no more than that", file) >= 0);
    assert_int_equal(fclose(file), 0);
    assert_status(RESMON_EFORMAT, resmon_run_load(recording, &run));
    assert_null(run);
}

TEST_FILE(.set_up = name_recording, .tear_down = remove_recording);
