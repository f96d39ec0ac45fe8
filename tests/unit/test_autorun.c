/* SPDX-License-Identifier: MIT */
/*
 * engine/autorun: what the environment variable RESMON may say, and that a mistake in it is told in
 * words that help.
 */
#include "test.h"

#include "engine/autorun.h"

static struct rm_autorun plan;

static void assert_helpful(const char *text, resmon_status status, const char *first,
                           const char *second)
{
    assert_status(status, rm_autorun_parse(text, &plan));
    const char *told = resmon_last_error();
    if (strstr(told, first) == NULL || strstr(told, second) == NULL) {
        fail_msg("'%s': '%s' does not say '%s' and '%s'", text, told, first, second);
    }
    assert_null(strchr(told, '\n'));
}

static void test_everything_at_once(void **state)
{
    (void)state;
    assert_ok(rm_autorun_parse("json=run.json,record=run-%p.rec,interval=250ms,"
                               "scopes=wall+cpu+rss+io+perf,domains=process+node,rows=1000,"
                               "name=a=b c,summary,smaps,log,counters=default+l2,"
                               "scope_counters=cycles",
                               &plan));
    assert_int_equal(plan.options.struct_size, sizeof plan.options);
    assert_string_equal(plan.texts[RM_AUTORUN_JSON], "run.json");
    assert_string_equal(plan.options.record, "run-%p.rec");
    assert_string_equal(plan.options.name, "a=b c");
    assert_string_equal(plan.options.counters, "default+l2");
    assert_string_equal(plan.options.scope_counters, "cycles");
    assert_int_equal(plan.options.interval_ms, 250);
    assert_int_equal(plan.options.max_rows, 1000);
    assert_int_equal(plan.options.scope_meters, RESMON_METER_ALL);
    assert_int_equal(plan.options.domains, RESMON_DOMAIN_PROCESS | RESMON_DOMAIN_NODE);
    assert_int_equal(plan.options.flags, RESMON_FLAG_SMAPS);
    assert_true(plan.wants_summary && plan.wants_log);
    /* Its texts point into the plan, not into the environment. */
    assert_ptr_equal(plan.options.name, plan.texts[RM_AUTORUN_NAME]);
    assert_ptr_equal(plan.options.record, plan.texts[RM_AUTORUN_RECORD]);
}

static void test_nothing_asked_is_a_summary(void **state)
{
    (void)state;
    static const char *const texts[] = {"", ",", ",,,", "log", "interval=1s"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        assert_ok(rm_autorun_parse(texts[i], &plan));
        assert_true(plan.wants_summary);
        assert_string_equal(plan.texts[RM_AUTORUN_JSON], "");
        assert_null(plan.options.record);
        assert_null(plan.options.name);
    }
    assert_ok(rm_autorun_parse("json=x", &plan));
    assert_false(plan.wants_summary); /* there is an output already */
    assert_ok(rm_autorun_parse(",,record=x,,", &plan));
    assert_false(plan.wants_summary);
    assert_ok(rm_autorun_parse("json=x,summary", &plan));
    assert_true(plan.wants_summary);
}

static void test_a_plan_starts_afresh(void **state)
{
    (void)state;
    assert_ok(rm_autorun_parse("json=old,rows=10,log,smaps,scopes=cpu", &plan));
    assert_ok(rm_autorun_parse("name=new", &plan));
    assert_string_equal(plan.texts[RM_AUTORUN_JSON], "");
    assert_int_equal(plan.options.max_rows + plan.options.flags + plan.options.scope_meters, 0);
    assert_false(plan.wants_log);
}

static void test_intervals_have_units(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        uint64_t ms;
    } good[] = {{"interval=100", 100},     {"interval=100ms", 100},    {"interval=2s", 2000},
                {"interval=3min", 180000}, {"interval=24h", 86400000}, {"interval=1", 1}};
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        assert_ok(rm_autorun_parse(good[i].text, &plan));
        assert_int_equal(plan.options.interval_ms, good[i].ms);
    }
    static const char *const bad[] = {
        "interval=",     "interval=fast",  "interval=0",    "interval=-1",
        "interval=1.5s", "interval=1 day", "interval=10us", "interval=99999999999999999999s",
        "interval=1sec", "interval=0x10",  "interval=1s2",
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        assert_helpful(bad[i], RESMON_EINVAL, "interval=", "100ms");
    }
}

static void test_rows_are_a_number(void **state)
{
    (void)state;
    static const char *const bad[] = {"rows=",  "rows=many", "rows=10x",
                                      "rows=0", "rows=-2",   "rows=99999999999999999999"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        assert_helpful(bad[i], RESMON_EINVAL, "rows=", "number");
    }
}

static void test_names_of_meters_and_domains(void **state)
{
    (void)state;
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
        assert_ok(rm_autorun_parse(domains[i].text, &plan));
        assert_int_equal(plan.options.domains, domains[i].domains);
    }
    assert_ok(rm_autorun_parse("scopes=wall", &plan));
    assert_int_equal(plan.options.scope_meters, RESMON_METER_WALL);
    assert_ok(rm_autorun_parse("scopes=io+rss", &plan));
    assert_int_equal(plan.options.scope_meters, RESMON_METER_IO | RESMON_METER_RSS);
    assert_ok(rm_autorun_parse("scopes=none", &plan));
    assert_int_equal(plan.options.flags, RESMON_FLAG_NO_SCOPES);
    static const char *const bad_scopes[] = {"scopes=",      "scopes=wal",      "scopes=wallx",
                                             "scopes=wall+", "scopes=+wall",    "scopes=wall++cpu",
                                             "scopes=Wall",  "scopes=wall cpu", "scopes=energy"};
    for (size_t i = 0; i < sizeof bad_scopes / sizeof bad_scopes[0]; i++) {
        assert_helpful(bad_scopes[i], RESMON_EINVAL, "scopes=", "wall, cpu, rss, io");
    }
    static const char *const bad_domains[] = {"domains=", "domains=tpu", "domains=cpu+",
                                              "domains=+"};
    for (size_t i = 0; i < sizeof bad_domains / sizeof bad_domains[0]; i++) {
        assert_helpful(bad_domains[i], RESMON_EINVAL, "domains=", "process, tree, cgroup");
    }
}

static void test_stacks(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        uint64_t stacks;
    } rows[] = {
        {"json=x", 0},
        {"stacks=cpu", RESMON_STACKS_CPU},
        {"stacks=cpu+memory+peak", RESMON_STACKS_ALL},
        {"stacks=all", RESMON_STACKS_ALL},
        {"folded=f", RESMON_STACKS_CPU},
        {"folded_memory=f", RESMON_STACKS_MEMORY},
        {"folded=f,folded_memory=g", RESMON_STACKS_CPU | RESMON_STACKS_MEMORY},
        {"speedscope=s", RESMON_STACKS_CPU | RESMON_STACKS_MEMORY},
        {"pprof=p", RESMON_STACKS_CPU | RESMON_STACKS_MEMORY},
        {"pprof=p,stacks=memory", RESMON_STACKS_MEMORY},
        {"lines", RESMON_STACKS_CPU | RESMON_STACKS_MEMORY},
        {"lines=work,folded=f", RESMON_STACKS_CPU | RESMON_STACKS_MEMORY},
        {"lines=work,folded=f,stacks=cpu", RESMON_STACKS_CPU},
        {"lines,stacks=peak", RESMON_STACKS_PEAK}, /* of checkpoints */
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        assert_ok(rm_autorun_parse(rows[i].text, &plan));
        assert_int_equal(plan.options.stacks, rows[i].stacks);
        assert_int_equal(plan.wants_summary, strncmp(rows[i].text, "stacks", 6) == 0);
    }
    assert_ok(rm_autorun_parse("folded=a,folded_memory=b,speedscope=c,pprof=d", &plan));
    assert_string_equal(plan.texts[RM_AUTORUN_FOLDED], "a");
    assert_string_equal(plan.texts[RM_AUTORUN_FOLDED_MEMORY], "b");
    assert_string_equal(plan.texts[RM_AUTORUN_SPEEDSCOPE], "c");
    assert_string_equal(plan.texts[RM_AUTORUN_PPROF], "d");
    assert_ok(rm_autorun_parse("lines=parse_row", &plan));
    assert_string_equal(plan.texts[RM_AUTORUN_LINES], "parse_row");
    assert_ok(rm_autorun_parse("stacks=cpu,lines", &plan));
    assert_true(plan.has[RM_AUTORUN_LINES]);
    assert_string_equal(plan.texts[RM_AUTORUN_LINES], "");
    assert_helpful("lines=", RESMON_EINVAL, "lines=", "1 to");
    assert_ok(rm_autorun_parse("stacks=cpu,stack_hz=997,fault_period=1", &plan));
    assert_int_equal(plan.options.stack_hz, 997);
    assert_int_equal(plan.options.fault_period, 1);
    assert_helpful("stacks=gpu", RESMON_EINVAL, "stacks=", "cpu, memory, peak");
    assert_helpful("stack_hz=fast", RESMON_EINVAL, "stack_hz=", "1 to 1000");
    assert_helpful("fault_period=0", RESMON_EINVAL, "fault_period=", "1 to 1000000");
    assert_helpful("folded=", RESMON_EINVAL, "folded=", "1 to");
}

/* Told at once, not when the run is over. */
static void test_outputs_of_stacks_that_are_not_taken(void **state)
{
    (void)state;
    assert_helpful("stacks=memory,folded=x", RESMON_EINVAL, "folded=", "stacks of cpu");
    assert_helpful("folded_memory=x,stacks=cpu+peak", RESMON_EINVAL,
                   "folded_memory=", "stacks of memory");
    assert_helpful("speedscope=x,stacks=peak", RESMON_EINVAL, "speedscope=", "cpu or memory");
    assert_helpful("pprof=p,folded=x,stacks=memory", RESMON_EINVAL, "folded=", "leaves out");
}

static void test_unknown_keys_list_the_known_ones(void **state)
{
    (void)state;
    static const struct {
        const char *text, *shown;
    } bad[] = {{"jsn=run.json", "jsn=run.json"},
               {"verbose", "verbose"},
               {"=x", "=x"},
               {" json=x", " json=x"},
               {"JSON=x", "JSON=x"},
               {"json=x,intervall=3", "intervall=3"}};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        assert_helpful(bad[i].text, RESMON_EINVAL, bad[i].shown, "json=FILE");
    }
}

static void test_keys_with_and_without_values(void **state)
{
    (void)state;
    assert_helpful("json", RESMON_EINVAL, "json", "a value");
    assert_helpful("record", RESMON_EINVAL, "record", "a value");
    assert_helpful("interval", RESMON_EINVAL, "interval", "a value");
    assert_helpful("summary=1", RESMON_EINVAL, "summary", "no value");
    assert_helpful("log=", RESMON_EINVAL, "log", "no value");
    assert_helpful("json=", RESMON_EINVAL, "json", "1 to");
    assert_helpful("name=", RESMON_EINVAL, "name", "1 to");
}

static void test_overlong_values_are_refused_and_shown_shortened(void **state)
{
    (void)state;
    static char text[8192];
    static const char *const keys[] = {"json=", "record=", "name="};
    for (size_t i = 0; i < 3; i++) {
        size_t head = strlen(keys[i]);
        memcpy(text, keys[i], head);
        memset(text + head, 'x', RM_AUTORUN_TEXT_BYTES);
        text[head + RM_AUTORUN_TEXT_BYTES - 1] = '\0';
        assert_ok(rm_autorun_parse(text, &plan));
        text[head + RM_AUTORUN_TEXT_BYTES - 1] = 'x';
        text[head + RM_AUTORUN_TEXT_BYTES] = '\0';
        assert_helpful(text, RESMON_EINVAL, keys[i], "1023");
    }
    memset(text, 'y', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    assert_helpful(text, RESMON_EINVAL, "yyyy", "json=FILE"); /* the advice is not cut off */
    memcpy(text, "scopes=", 7);
    assert_helpful(text, RESMON_EINVAL, "scopes=", "wall, cpu");
    memcpy(text, "interval=", 9);
    assert_helpful(text, RESMON_EINVAL, "interval=", "100ms");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_everything_at_once),
        cmocka_unit_test(test_nothing_asked_is_a_summary),
        cmocka_unit_test(test_a_plan_starts_afresh),
        cmocka_unit_test(test_intervals_have_units),
        cmocka_unit_test(test_rows_are_a_number),
        cmocka_unit_test(test_names_of_meters_and_domains),
        cmocka_unit_test(test_stacks),
        cmocka_unit_test(test_outputs_of_stacks_that_are_not_taken),
        cmocka_unit_test(test_unknown_keys_list_the_known_ones),
        cmocka_unit_test(test_keys_with_and_without_values),
        cmocka_unit_test(test_overlong_values_are_refused_and_shown_shortened),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
