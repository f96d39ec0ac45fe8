/* SPDX-License-Identifier: MIT */
/*
 * sink/sinks: any sink is added by its name and a text, as by its struct; what it needs is taken;
 * and the tables are told as they are.
 */
#include "faults.h"
#include "runs.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include <resmon/resmon.h>

#include "base/compiler.h"
#include "sink/sinks.h"

static resmon_monitor *monitor;

FIXTURE(make_monitor)
{
    const resmon_monitor_options options = {.struct_size = sizeof options,
                                            .domains = RESMON_DOMAIN_PROCESS,
                                            .flags = RESMON_FLAG_NO_SCOPES};
    return resmon_monitor_new(&options, &monitor) == RESMON_OK ? 0 : -1;
}

FIXTURE(free_monitor)
{
    resmon_monitor_free(monitor);
    monitor = NULL;
    return 0;
}

static void assert_refused(resmon_status expected, const char *sink, const char *options,
                           const char *told)
{
    size_t before = resmon_monitor_sink_count(monitor);
    assert_status(expected, resmon_monitor_add(monitor, sink, options));
    if (strstr(resmon_last_error(), told) == NULL) {
        fail_msg("no '%s' in '%s'", told, resmon_last_error());
    }
    assert_int_equal(resmon_monitor_sink_count(monitor), before);
}

/* What a build without a library leaves out is said so, and skipped. */
static bool is_left_out(const struct rm_sink_kind *kind)
{
    const char *main = kind->set.main;
    char path[64];
    (void)snprintf(path, sizeof path, "made_by_%s", kind->set.name);
    resmon_status status = resmon_monitor_add(monitor, kind->set.name,
                                              strcmp(main, "directory") == 0 ? "."
                                              : strcmp(main, "path") == 0    ? path
                                                                             : "http://h");
    if (status == RESMON_OK) {
        return false;
    }
    assert_status(RESMON_ENOTSUP, status);
    print_message("skipped: %s\n", resmon_last_error());
    return true;
}

TEST(every_sink_by_its_name, .setup_func = make_monitor, .teardown_func = free_monitor)
{
    const struct rm_sink_kind *kind;
    for (size_t i = 0; (kind = rm_sink_kind_at(i)) != NULL; i++) {
        assert_ptr_equal(rm_sink_kind_find(kind->set.name), kind);
        size_t before = resmon_monitor_sink_count(monitor);
        if (!is_left_out(kind)) {
            resmon_sink_info info = {.struct_size = sizeof info};
            assert_ok(resmon_monitor_get_sink(monitor, before, &info));
            assert_string_equal(info.name, kind->set.name);
        }
    }
    assert_null(rm_sink_kind_find("prom"));
}

TEST(mistakes, .setup_func = make_monitor, .teardown_func = free_monitor)
{
    assert_refused(RESMON_EINVAL, "prom", "x", "did you mean 'prometheus'");
    assert_refused(RESMON_EINVAL, "", "x", "the sinks are json, csv");
    assert_refused(RESMON_EINVAL, "csv", "", "csv.path is missing");
    assert_refused(RESMON_EINVAL, "csv", NULL, "csv.path is missing");
    assert_refused(RESMON_EINVAL, "csv", "a,whole=1", "did you mean 'whole_run'");
    assert_refused(RESMON_ERANGE, "trace", "a,interval=0", "1 ms to 24 h; default only at the end");
    assert_refused(RESMON_ERANGE, "prometheus", ".,interval=99ms", "100 ms to 24 h; default 15 s");
    assert_refused(RESMON_EINVAL, "prometheus", ".,label.device=x", "'device'");
    assert_refused(RESMON_EINVAL, "prometheus", ".,label.a=x,label.a=y", "twice");
    assert_refused(RESMON_ENOENT, "prometheus", "/no/such/directory", "/no/such/directory");
    assert_refused(RESMON_EINVAL, "pushgateway", "http://u:SECRET@h/?a", "the URL of");
    assert_null(strstr(resmon_last_error(), "SECRET"));
    assert_status(RESMON_EINVAL, resmon_monitor_add(NULL, "json", "x"));
    assert_status(RESMON_EINVAL, resmon_monitor_add(monitor, NULL, "x"));
}

/* The struct and the text are the same options. */
TEST(structs_have_the_same_bounds, .setup_func = make_monitor, .teardown_func = free_monitor)
{
    resmon_prometheus_options options = {
        .struct_size = sizeof options, .directory = ".", .interval_ms = 99};
    assert_status(RESMON_ERANGE, resmon_monitor_add_prometheus(monitor, &options));
    assert_non_null(strstr(resmon_last_error(), "prometheus.interval is 99 ms"));
    static char long_path[5000];
    memset(long_path, 'a', sizeof long_path - 1);
    static const char *const directories[] = {NULL, "", long_path};
    for (size_t i = 0; i < RM_ARRAY_LEN(directories); i++) {
        options =
            (resmon_prometheus_options){.struct_size = sizeof options, .directory = directories[i]};
        assert_status(RESMON_EINVAL, resmon_monitor_add_prometheus(monitor, &options));
    }
    options = (resmon_prometheus_options){
        .struct_size = sizeof options, .directory = ".", .label_count = 1};
    assert_status(RESMON_EINVAL, resmon_monitor_add_prometheus(monitor, &options));
    assert_status(RESMON_EINVAL, resmon_monitor_add_prometheus(monitor, NULL));
    assert_status(RESMON_EINVAL, resmon_monitor_add_prometheus(NULL, NULL));
    resmon_trace_options trace = {
        .struct_size = sizeof trace, .path = "x", .interval_ms = 86400001};
    assert_status(RESMON_ERANGE, resmon_monitor_add_trace(monitor, &trace));
    trace.path = NULL;
    trace.interval_ms = 0;
    assert_status(RESMON_EINVAL, resmon_monitor_add_trace(monitor, &trace));
    assert_status(RESMON_EINVAL, resmon_monitor_add_trace(monitor, NULL));
    resmon_csv_options csv = {.struct_size = sizeof csv, .path = "x", .flags = 2};
    assert_status(RESMON_EINVAL, resmon_monitor_add_csv(monitor, &csv));
    csv = (resmon_csv_options){.struct_size = 8, .path = "x"};
    assert_status(RESMON_EINVAL, resmon_monitor_add_csv(monitor, &csv));
    csv = (resmon_csv_options){.struct_size = sizeof csv};
    assert_status(RESMON_EINVAL, resmon_monitor_add_csv(monitor, &csv));
    assert_status(RESMON_EINVAL, resmon_monitor_add_csv(monitor, NULL));
    assert_status(RESMON_EINVAL, resmon_monitor_add_csv(NULL, &csv));
    resmon_json_options json = {.struct_size = sizeof json};
    assert_true(resmon_monitor_add_json(monitor, &json) < RESMON_OK);
    json = (resmon_json_options){.struct_size = sizeof json, .path = "x", .flags = 16};
    assert_true(resmon_monitor_add_json(monitor, &json) < RESMON_OK);
    resmon_stacks_options stacks = {.struct_size = sizeof stacks, .path = "x", .format = 9};
    assert_status(RESMON_EINVAL, resmon_monitor_add_stacks(monitor, &stacks));
    stacks.format = RESMON_STACKS_PPROF;
    stacks.kind = 1;
    assert_status(RESMON_EINVAL, resmon_monitor_add_stacks(monitor, &stacks));
    assert_int_equal(resmon_monitor_sink_count(monitor), 0);
}

TEST(stacks_that_are_left_out)
{
    static const struct {
        const char *text, *told;
    } rows[] = {{"stacks=memory,folded=x", "folded needs stacks of cpu,"},
                {"folded_memory=x,stacks=cpu+peak", "folded_memory needs stacks of memory,"},
                {"pprof=x,stacks=peak", "pprof needs stacks of cpu or memory,"},
                {"pprof=p,folded=x,stacks=memory", "omit stacks="}};
    for (size_t i = 0; i < RM_ARRAY_LEN(rows); i++) {
        resmon_monitor *made = NULL;
        assert_status(RESMON_EINVAL, resmon_monitor_new_text(rows[i].text, &made));
        if (strstr(resmon_last_error(), rows[i].told) == NULL) {
            fail_msg("no '%s' in '%s'", rows[i].told, resmon_last_error());
        }
        assert_null(made);
    }
}

static resmon_run *run_of(const char *text)
{
    resmon_monitor *made = NULL;
    resmon_run *run = NULL;
    assert_ok(resmon_monitor_new_text(text, &made));
    assert_ok(resmon_monitor_start(made));
    (void)resmon_monitor_stop(made);
    assert_ok(resmon_monitor_snapshot(made, &run));
    resmon_monitor_free(made);
    return run;
}

static double setting(const resmon_run *run, const char *key)
{
    resmon_run_fact_entry fact = {.struct_size = sizeof fact};
    for (size_t i = 0; resmon_run_get_fact(run, i, &fact) == RESMON_OK; i++) {
        if (strcmp(fact.group, "settings") == 0 && strcmp(fact.key, key) == 0) {
            return strtod(fact.value, NULL);
        }
    }
    fail_msg("the run has no setting %s", key);
    return 0.0;
}

/* What a file shows is taken for it, unless the options say what is. */
TEST(what_sinks_need)
{
    static const struct {
        const char *text;
        double events;
        int32_t cpu, memory; /* whether stacks of these were asked for */
    } rows[] = {
        {"csv=made_by_test", 0, 0, 0},
        {"trace=made_by_test", 4096, 0, 0},
        {"trace=made_by_test,events=8", 8, 0, 0},
        {"folded=made_by_test", 0, 1, 0},
        {"folded=made_by_test,folded_memory=made_by_test_2", 0, 1, 1},
        {"pprof=made_by_test,stacks=memory", 0, 0, 1},
    };
    for (size_t i = 0; i < RM_ARRAY_LEN(rows); i++) {
        char text[256];
        resmon_run_stack_info cpu = {.struct_size = sizeof cpu};
        resmon_run_stack_info memory = {.struct_size = sizeof memory};
        (void)snprintf(text, sizeof text, "%s,domains=process", rows[i].text);
        resmon_run *run = run_of(text);
        assert_true(setting(run, "events") == rows[i].events);
        assert_ok(resmon_run_get_stack_info(run, RESMON_STACK_CPU, &cpu));
        assert_ok(resmon_run_get_stack_info(run, RESMON_STACK_MEMORY, &memory));
        assert_int_equal(cpu.period != 0, rows[i].cpu);
        assert_int_equal(memory.period != 0, rows[i].memory);
        resmon_run_free(run);
    }
    (void)unlink("made_by_test");
    (void)unlink("made_by_test-columns.csv");
    (void)unlink("made_by_test_2");
}

TEST(a_monitor_of_a_text)
{
    resmon_run *run = run_of("interval=2s,rows=12,max_overhead=0.25,name=\"a, b\",domains=process");
    assert_true(setting(run, "interval_ms") == 2000.0 && setting(run, "rows") == 12.0);
    assert_true(setting(run, "max_overhead") == 0.25);
    resmon_run_free(run);
    resmon_monitor *made = NULL;
    assert_status(RESMON_EINVAL, resmon_monitor_new_text("summary", &made));
    assert_status(RESMON_EINVAL, resmon_monitor_new_text("intervall=3", &made));
    assert_status(RESMON_ERANGE, resmon_monitor_new_text("rows=3", &made));
    assert_status(RESMON_ENOENT, resmon_monitor_new_text("csv=/no/such/place/x", &made));
    assert_status(RESMON_EINVAL, resmon_monitor_new_text(NULL, &made));
    assert_status(RESMON_EINVAL, resmon_monitor_new_text("", NULL));
    assert_null(made);
}

static resmon_status make_with_sinks(void *unused)
{
    (void)unused;
    resmon_monitor *made = NULL;
    resmon_status status = resmon_monitor_new_text(
        "name=x,record=y,csv=made_by_test,prometheus=.,prometheus.label.a=b,trace=t", &made);
    assert_true((status == RESMON_OK) == (made != NULL));
    resmon_monitor_free(made);
    return status;
}

TEST(any_allocation_may_fail)
{
    fail_each(RM_FAULT_ALLOC, make_with_sinks, NULL, 3);
}

/* ---- parts of a run ------------------------------------------------------------------------- */

struct seen {
    size_t columns, rows, scopes, tags, events, stacks, facts;
    int runs;
};

static resmon_status look(void *context, const resmon_run *run)
{
    *(struct seen *)context = (struct seen){
        .columns = resmon_run_column_count(run),
        .rows = resmon_run_row_count(run),
        .scopes = resmon_run_scope_count(run),
        .tags = resmon_run_tag_count(run),
        .events = resmon_run_event_count(run),
        .stacks = resmon_run_stack_count(run),
        .facts = resmon_run_fact_count(run),
        .runs = 1,
    };
    return RESMON_OK;
}

/* Uses CPU time until the thread's stack must have been sampled. */
static void burn(void)
{
    struct timespec now, begin;
    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begin);
    do {
        (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    } while ((now.tv_sec - begin.tv_sec) * 1000000000 + now.tv_nsec - begin.tv_nsec < 50000000);
}

#define WHOLE "domains=process+tree,scopes=wall+cpu,events=64,stacks=cpu+memory,stack_hz=1000"

/* A run with something of each part. */
static void work(resmon_monitor *made)
{
    assert_ok(resmon_monitor_start(made));
    {
        RESMON_SCOPE("outer");
        RESMON_SCOPE("inner");
        burn();
    }
    assert_ok(resmon_monitor_tag(made, "a tag"));
    assert_ok(resmon_monitor_sample_now(made));
    (void)resmon_monitor_stop(made);
}

static struct seen seen_with(uint64_t parts)
{
    struct seen seen = {0};
    resmon_monitor *made = NULL;
    const resmon_sink_ops ops = {.struct_size = sizeof ops, .stop = look, .parts = parts};
    assert_ok(resmon_monitor_new_text(WHOLE, &made));
    assert_ok(resmon_monitor_add_sink(made, &ops, &seen));
    work(made);
    resmon_monitor_free(made);
    assert_int_equal(seen.runs, 1);
    assert_true(seen.facts > 0);
    return seen;
}

/* A timer of CPU time is looked at when the kernel's tick finds its thread running: beside many
 * others, that may be never in 50 ms. */
static struct seen seen_with_stacks(uint64_t parts)
{
    struct seen seen = seen_with(parts);
    for (int tries = 0; tries < 40 && seen.stacks == 0; tries++) {
        seen = seen_with(parts);
    }
    return seen;
}

TEST(a_sink_is_shown_what_it_looks_at)
{
    const struct seen all = seen_with_stacks(0);
    if (all.stacks == 0) {
        print_message("not checked here: stacks; none were taken\n");
    }
    assert_true(all.columns > 0 && all.rows > 0 && all.scopes == 2 && all.tags == 1 &&
                all.events == 2);
    const struct {
        uint64_t parts;
        int columns, rows, scopes, tags, events, stacks;
    } rows[] = {
        {RESMON_PART_SUMMARY, 1, 0, 0, 0, 0, 0},
        {RESMON_PART_SERIES, 1, 1, 0, 0, 0, 0},
        {RESMON_PART_SCOPES, 0, 0, 1, 0, 0, 0},
        {RESMON_PART_TAGS, 0, 0, 0, 1, 0, 0},
        {RESMON_PART_EVENTS | RESMON_PART_SUMMARY, 1, 0, 0, 0, 1, 0},
        {RESMON_PART_STACKS | RESMON_PART_SCOPES, 0, 0, 1, 0, 0, all.stacks > 0 ? 1 : 0},
    };
    for (size_t i = 0; i < RM_ARRAY_LEN(rows); i++) {
        const struct seen seen =
            rows[i].stacks > 0 ? seen_with_stacks(rows[i].parts) : seen_with(rows[i].parts);
        assert_int_equal(seen.columns > 0, rows[i].columns);
        assert_int_equal(seen.rows > 0, rows[i].rows);
        assert_int_equal(seen.scopes > 0, rows[i].scopes);
        assert_int_equal(seen.tags > 0, rows[i].tags);
        assert_int_equal(seen.events > 0, rows[i].events);
        assert_int_equal(seen.stacks > 0, rows[i].stacks);
    }
    const resmon_sink_ops ops = {.struct_size = sizeof ops, .stop = look, .parts = 1 << 20};
    resmon_monitor *made = NULL;
    assert_ok(resmon_monitor_new_text("", &made));
    assert_status(RESMON_EINVAL, resmon_monitor_add_sink(made, &ops, NULL));
    resmon_monitor_free(made);
}

static resmon_status save_trace(const resmon_run *run, const char *path)
{
    return resmon_trace_save(&run, 1, path);
}

static resmon_status save_folded(const resmon_run *run, const char *path)
{
    return resmon_run_save_folded(run, RESMON_STACK_CPU, path);
}

static resmon_status save_emissions(const resmon_run *run, const char *path)
{
    const resmon_emissions_options options = {
        .struct_size = sizeof options, .path = path, .flags = RESMON_EMISSIONS_PROCESS};
    return resmon_run_append_emissions(run, &options);
}

/* What is not of the recorded work: it goes on while sinks are called. */
static void forget_own_cost(char *content)
{
    static const char *const names[] = {"resmon_run_duration", "library_cpu", "resmon_memory"};
    for (size_t i = 0; i < RM_ARRAY_LEN(names); i++) {
        for (char *at = strstr(content, names[i]); at != NULL; at = strstr(at, names[i])) {
            while (*at != '\0' && *at != '\n') {
                *at++ = '.';
            }
        }
    }
}

/* Each line of emissions.csv has an id of its own. */
static void forget_id(char *content)
{
    char *at = strstr(content, ",resmon,");
    for (int i = 0; at != NULL && i < 36; i++) {
        at[8 + i] = '.';
    }
}

static resmon_status print_text(void *context, const resmon_run *run)
{
    return resmon_prometheus_text(run, NULL, context);
}

TEST(the_parts_of_prometheus_are_enough)
{
    char *of_sink = NULL, *of_run = NULL;
    resmon_run *run = NULL;
    resmon_monitor *made = NULL;
    const resmon_sink_ops ops = {.struct_size = sizeof ops,
                                 .stop = print_text,
                                 .parts = rm_sink_kind_find("prometheus")->parts};
    assert_int_equal(ops.parts, rm_sink_kind_find("pushgateway")->parts);
    assert_ok(resmon_monitor_new_text(WHOLE ",scope_counters=page-faults", &made));
    assert_ok(resmon_monitor_add_sink(made, &ops, &of_sink));
    work(made);
    assert_ok(resmon_monitor_snapshot(made, &run));
    assert_ok(resmon_prometheus_text(run, NULL, &of_run));
    forget_own_cost(of_sink);
    forget_own_cost(of_run);
    assert_string_equal(of_sink, of_run);
    resmon_text_free(of_sink);
    resmon_text_free(of_run);
    resmon_run_free(run);
    resmon_monitor_free(made);
}

/* The parts that a sink says it looks at are enough: its file is that of the whole run. */
TEST(the_parts_of_each_sink_are_enough)
{
    static const struct {
        const char *text;
        resmon_status (*save)(const resmon_run *run, const char *path);
    } rows[] = {
        {"csv=made_by_sink,csv.whole_run", resmon_run_save_csv},
        {"trace=made_by_sink", save_trace},
        {"folded=made_by_sink", save_folded},
        {"pprof=made_by_sink", resmon_run_save_pprof},
        {"emissions=made_by_sink,emissions.process,domains=process+tree+cpu+energy",
         save_emissions},
        {"json=made_by_sink", resmon_run_save},
    };
    for (size_t i = 0; i < RM_ARRAY_LEN(rows); i++) {
        char text[256];
        resmon_run *run = NULL;
        resmon_monitor *made = NULL;
        (void)snprintf(text, sizeof text, WHOLE ",%s", rows[i].text);
        if (resmon_monitor_new_text(text, &made) == RESMON_ENOTSUP) {
            print_message("skipped: %s\n", resmon_last_error());
            continue;
        }
        assert_non_null(made);
        work(made);
        resmon_sink_info info = {.struct_size = sizeof info};
        assert_ok(resmon_monitor_get_sink(made, 0, &info));
        assert_ok(resmon_monitor_snapshot(made, &run));
        resmon_status saved = rows[i].save(run, "made_by_test");
        assert_status(saved, info.end_status); /* stacks may not be had here */
        if (saved == RESMON_OK && strncmp(rows[i].text, "json", 4) != 0) {
            char *of_sink = content_of("made_by_sink", NULL);
            char *of_run = content_of("made_by_test", NULL);
            forget_own_cost(of_sink);
            forget_own_cost(of_run);
            forget_id(of_sink);
            forget_id(of_run);
            if (strcmp(of_sink, of_run) != 0) {
                size_t at = 0;
                while (of_sink[at] == of_run[at]) {
                    at++;
                }
                at = at > 60 ? at - 60 : 0;
                fail_msg("%s: '%.160s', of the whole run '%.160s'", rows[i].text, of_sink + at,
                         of_run + at);
            }
            free(of_sink);
            free(of_run);
        }
        (void)unlink("made_by_sink");
        (void)unlink("made_by_test");
        resmon_run_free(run);
        resmon_monitor_free(made);
    }
    (void)unlink("made_by_sink-columns.csv");
    (void)unlink("made_by_test-columns.csv");
}

TEST(the_table_is_told)
{
    resmon_option option = {.struct_size = sizeof option};
    size_t found = 0;
    for (size_t i = 0; resmon_option_at(i, &option) == RESMON_OK; i++) {
        assert_true(option.key[0] != '\0' && option.help[0] != '\0' && option.type[0] != '\0');
        if (strcmp(option.owner, "json") == 0 && strcmp(option.key, "interval") == 0) {
            assert_string_equal(option.type, "duration");
            assert_string_equal(option.unit, "ms");
            assert_string_equal(option.low, "1 ms");
            assert_string_equal(option.high, "24 h");
            assert_string_equal(option.default_text, "1 min");
            assert_int_equal(option.is_main + option.is_needed + option.has_bare, 0);
            found++;
        }
        if (strcmp(option.owner, "monitor") == 0 && strcmp(option.key, "idle") == 0) {
            assert_string_equal(option.values, "used, none, allocated");
            found++;
        }
        found += strcmp(option.owner, "carbon") == 0 && option.is_main == 1;
        found += i + 1 == resmon_option_count();
    }
    assert_int_equal(found, 4);
    assert_status(RESMON_ENOENT, resmon_option_at(resmon_option_count(), &option));
    resmon_sink_kind kind = {.struct_size = sizeof kind};
    assert_ok(resmon_sink_kind_at(0, &kind));
    assert_string_equal(kind.name, "json");
    assert_string_equal(kind.main, "path");
    assert_status(RESMON_ENOENT, resmon_sink_kind_at(resmon_sink_kind_count(), &kind));
}

TEST(names_as_bits)
{
    uint64_t bits = 0;
    assert_ok(resmon_option_bits("scopes", "cpu+rss", &bits));
    assert_int_equal(bits, RESMON_METER_CPU | RESMON_METER_RSS);
    assert_ok(resmon_option_bits("stacks", "all", &bits));
    assert_int_equal(bits, RESMON_STACKS_ALL);
    assert_status(RESMON_EINVAL, resmon_option_bits("scopes", "rs", &bits));
    assert_non_null(strstr(resmon_last_error(), "did you mean 'rss'"));
    assert_status(RESMON_EINVAL, resmon_option_bits("scopes", "none", &bits)); /* a flag's bit */
    assert_status(RESMON_ENOENT, resmon_option_bits("interval", "x", &bits));
    assert_status(RESMON_EINVAL, resmon_option_bits("scopes", NULL, &bits));
    assert_int_equal(bits, RESMON_STACKS_ALL);
}

TEST(help)
{
    char *text = NULL;
    assert_ok(resmon_option_text(&text));
    assert_non_null(strstr(text, "\n  interval=DURATION\n"));
    assert_non_null(strstr(text, "\n  signals[=NAMES]\n"));
    assert_non_null(strstr(text, "\n  json=path\n"));
    assert_non_null(strstr(text, "\n    prometheus.label.NAME=LABELS\n"));
    resmon_text_free(text);
    assert_status(RESMON_EINVAL, resmon_option_text(NULL));
}

/* ---- runs that are over ---------------------------------------------------------------------- */

static resmon_run *run_of_command(void)
{
    const resmon_monitor_options options = {
        .command = "/opt/py/bin/python3 -u /home/ann/train.py --token ...",
    };
    return finish(start_with(&options));
}

TEST(exports_that_are_refused)
{
    resmon_run *run = run_of_command();
    assert_int_equal(resmon_run_export(NULL, "json", "x"), RESMON_EINVAL);
    assert_int_equal(resmon_run_export(run, NULL, "x"), RESMON_EINVAL);
    assert_int_equal(resmon_run_export(run, "jsno", "x"), RESMON_EINVAL);
    assert_non_null(strstr(resmon_last_error(), "did you mean 'json'"));
    assert_int_equal(resmon_run_export(run, "json", NULL), RESMON_EINVAL);
    assert_int_equal(resmon_run_export(run, "json", "x,speed=3"), RESMON_EINVAL);
    assert_int_equal(resmon_run_export(run, "json", path_of("none/run.json")), RESMON_ENOENT);
    resmon_run_free(run);
}

TEST(a_file_tells_its_sink)
{
    static const struct {
        const char *path, *sink;
    } files[] = {
        {"run.json", "json"}, {"a/b.csv", "csv"},       {"run.trace.json", "trace"},
        {"x.pb.gz", "pprof"}, {"cpu.folded", "folded"}, {".json", NULL},
        {"json", NULL},       {"run.xls", NULL},        {"", NULL},
    };
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        resmon_sink_kind kind = {.struct_size = sizeof kind};
        resmon_status status = resmon_sink_kind_of_file(files[i].path, &kind);
        assert_int_equal(status, files[i].sink != NULL ? RESMON_OK : RESMON_ENOENT);
        if (files[i].sink != NULL) {
            assert_string_equal(kind.name, files[i].sink);
            assert_string_equal(kind.main, "path");
        }
    }
    assert_non_null(strstr(resmon_last_error(), ".pb.gz"));
    assert_int_equal(resmon_sink_kind_of_file(NULL, NULL), RESMON_EINVAL);
}

TEST(the_command_is_what_was_said)
{
    resmon_run *run = run_of_command();
    assert_string_equal(resmon_run_fact(run, "run", "program"), "train.py");
    assert_string_equal(resmon_run_fact(run, "run", "executable"), "/opt/py/bin/python3");
    assert_string_equal(resmon_run_fact(run, "run", "command_line"),
                        "/opt/py/bin/python3 -u /home/ann/train.py --token ...");
    resmon_run_free(run);
}
