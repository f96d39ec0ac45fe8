/* SPDX-License-Identifier: MIT */
/*
 * Traces: several runs in one, texts that are long or of another locale, the sink of a monitor, and
 * files that cannot be written.  Traces of golden runs are compared as a whole (tests/golden), and
 * truth/truth_trace.py reads traces as viewers do.
 */
#include "test.h"

#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/compiler.h"
#include "comma_locale.h"
#include "run/record.h"
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

FIXTURE(tear_down)
{
    (void)unlink(path_of("t.json"));
    return is_left_empty(state);
}

TEST_FILE(.tear_down = tear_down);
