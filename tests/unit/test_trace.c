/* SPDX-License-Identifier: MIT */
/*
 * format/trace: runs made by hand, and the exact text that becomes of them; the sink of a monitor;
 * and files that cannot be written.  truth/truth_trace.py reads traces as viewers do.
 */
#include "test.h"

#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/compiler.h"
#include "comma_locale.h"
#include "run/run.h"

/* ---- runs ----------------------------------------------------------------------------------- */

static const struct rm_run_thread threads[] = {{42, "main"}, {43, ""}};

static const char *names[] = {"plain", "\"\\\n\x01\x7f\xff\xc3\xa9\xe2\x82\xac", ""};

static const struct rm_run_event events[] = {
    {.start_ns = 1000125, .duration_ns = 2500500, .name = 0, .thread = 0},
    {.start_ns = 1000125, .duration_ns = 1, .name = 1, .thread = 0, .depth = 1},
    {.start_ns = 7, .duration_ns = 0, .name = 2, .thread = 1, .is_open = 1},
};

static const resmon_run_tag tags[] = {{.t_ns = 5, .label = "epoch \"1\""},
                                      {.t_ns = -3, .label = ""}};

static resmon_run *made_run(double pid, int64_t start_ns)
{
    struct resmon_run *run = rm_run_new();
    assert_non_null(run);
    run->info.start_realtime_ns = start_ns;
    run->info.duration_ns = 4000000;
    run->facts = rm_arena_alloc(&run->strings, 4, sizeof *run->facts);
    char *number = rm_arena_alloc(&run->strings, RM_FACT_NUMBER_BYTES, 1);
    rm_facts_print_number(pid, number);
    run->facts[0] = (struct rm_fact){"run", "pid", number, RM_FACT_NUMBER};
    run->facts[1] = (struct rm_fact){"run", "executable", "/opt/bin/solver", RM_FACT_TEXT};
    run->facts[2] = (struct rm_fact){"machine", "host_name", "n001", RM_FACT_TEXT};
    run->facts[3] = (struct rm_fact){"job", "rank", "3", RM_FACT_NUMBER};
    run->fact_count = pid == 43 ? 4 : 3;
    run->threads = (struct rm_run_thread *)(uintptr_t)threads;
    run->thread_count = RM_ARRAY_LEN(threads);
    run->event_names = names;
    run->event_name_count = RM_ARRAY_LEN(names);
    run->events = (struct rm_run_event *)(uintptr_t)events;
    run->event_count = RM_ARRAY_LEN(events);
    run->tags = (resmon_run_tag *)(uintptr_t)tags;
    run->tag_count = RM_ARRAY_LEN(tags);
    return run;
}

/* Each column has the same numbers, in all of its series. */
static void add_columns(struct resmon_run *run, const resmon_column *columns, size_t count,
                        const double *values)
{
    enum { ROWS = 3 };
    run->columns = (resmon_column *)(uintptr_t)columns;
    run->column_count = count;
    run->row_count = ROWS;
    run->t_first = rm_arena_alloc(&run->strings, ROWS, sizeof *run->t_first);
    run->t_last = rm_arena_alloc(&run->strings, ROWS, sizeof *run->t_last);
    run->row_samples = rm_arena_alloc(&run->strings, ROWS, sizeof *run->row_samples);
    run->values = rm_arena_alloc(&run->strings, count * RM_SERIES_KINDS * ROWS, sizeof(double));
    for (size_t row = 0; row < ROWS; row++) {
        run->t_first[row] = (int64_t)row * 1000000;
        run->t_last[row] = run->t_first[row] + 500000;
    }
    for (size_t i = 0; i < count * RM_SERIES_KINDS * ROWS; i++) {
        run->values[i] = values[i / (RM_SERIES_KINDS * ROWS) * ROWS + i % ROWS];
    }
}

static char *trace_of(const resmon_run *const *runs, size_t count)
{
    static char text[1 << 20];
    assert_ok(resmon_trace_save(runs, count, path_of("t.json")));
    FILE *file = fopen(path_of("t.json"), "r");
    assert_non_null(file);
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    (void)fclose(file);
    return text;
}

static size_t count_of(const char *text, const char *part)
{
    size_t count = 0;
    for (const char *at = text; (at = strstr(at, part)) != NULL; at++) {
        count++;
    }
    return count;
}

/* ---- the text ------------------------------------------------------------------------------- */

TEST(scopes_tags_and_names)
{
    resmon_run *run = made_run(42, 1795248000123456789);
    const resmon_run *const runs[] = {run};
    const char *text = trace_of(runs, 1);
    static const char *const wanted[] = {
        "\"otherData\":{\"producer\":\"libresmon 0.1.0\","
        "\"start_realtime_ns\":\"1795248000123456789\",\"processes\":\"1\"}",
        "\"traceEvents\":[\n{\"ph\":\"M\",\"pid\":42,\"tid\":42,\"ts\":0,\"name\":\"process_name\","
        "\"args\":{\"name\":\"solver @ n001\"}},\n",
        "{\"ph\":\"M\",\"pid\":42,\"tid\":42,\"ts\":0,\"name\":\"process_sort_index\","
        "\"args\":{\"sort_index\":0}},\n",
        "{\"ph\":\"M\",\"pid\":42,\"tid\":42,\"ts\":0,\"name\":\"thread_name\","
        "\"args\":{\"name\":\"main\"}},\n",
        "{\"ph\":\"M\",\"pid\":42,\"tid\":43,\"ts\":0,\"name\":\"thread_name\","
        "\"args\":{\"name\":\"thread 43\"}},\n",
        "{\"ph\":\"M\",\"pid\":42,\"tid\":43,\"ts\":0,\"name\":\"thread_sort_index\","
        "\"args\":{\"sort_index\":1}},\n",
        "{\"ph\":\"X\",\"pid\":42,\"tid\":42,\"ts\":1000.125,\"dur\":2500.500,\"name\":\"plain\","
        "\"cat\":\"scope\"},\n",
        "{\"ph\":\"X\",\"pid\":42,\"tid\":42,\"ts\":1000.125,\"dur\":0.001,\"name\":"
        "\"\\\"\\\\\\u000a\\u0001\\u007f\xef\xbf\xbd\xc3\xa9\xe2\x82\xac\",\"cat\":\"scope\"},\n",
        "{\"ph\":\"X\",\"pid\":42,\"tid\":43,\"ts\":0.007,\"dur\":0.000,\"name\":\"\","
        "\"cat\":\"scope\",\"args\":{\"open\":1}},\n",
        "{\"ph\":\"i\",\"pid\":42,\"tid\":42,\"ts\":0.005,\"s\":\"p\",\"cat\":\"tag\",\"name\":"
        "\"epoch \\\"1\\\"\"},\n",
        "{\"ph\":\"i\",\"pid\":42,\"tid\":42,\"ts\":0.000,\"s\":\"p\",\"cat\":\"tag\",\"name\":"
        "\"tag\"}]}\n",
    };
    assert_memory_equal(text, "{\"", 2); /* what Perfetto looks for */
    for (size_t i = 0; i < RM_ARRAY_LEN(wanted); i++) {
        assert_has(text, wanted[i]);
    }
    resmon_run_free(run);
}

TEST(counters_are_scaled_and_one_each)
{
    static const resmon_column columns[] = {
        {.metric = "proc.cpu.percent", .instance = "", .kind = RESMON_GAUGE},
        {.metric = "proc.mem.rss", .instance = "", .kind = RESMON_GAUGE},
        {.metric = "tree.mem.rss", .instance = "a \"b\"", .kind = RESMON_GAUGE},
        {.metric = "proc.io.read_bytes", .instance = "", .kind = RESMON_COUNTER},
        {.metric = "no.such.metric", .instance = "", .kind = RESMON_GAUGE},
    };
    static const double values[] = {
        NAN,     99.96,   50.0,     /* of the time since the row before */
        1048576, 1572864, INFINITY, /* 1 MiB, 1.5 MiB */
        -1.0,    1e300,   NAN,      /* */
        NAN,     1500000, -0.0004,  /* B/s */
        1,       2,       3,
    };
    resmon_run *run = made_run(42, 1);
    const resmon_run *const runs[] = {run};
    add_columns(run, columns, RM_ARRAY_LEN(columns), values);
    const char *text = trace_of(runs, 1);
    static const char *const wanted[] = {
        "{\"ph\":\"C\",\"pid\":42,\"tid\":42,\"ts\":500.000,\"name\":\"CPU process\","
        "\"args\":{\"%\":99.960}},\n",
        "\"ts\":1500.000,\"name\":\"CPU process\",\"args\":{\"%\":50.000}}",
        "\"ts\":0.000,\"name\":\"memory rss\",\"args\":{\"MiB\":1.000}}",
        "\"ts\":1000.000,\"name\":\"memory rss\",\"args\":{\"MiB\":1.500}}",
        "\"ts\":0.000,\"name\":\"memory tree rss a \\\"b\\\"\",\"args\":{\"MiB\":0.000}}",
        "\"ts\":1000.000,\"name\":\"memory tree rss a \\\"b\\\"\",\"args\":{\"MiB\":"
        "9.5367431640625e+293}}",
        "\"ts\":500.000,\"name\":\"I/O read\",\"args\":{\"MB/s\":1.500}}",
        "\"ts\":1500.000,\"name\":\"I/O read\",\"args\":{\"MB/s\":0.000}}",
    };
    for (size_t i = 0; i < RM_ARRAY_LEN(wanted); i++) {
        assert_has(text, wanted[i]);
    }
    assert_int_equal(count_of(text, "\"ph\":\"C\""), 8); /* what is no number has none */
    assert_int_equal(count_of(text, "nan") + count_of(text, "inf"), 0);
    resmon_run_free(run);
}

TEST(several_runs_share_a_clock_and_no_id)
{
    enum { COUNT = 5 };
    const int64_t start = 1795248000123456789;
    resmon_run *runs[COUNT] = {made_run(42, start + 2500), made_run(42, start),
                               made_run(43, start + 1000), made_run(0, 0),
                               made_run(1e9, INT64_MAX)};
    const char *text = trace_of((const resmon_run *const *)runs, COUNT);
    static const char *const wanted[] = {
        "\"start_realtime_ns\":\"1795248000123456789\",\"processes\":\"5\"",
        "\"pid\":42,\"tid\":43,\"ts\":2.507,",
        "\"pid\":4194306,\"tid\":43,\"ts\":0.007,",
        "\"pid\":43,\"tid\":43,\"ts\":1.007,",
        "\"pid\":4194308,\"tid\":43,\"ts\":0.007,",
        "\"pid\":4194309,\"tid\":43,\"ts\":",
        "\"ts\":0,\"name\":\"process_name\",\"args\":{\"name\":\"solver @ n001\"",
        "\"args\":{\"name\":\"solver (42) @ n001\"}}",
        "\"args\":{\"name\":\"solver rank 3 @ n001\"}}",
        "\"args\":{\"sort_index\":4}}",
    };
    for (size_t i = 0; i < RM_ARRAY_LEN(wanted); i++) {
        assert_has(text, wanted[i]);
    }
    assert_int_equal(count_of(text, "\"process_name\""), COUNT);
    assert_int_equal(count_of(text, "\"ph\":\"X\""), COUNT * RM_ARRAY_LEN(events));
    for (size_t i = 0; i < COUNT; i++) {
        resmon_run_free(runs[i]);
    }
}

TEST(a_run_of_nothing_is_a_trace)
{
    struct resmon_run *run = rm_run_new();
    const resmon_run *const runs[] = {run};
    const char *text = trace_of(runs, 1);
    assert_has(text, "\"pid\":4194305,\"tid\":4194305,\"ts\":0,\"name\":\"process_name\","
                     "\"args\":{\"name\":\"run\"}}");
    assert_has(text, "]}\n");
    resmon_run_free(run);
}

TEST(a_decimal_comma_does_not_reach_the_trace)
{
    enter_comma_locale();
    resmon_run *run = made_run(42, 1);
    const resmon_run *const runs[] = {run};
    const char *text = trace_of(runs, 1);
    leave_comma_locale();
    assert_has(text, "\"ts\":1000.125,\"dur\":2500.500,");
    resmon_run_free(run);
}

TEST(names_of_scopes_are_whole_however_long)
{
    static char longest[3000];
    memset(longest, '"', sizeof longest - 1);
    const char *own[] = {longest, longest, longest};
    resmon_run *run = made_run(42, 1);
    const resmon_run *const runs[] = {run};
    run->event_names = own;
    run->facts[1].value = longest;
    const char *text = trace_of(runs, 1);
    const char *name = strstr(text, "\"ph\":\"X\"");
    name = strstr(name, "\"name\":\"") + 8;
    assert_memory_equal(name, "\\\"\\\"", 4);
    assert_memory_equal(name + 2 * strlen(longest), "\",\"cat\"", 7); /* 2999 times \" */
    resmon_run_free(run);
}

/* ---- files ---------------------------------------------------------------------------------- */

TEST(what_cannot_be_written_says_why)
{
    resmon_run *run = made_run(42, 1);
    const resmon_run *runs[] = {run, NULL};
    assert_status(RESMON_EINVAL, resmon_trace_save(NULL, 1, path_of("t.json")));
    assert_status(RESMON_EINVAL, resmon_trace_save(runs, 0, path_of("t.json")));
    assert_status(RESMON_EINVAL, resmon_trace_save(runs, 1, NULL));
    assert_status(RESMON_EINVAL, resmon_trace_save(runs, 2, path_of("t.json")));
    assert_non_null(strstr(resmon_last_error(), "run 1"));
    assert_status(RESMON_EINVAL, resmon_trace_save(runs, 1, "%q"));
    assert_status(RESMON_ENOENT, resmon_trace_save(runs, 1, path_of("no/t.json")));
    assert_status(RESMON_EINVAL, resmon_trace_save(runs, 1, test_directory));
    resmon_run_free(run);
}

TEST(the_file_is_for_whom_umask_says)
{
    struct stat info;
    resmon_run *run = made_run(42, 1);
    const resmon_run *const runs[] = {run};
    mode_t old = umask(027);
    (void)trace_of(runs, 1);
    (void)umask(old);
    assert_int_equal(stat(path_of("t.json"), &info), 0);
    assert_int_equal(info.st_mode & 0777, 0640);
    assert_int_equal(count_files_in(test_directory), 1);
    assert_int_equal(unlink(path_of("t.json")), 0);
    resmon_run_free(run);
}

/* ---- a monitor's ---------------------------------------------------------------------------- */

TEST(the_sink_writes_at_stop)
{
    resmon_monitor *monitor = NULL;
    const resmon_monitor_options options = {
        .struct_size = sizeof options, .scopes = RESMON_METER_WALL, .events = 100};
    const resmon_trace_options trace = {.struct_size = sizeof trace, .path = path_of("sink.json")};
    static char text[4 << 20]; /* whatever time there is for rows */
    assert_ok(resmon_monitor_new(&options, &monitor));
    assert_ok(resmon_monitor_add_trace(monitor, &trace));
    assert_ok(resmon_monitor_start(monitor));
    {
        RESMON_SCOPE("phase");
        assert_ok(resmon_monitor_tag(monitor, "a tag"));
    }
    assert_int_equal(count_files_in(test_directory), 0);
    assert_ok(resmon_monitor_stop(monitor));
    resmon_monitor_free(monitor);
    FILE *file = fopen(path_of("sink.json"), "r");
    assert_non_null(file);
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    (void)fclose(file);
    assert_has(text, "\"name\":\"phase\",\"cat\":\"scope\"}");
    assert_has(text, "\"name\":\"a tag\"}");
    assert_has(text, "\"name\":\"memory rss\",\"args\":{\"MiB\":");
    assert_int_equal(unlink(path_of("sink.json")), 0);
}

TEST(the_sink_writes_snapshots_when_asked_to)
{
    resmon_monitor *monitor = NULL;
    const resmon_trace_options trace = {
        .struct_size = sizeof trace, .path = path_of("sink.json"), .interval_ms = 5};
    assert_ok(resmon_monitor_new(NULL, &monitor));
    assert_ok(resmon_monitor_add_trace(monitor, &trace));
    assert_ok(resmon_monitor_start(monitor));
    for (int i = 0; i < 12000 && access(trace.path, F_OK) != 0; i++) {
        (void)nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
    }
    assert_int_equal(access(path_of("sink.json"), F_OK), 0);
    resmon_monitor_free(monitor);
    assert_int_equal(unlink(path_of("sink.json")), 0);
}

TEST(the_sink_refuses_bad_options)
{
    resmon_monitor *monitor = NULL;
    resmon_trace_options trace = {.struct_size = sizeof trace};
    assert_ok(resmon_monitor_new(NULL, &monitor));
    assert_status(RESMON_EINVAL, resmon_monitor_add_trace(NULL, &trace));
    assert_status(RESMON_EINVAL, resmon_monitor_add_trace(monitor, NULL));
    assert_status(RESMON_EINVAL, resmon_monitor_add_trace(monitor, &trace));
    trace.path = path_of("no/t.json");
    assert_status(RESMON_ENOENT, resmon_monitor_add_trace(monitor, &trace));
    trace.path = "%";
    assert_status(RESMON_EINVAL, resmon_monitor_add_trace(monitor, &trace));
    assert_int_equal(resmon_monitor_sink_count(monitor), 0);
    resmon_monitor_free(monitor);
}

FIXTURE(tear_down)
{
    (void)unlink(path_of("t.json"));
    return is_left_empty(state);
}

TEST_FILE(.tear_down = tear_down);
