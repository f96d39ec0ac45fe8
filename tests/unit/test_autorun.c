/* SPDX-License-Identifier: MIT */
/*
 * setup/plan: what the environment variable RESMON may say, and that a mistake in it is told in
 * words that help.
 */
#include "test.h"

#include <signal.h>
#include <stdbool.h>

#include <resmon/stack.h>

#include "api/plan.h"
#include "base/fault.h"

static struct rm_plan plan;

/* Of a sink, its options as they go to it; NULL: it is not wanted. */
static const char *sink_text(const char *name)
{
    for (size_t i = 0; i < plan.sink_count; i++) {
        if (strcmp(plan.sinks[i].set->name, name) == 0) {
            return !plan.sinks[i].is_wanted          ? NULL
                   : plan.sinks[i].text.text == NULL ? ""
                                                     : plan.sinks[i].text.text;
        }
    }
    fail_msg("there is no sink %s", name);
    return NULL;
}

/* Of the environment, what is wrong is left out, and said: here that is a failure. */
static resmon_status parse(const char *text)
{
    rm_plan_free(&plan);
    resmon_status status = rm_plan_read(text, true, &plan);
    if (status != RESMON_OK || plan.refused.length == 0) {
        return status;
    }
    assert_int_equal(strncmp(plan.refused.text, resmon_last_error(), strlen(resmon_last_error())),
                     0);
    return strstr(plan.refused.text, ": it may be ") != NULL ? RESMON_ERANGE : RESMON_EINVAL;
}

static void assert_helpful(const char *text, resmon_status status, const char *first,
                           const char *second)
{
    assert_status(status, parse(text));
    const char *told = resmon_last_error();
    if (strstr(told, first) == NULL || strstr(told, second) == NULL) {
        fail_msg("'%s': '%s' does not say '%s' and '%s'", text, told, first, second);
    }
    assert_null(strchr(told, '\n'));
}

TEST(everything_at_once)
{
    assert_ok(parse("json=run.json,record=run-%p.rec,interval=250ms,"
                    "scopes=wall+cpu+rss+io+perf+pcpu,domains=process+node,rows=1000,"
                    "name=a=b c,summary,smaps,log,counters=default+l2,"
                    "scope_counters=cycles"));
    assert_int_equal(plan.options.struct_size, sizeof plan.options);
    assert_string_equal(sink_text("json"), "path=\"run.json\"");
    assert_string_equal(plan.options.record, "run-%p.rec");
    assert_string_equal(plan.options.name, "a=b c");
    assert_string_equal(plan.options.counters, "default+l2");
    assert_string_equal(plan.options.scope_counters, "cycles");
    assert_int_equal(plan.options.interval_ms, 250);
    assert_int_equal(plan.options.rows, 1000);
    assert_int_equal(plan.options.scopes, RESMON_METER_ALL);
    assert_int_equal(plan.options.domains, RESMON_DOMAIN_PROCESS | RESMON_DOMAIN_NODE);
    assert_int_equal(plan.options.flags, RESMON_FLAG_SMAPS);
    assert_true(plan.wants_summary && (plan.environment.flags & RM_ENVIRONMENT_LOG) != 0);
}

TEST(a_mistake_costs_itself_only)
{
    rm_plan_free(&plan);
    assert_ok(
        rm_plan_read("intervall=1s,json=run.json,rows=0,stack_hz=200,summary=full,x", true, &plan));
    assert_string_equal(sink_text("json"), "path=\"run.json\"");
    assert_int_equal(plan.options.stack_hz, 200);
    assert_int_equal(plan.options.rows, 0);
    assert_true((plan.environment.flags & RM_ENVIRONMENT_FULL) != 0);
    const char *second = strchr(plan.refused.text, '\n');
    assert_non_null(
        strstr(plan.refused.text, "'intervall' is not known: did you mean 'interval'?"));
    assert_ptr_equal(strstr(second, "\nrows=0: it may be 2 to 1048576"), second);
    assert_non_null(strstr(second, "\n'x' is not known"));
    rm_plan_free(&plan);
    assert_status(RESMON_EINVAL, rm_plan_read("intervall=1s,json=run.json", false, &plan));
}

TEST(what_has_no_effect)
{
    static const struct {
        const char *options, *remarks;
    } rows[] = {
        {"stack_hz=200", "stack_hz has no effect without stacks=cpu"},
        {"stack_hz=200,stacks=memory", "stack_hz has no effect without stacks=cpu"},
        {"stack_hz=200,fault_period=8,folded=x.folded",
         "fault_period has no effect without stacks=memory"},
        {"stack_hz=200,stacks=cpu+memory,fault_period=8", ""},
        {"scopes=none,scope_depth=9", "scope_depth has no effect with scopes=none"},
        {"max_meter_share=0.5", "max_meter_share has no effect without scopes= more than wall"},
        {"max_meter_share=0.5,scopes=rss", ""},
        {"domains=process,carbon=FR,idle=none",
         "idle has no effect without domains=energy\ncarbon has no effect without domains=energy"},
        {"interval=50ms,rows=100,carbon=FR,idle=none,smaps", ""},
        {"rows=1000000,domains=tree",
         "rows=1000000 takes up to 633.2 MiB of memory as the table fills, 664 B a row"},
        {"rows=100000,domains=tree", ""},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        resmon_monitor *monitor = NULL;
        char *text = NULL;
        resmon_status status = resmon_monitor_new_text(rows[i].options, &monitor);
        if (status == RESMON_ENOTSUP) {
            continue; /* built without */
        }
        assert_ok(status);
        assert_ok(resmon_monitor_remarks(monitor, &text));
        assert_string_equal(text, rows[i].remarks);
        resmon_text_free(text);
        resmon_monitor_free(monitor);
    }
}

TEST(nothing_asked_is_a_summary)
{
    static const char *const texts[] = {"", ",", ",,,", "log", "interval=1s"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        assert_ok(parse(texts[i]));
        assert_true(plan.wants_summary);
        assert_null(sink_text("json"));
        assert_null(plan.options.record);
        assert_null(plan.options.name);
    }
    assert_ok(parse("json=x"));
    assert_false(plan.wants_summary); /* there is an output already */
    assert_ok(parse(",,record=x,,"));
    assert_false(plan.wants_summary);
    assert_ok(parse("json=x,summary"));
    assert_true(plan.wants_summary);
}

TEST(a_plan_starts_afresh)
{
    assert_ok(parse("json=old,rows=10,log,smaps,scopes=cpu"));
    assert_ok(parse("name=new"));
    assert_null(sink_text("json"));
    assert_int_equal(plan.options.rows + plan.options.flags + plan.options.scopes, 0);
    assert_int_equal(plan.environment.flags, 0);
}

TEST(intervals_have_units)
{
    static const struct {
        const char *text;
        uint64_t ms;
    } good[] = {{"interval=100", 100},     {"interval=100ms", 100},    {"interval=2s", 2000},
                {"interval=3min", 180000}, {"interval=24h", 86400000}, {"interval=1", 1},
                {"interval=1.5s", 1500},   {"interval=0.5min", 30000}, {"interval=\"10ms\"", 10}};
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        assert_ok(parse(good[i].text));
        assert_int_equal(plan.options.interval_ms, good[i].ms);
    }
    static const char *const bad[] = {"interval=fast",
                                      "interval=-1",
                                      "interval=1 day",
                                      "interval=10us",
                                      "interval=99999999999999999999s",
                                      "interval=1sec",
                                      "interval=0x10",
                                      "interval=1s2",
                                      "interval=1e3"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        assert_helpful(bad[i], RESMON_EINVAL, "interval=", "100 ms");
    }
    assert_helpful("interval=", RESMON_EINVAL, "interval=", "a value is wanted");
    /* The default is not said by a 0: that is for structs. */
    static const char *const far[] = {"interval=0", "interval=0.2ms", "interval=25h"};
    for (size_t i = 0; i < sizeof far / sizeof far[0]; i++) {
        assert_helpful(far[i], RESMON_ERANGE, far[i], "1 ms to 24 h; default 100 ms");
    }
}

#define BIT(number) (UINT64_C(1) << (number))

TEST(signals)
{
    static const uint64_t usual = BIT(SIGHUP) | BIT(SIGINT) | BIT(SIGTERM) | BIT(SIGXCPU);
    static const struct {
        const char *text;
        uint64_t signals;
    } good[] = {
        {"summary", 0},
        {"signals", usual},
        {"signals=default", usual},
        {"signals=none", RM_SIGNALS_NONE},
        {"signals=int+term", BIT(SIGINT) | BIT(SIGTERM)},
        {"signals=default+usr1+usr2", usual | BIT(SIGUSR1) | BIT(SIGUSR2)},
        {"signals=quit+alrm", BIT(SIGQUIT) | BIT(SIGALRM)},
    };
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        assert_ok(parse(good[i].text));
        assert_int_equal(plan.environment.signals, good[i].signals);
    }
    static const char *const bad[] = {"signals=SIGTERM", "signals=15",   "signals=kill",
                                      "signals=segv",    "signals=pipe", "signals=int+",
                                      "signals=none+int"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        assert_helpful(bad[i], RESMON_EINVAL, "signals=", "default, hup, int, term");
    }
}

TEST(rows_are_a_number)
{
    static const char *const bad[] = {"rows=many", "rows=10x", "rows=-2", "rows=1.5",
                                      "rows=99999999999999999999"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        assert_helpful(bad[i], RESMON_EINVAL, "rows=", "a whole number");
    }
    assert_helpful("rows=0", RESMON_ERANGE, "rows=0", "2 to 1048576; default 400");
    assert_helpful("rows=1048578", RESMON_ERANGE, "rows=1048578", "2 to 1048576; default 400");
}

/* Whatever a program can say, the variable can. */
TEST(every_option_of_a_monitor)
{
    assert_ok(parse("pid=17,max_overhead=0.5,max_meter_share=2.5,fs_root=/r,tags=5,scope_paths=9,"
                    "scope_threads=3,scope_depth=4,stop_timeout=1.5s,events=6,idle=allocated"));
    assert_int_equal(plan.options.pid, 17);
    assert_true(plan.options.max_overhead == 0.5 && plan.options.max_meter_share == 2.5);
    assert_string_equal(plan.options.fs_root, "/r");
    assert_int_equal(plan.options.tags, 5);
    assert_int_equal(plan.options.scope_paths, 9);
    assert_int_equal(plan.options.scope_threads, 3);
    assert_int_equal(plan.options.scope_depth, 4);
    assert_int_equal(plan.options.stop_timeout_ms, 1500);
    assert_int_equal(plan.options.events, 6);
    assert_int_equal(plan.options.flags, RESMON_FLAG_IDLE_ALLOCATED);
    assert_null(plan.options.carbon);
    assert_ok(parse("idle=allocated,smaps,idle=none"));
    assert_int_equal(plan.options.flags, RESMON_FLAG_IDLE_NONE | RESMON_FLAG_SMAPS);
    assert_ok(parse("idle=none,idle=used"));
    assert_int_equal(plan.options.flags, 0);
    assert_ok(parse("scopes=none,scopes=cpu"));
    assert_int_equal(plan.options.flags, 0);
    assert_int_equal(plan.options.scopes, RESMON_METER_CPU);
    assert_ok(parse("scopes=all"));
    assert_int_equal(plan.options.scopes, RESMON_METER_ALL);
    assert_helpful("max_overhead=0", RESMON_ERANGE, "max_overhead=0", "above 0 to 1; default 0.01");
    assert_helpful("idle=some", RESMON_EINVAL, "idle=", "used, none, allocated");
    assert_helpful("idle=none+used", RESMON_EINVAL, "idle=", "used, none, allocated");
    assert_helpful("pid=-1", RESMON_EINVAL, "pid=", "a whole number");
}

TEST(where_the_machine_stands)
{
    assert_ok(parse("carbon=FR,carbon.pue=1.25,carbon.wue=0.5,carbon.region=x"));
    assert_ptr_equal(plan.options.carbon, &plan.carbon);
    assert_int_equal(plan.carbon.struct_size, sizeof plan.carbon);
    assert_string_equal(plan.carbon.country, "FR");
    assert_string_equal(plan.carbon.region, "x");
    assert_true(plan.carbon.pue == 1.25 && plan.carbon.wue == 0.5);
    assert_ok(parse("carbon.g_per_kwh=0"));
    assert_int_equal(plan.carbon.flags, RESMON_CARBON_ZERO);
    assert_ok(parse("carbon.g_per_kwh=0,carbon.g_per_kwh=56,carbon.no_site"));
    assert_int_equal(plan.carbon.flags, RESMON_CARBON_NO_SITE);
    assert_helpful("carbon.pue=0.5", RESMON_ERANGE, "carbon.pue=0.5", "1 to 100");
    assert_helpful("carbon.contry=FR", RESMON_EINVAL, "'country'", "cloud_provider");
    assert_helpful("carbon", RESMON_EINVAL, "carbon.country", "a value");
}

TEST(options_of_sinks)
{
    assert_ok(parse("json.interval=10s,json=run.json,json.late,mlflow,prometheus.label.team=a b"));
    assert_string_equal(sink_text("json"), "interval=\"10s\",path=\"run.json\",late");
    assert_string_equal(sink_text("mlflow"), "");
    assert_string_equal(sink_text("prometheus"), "label.team=\"a b\"");
    assert_null(sink_text("csv"));
    assert_helpful("json.pth=x", RESMON_EINVAL, "'path'", "path, interval, final_only, late");
    assert_helpful("jsonx=x", RESMON_EINVAL, "'json'", "RESMON=help");
    assert_helpful("json.=x", RESMON_EINVAL, "json.=x", "path, interval");
    assert_helpful("prometheus.label=x", RESMON_EINVAL, "prometheus: 'label'", "label.NAME");
}

TEST(values_in_quotes)
{
    assert_ok(parse("name=\"a, \\\"b\\\" \\\\ c\",json=\"o,p\\\"q.json\",summary"));
    assert_string_equal(plan.options.name, "a, \"b\" \\ c");
    assert_string_equal(sink_text("json"), "path=\"o,p\\\"q.json\"");
    assert_ok(parse("name=\"\""));
    assert_string_equal(plan.options.name, "");
    assert_ok(parse("name=a\"b\\c"));
    assert_string_equal(plan.options.name, "a\"b\\c");
    assert_helpful("name=\"x", RESMON_EINVAL, "name=", "a quote");
    assert_helpful("name=\"x\"y", RESMON_EINVAL, "name=", "a quote");
    assert_helpful("name=\"x\\\"", RESMON_EINVAL, "name=", "a quote");
}

/* In code there are no keys of the environment, which would do nothing. */
TEST(without_the_keys_of_the_environment)
{
    rm_plan_free(&plan);
    assert_ok(rm_plan_read("interval=10ms,json=x", false, &plan));
    static const char *const keys[] = {"summary", "log", "lines", "signals", "help"};
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        rm_plan_free(&plan);
        assert_status(RESMON_EINVAL, rm_plan_read(keys[i], false, &plan));
    }
    assert_ok(parse("help"));
    assert_int_equal(plan.environment.flags, RM_ENVIRONMENT_HELP);
}

TEST(names_of_meters_and_domains)
{
    static const struct {
        const char *text;
        uint64_t domains;
    } domains[] = {
        {"domains=process", RESMON_DOMAIN_PROCESS},
        {"domains=tree", RESMON_DOMAIN_TREE},
        {"domains=cgroup", RESMON_DOMAIN_CGROUP},
        {"domains=cpu", RESMON_DOMAIN_CPU},
        {"domains=memory", RESMON_DOMAIN_MEMORY},
        {"domains=psi", RESMON_DOMAIN_PSI},
        {"domains=disk", RESMON_DOMAIN_DISK},
        {"domains=net", RESMON_DOMAIN_NET},
        {"domains=energy", RESMON_DOMAIN_ENERGY},
        {"domains=gpu", RESMON_DOMAIN_GPU},
        {"domains=node", RESMON_DOMAIN_NODE},
        {"domains=all", RESMON_DOMAIN_ALL},
        {"domains=net+net", RESMON_DOMAIN_NET},
        {"domains=cpu+tree", RESMON_DOMAIN_CPU | RESMON_DOMAIN_TREE},
    };
    for (size_t i = 0; i < sizeof domains / sizeof domains[0]; i++) {
        assert_ok(parse(domains[i].text));
        assert_int_equal(plan.options.domains, domains[i].domains);
    }
    assert_ok(parse("scopes=wall"));
    assert_int_equal(plan.options.scopes, RESMON_METER_WALL);
    assert_ok(parse("scopes=io+rss"));
    assert_int_equal(plan.options.scopes, RESMON_METER_IO | RESMON_METER_RSS);
    assert_ok(parse("scopes=none"));
    assert_int_equal(plan.options.flags, RESMON_FLAG_NO_SCOPES);
    static const char *const bad_scopes[] = {"scopes=wal",      "scopes=wallx",     "scopes=wall+",
                                             "scopes=+wall",    "scopes=wall++cpu", "scopes=Wall",
                                             "scopes=wall cpu", "scopes=energy"};
    for (size_t i = 0; i < sizeof bad_scopes / sizeof bad_scopes[0]; i++) {
        assert_helpful(bad_scopes[i], RESMON_EINVAL, "scopes=", "wall, cpu, pcpu, rss, io");
    }
    static const char *const bad_domains[] = {"domains=tpu", "domains=cpu+", "domains=+"};
    for (size_t i = 0; i < sizeof bad_domains / sizeof bad_domains[0]; i++) {
        assert_helpful(bad_domains[i], RESMON_EINVAL, "domains=", "process, tree, cgroup");
    }
}

TEST(stacks)
{
    static const struct {
        const char *text;
        uint64_t stacks;
    } rows[] = {
        {"json=x", 0},
        {"stacks=cpu", RESMON_STACKS_CPU},
        {"stacks=cpu+memory+peak", RESMON_STACKS_ALL},
        {"stacks=all", RESMON_STACKS_ALL},
        {"folded=f", 0}, /* the monitor settles what its sinks need */
        {"pprof=p,stacks=memory", RESMON_STACKS_MEMORY},
        {"lines,stacks=peak", RESMON_STACKS_PEAK},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        assert_ok(parse(rows[i].text));
        assert_int_equal(plan.options.stacks, rows[i].stacks);
        assert_int_equal(plan.wants_summary, strncmp(rows[i].text, "stacks", 6) == 0);
    }
    assert_ok(parse("lines=parse_row"));
    assert_string_equal(plan.environment.lines, "parse_row");
    assert_ok(parse("stacks=cpu,lines"));
    assert_string_equal(plan.environment.lines, "");
    assert_helpful("lines=", RESMON_EINVAL, "lines=", "a value");
    assert_ok(parse("stacks=cpu,stack_hz=997,fault_period=1"));
    assert_null(plan.environment.lines);
    assert_int_equal(plan.options.stack_hz, 997);
    assert_int_equal(plan.options.fault_period, 1);
    assert_helpful("stacks=gpu", RESMON_EINVAL, "stacks=", "cpu, memory, peak");
    assert_helpful("stack_hz=fast", RESMON_EINVAL, "stack_hz=", "1 to 1000");
    assert_helpful("fault_period=0", RESMON_ERANGE, "fault_period=", "1 to 1000000");
    assert_helpful("folded=", RESMON_EINVAL, "folded=", "a value");
}

TEST(unknown_keys_name_what_was_meant)
{
    static const struct {
        const char *text, *shown, *meant;
    } bad[] = {{"jsn=run.json", "'jsn'", "'json'"},
               {"verbose", "'verbose'", "RESMON=help"},
               {"=x", "'=x'", "RESMON=help"},
               {" json=x", "' json=x'", "RESMON=help"},
               {"JSON=x", "'JSON'", "'json'"},
               {"json=x,intervall=3", "'intervall'", "'interval'"},
               {"prom=/tmp", "'prom'", "'prometheus'"},
               {"stop=3s", "'stop'", "'stop_timeout'"},
               {"sumary", "'sumary'", "'summary'"},
               {"carbn=FR", "'carbn'", "'carbon'"},
               {"scope_path=8", "'scope_path'", "'scope_paths'"}};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        assert_helpful(bad[i].text, RESMON_EINVAL, bad[i].shown, bad[i].meant);
        assert_non_null(strstr(resmon_last_error(), "RESMON=help"));
    }
}

TEST(keys_with_and_without_values)
{
    assert_helpful("record", RESMON_EINVAL, "record", "a value");
    assert_helpful("interval", RESMON_EINVAL, "interval", "a value");
    assert_helpful("summary=1", RESMON_EINVAL, "summary", "brief, full");
    assert_helpful("log=", RESMON_EINVAL, "log", "no value");
    assert_helpful("json=", RESMON_EINVAL, "json=", "a value");
    assert_helpful("json.interval=", RESMON_EINVAL, "json.interval=", "a value");
    assert_helpful("name=", RESMON_EINVAL, "name=", "a value");
}

TEST(overlong_values_are_shown_shortened)
{
    static char text[8192];
    memset(text, 'y', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    assert_helpful(text, RESMON_EINVAL, "yyyy", "RESMON=help"); /* the advice is not cut off */
    memcpy(text, "scopes=", 7);
    assert_helpful(text, RESMON_EINVAL, "scopes=", "wall, cpu");
    memcpy(text, "interval=", 9);
    assert_helpful(text, RESMON_EINVAL, "interval=", "100 ms");
    memcpy(text, "name=", 5);
    assert_ok(parse(text));
    assert_int_equal(strlen(plan.options.name), sizeof text - 6);
    memcpy(text, "mlflow=", 7);
    assert_ok(parse(text));
}

/* A failure leaves no piece behind, and the next text is read as ever. */
TEST(memory_that_is_missing)
{
    rm_plan_free(&plan);
    int64_t live = rm_fault_live(0);
    bool has_fired = true;
    for (int64_t k = 0; has_fired; k++) {
        rm_fault_arm(RM_FAULT_ALLOC, k);
        resmon_status status = rm_plan_read("json=a,csv=b,name=c", true, &plan);
        has_fired = rm_fault_fired(RM_FAULT_ALLOC);
        rm_fault_arm(RM_FAULT_ALLOC, -1);
        assert_status(has_fired ? RESMON_ENOMEM : RESMON_OK, status);
        rm_plan_free(&plan);
        assert_int_equal(rm_fault_live(0), live);
    }
}

FIXTURE(tear_down)
{
    rm_plan_free(&plan);
    return 0;
}

TEST_FILE(.tear_down = tear_down);
