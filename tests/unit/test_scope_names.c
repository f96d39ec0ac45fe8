/* SPDX-License-Identifier: MIT */
/*
 * Scopes by name: recursion through other scopes, meters that were taken of some paths only, and
 * what a run of real scopes, its document and its summary say.
 */
#include "report_in_full.h"
#include "test.h"

#include <math.h>

#include "base/compiler.h"
#include "format/json.h"
#include "run/record.h"
#include "run/run.h"
#include "run/scope_sums.h"

static resmon_run_scope path_with(const char *name, int64_t parent, uint64_t calls, double wall_ns,
                                  double self_ns)
{
    resmon_run_scope scope;
    rm_record_clear(RM_RECORD_scope, &scope);
    scope.name = name;
    scope.parent = parent;
    scope.calls = calls;
    scope.threads = 1;
    scope.wall_ns = wall_ns;
    scope.self_ns = self_ns;
    scope.wall_min_ns = scope.wall_max_ns = wall_ns / (double)calls;
    scope.wall_stddev_ns = 1.0;
    scope.open_ns = scope.concurrent_ns = 0.0;
    return scope;
}

static struct resmon_run *run_of(const resmon_run_scope *scopes, size_t count)
{
    struct resmon_run *run = rm_run_new();
    assert_non_null(run);
    run->info.state = "stopped";
    run->info.label = "";
    run->scopes = rm_arena_alloc(&run->strings, count, sizeof *run->scopes);
    assert_non_null(run->scopes);
    memcpy(run->scopes, scopes, count * sizeof *scopes);
    run->scope_count = count;
    for (size_t i = 0; i < count; i++) {
        run->scopes[i].depth = scopes[i].parent >= 0 ? run->scopes[scopes[i].parent].depth + 1 : 0;
    }
    assert_ok(rm_scope_names_sum(run));
    return run;
}

static const resmon_run_scope *name_at(const struct resmon_run *run, const char *name)
{
    for (size_t i = 0; i < run->name_count; i++) {
        if (strcmp(run->names[i].name, name) == 0) {
            return &run->names[i];
        }
    }
    fail_msg("no name %s", name);
    return NULL;
}

static double self_of_all(const struct resmon_run *run)
{
    double sum = 0.0;
    for (size_t i = 0; i < run->name_count; i++) {
        sum += run->names[i].self_ns;
    }
    return sum;
}

/* value > array > value > array > value, as a parser of nested lists has it; and value once more,
 * beside: what is inside of its own name is there already. */
TEST(mutual_recursion_counts_once)
{
    resmon_run_scope scopes[] = {
        path_with("value", -1, 10, 1000.0, 100.0), path_with("array", 0, 10, 900.0, 200.0),
        path_with("value", 1, 40, 700.0, 300.0),   path_with("array", 2, 40, 400.0, 150.0),
        path_with("value", 3, 160, 250.0, 250.0),  path_with("file", -1, 1, 80.0, 20.0),
        path_with("value", 5, 5, 60.0, 60.0),
    };
    for (size_t i = 0; i < RM_ARRAY_LEN(scopes); i++) {
        double half = scopes[i].wall_ns / 2.0;
        scopes[i].cpu_ns = (resmon_estimate){half, half - 1.0, half + 2.0};
        scopes[i].cpu_calls = scopes[i].calls;
        scopes[i].cpu_provenance = RESMON_PROVENANCE_MEASURED;
        scopes[i].energy_j = scopes[i].wall_ns / 100.0;
        scopes[i].energy_uncertainty_j = 0.125;
        scopes[i].rss_peak_bytes = 4096.0 * (double)(i + 1);
    }
    struct resmon_run *run = run_of(scopes, RM_ARRAY_LEN(scopes));
    assert_int_equal(run->name_count, 3);
    assert_string_equal(run->names[0].name, "value"); /* the most self time */
    const resmon_run_scope *value = name_at(run, "value");
    assert_int_equal(value->calls, 10 + 40 + 160 + 5);
    assert_near(value->wall_ns, 1060.0, 1e-9);
    assert_near(value->self_ns, 100.0 + 300.0 + 250.0 + 60.0, 1e-9);
    assert_near(value->cpu_ns.value, 530.0, 1e-9);
    assert_true(value->cpu_ns.low < 530.0 && value->cpu_ns.high > 530.0);
    assert_near(value->cpu_ns.high - 530.0, 2.0 * (530.0 - value->cpu_ns.low), 1e-9);
    assert_int_equal(value->cpu_provenance, RESMON_PROVENANCE_MEASURED);
    assert_near(value->energy_j, 10.6, 1e-9);
    assert_near(value->energy_uncertainty_j, 0.25, 1e-9);
    assert_near(value->wall_min_ns, 250.0 / 160.0, 1e-9);
    assert_near(value->wall_max_ns, 100.0, 1e-9);
    assert_near(value->rss_peak_bytes, 4096.0 * 7.0, 1e-9);
    assert_true(isnan(value->wall_stddev_ns));
    assert_int_equal(value->parent, -1);
    const resmon_run_scope *array = name_at(run, "array");
    assert_near(array->wall_ns, 900.0, 1e-9);
    assert_int_equal(array->calls, 50);
    assert_near(name_at(run, "file")->wall_stddev_ns, 1.0, 1e-9);
    /* Self times are those of the whole. */
    assert_near(self_of_all(run), 1080.0, 1e-9);
    rm_run_free(run);
}

/* Of "task", which hangs below itself on other threads, no time is in that of another; all energy
 * is. */
TEST(what_runs_beside_is_not_inside)
{
    resmon_run_scope scopes[] = {
        path_with("task", -1, 1, 100.0, 100.0),
        path_with("task", 0, 4, 300.0, 300.0),
        path_with("step", 1, 8, 200.0, 20.0),
        path_with("task", 2, 8, 180.0, 180.0),
    };
    scopes[1].concurrent_ns = 300.0;
    for (size_t i = 0; i < RM_ARRAY_LEN(scopes); i++) {
        scopes[i].energy_j = 10.0 - (double)i;
    }
    struct resmon_run *run = run_of(scopes, RM_ARRAY_LEN(scopes));
    assert_near(name_at(run, "task")->wall_ns, 400.0, 1e-9);
    assert_near(name_at(run, "task")->concurrent_ns, 300.0, 1e-9);
    assert_near(name_at(run, "task")->energy_j, 10.0, 1e-9);
    assert_near(name_at(run, "step")->energy_j, 8.0, 1e-9);
    rm_run_free(run);
}

/* Half of the time was never metered: it is taken to be like the other, and said to be. */
TEST(paths_that_were_not_metered_go_with_their_time)
{
    resmon_run_scope scopes[] = {
        path_with("a", -1, 1, 100.0, 0.0),
        path_with("x", 0, 1, 100.0, 100.0),
        path_with("b", -1, 1, 100.0, 0.0),
        path_with("x", 2, 1, 100.0, 100.0),
    };
    scopes[1].cpu_calls = 1;
    scopes[1].cpu_ns = (resmon_estimate){40.0, 40.0, 40.0};
    scopes[1].cpu_provenance = RESMON_PROVENANCE_MEASURED;
    struct resmon_run *run = run_of(scopes, RM_ARRAY_LEN(scopes));
    assert_near(name_at(run, "x")->cpu_ns.value, 80.0, 1e-9);
    assert_near(name_at(run, "x")->cpu_ns.low, 40.0, 1e-9);
    assert_true(isnan(name_at(run, "x")->cpu_ns.high));
    assert_int_equal(name_at(run, "x")->cpu_provenance, RESMON_PROVENANCE_SAMPLED);
    assert_true(isnan(name_at(run, "a")->cpu_ns.value));
    assert_int_equal(name_at(run, "a")->cpu_provenance, RESMON_PROVENANCE_NONE);
    rm_run_free(run);
}

static void nest(int depth)
{
    RESMON_SCOPE("even");
    if (depth > 0) {
        RESMON_SCOPE("odd");
        nest(depth - 1);
    }
}

static resmon_run *recorded(void)
{
    resmon_monitor *monitor = NULL;
    resmon_run *run = NULL;
    const resmon_monitor_options options = {.struct_size = sizeof options,
                                            .domains = RESMON_DOMAIN_PROCESS,
                                            .scopes = RESMON_METER_WALL,
                                            .interval_ms = 1000};
    assert_ok(resmon_monitor_new(&options, &monitor));
    assert_ok(resmon_monitor_start(monitor));
    nest(3);
    nest(3);
    assert_ok(resmon_monitor_stop(monitor));
    assert_ok(resmon_monitor_snapshot(monitor, &run));
    resmon_monitor_free(monitor);
    return run;
}

static void check_recorded(const resmon_run *run)
{
    resmon_run_scope name = {.struct_size = sizeof name};
    resmon_run_scope outermost = {.struct_size = sizeof outermost};
    double self = 0.0;
    assert_int_equal(resmon_run_scope_count(run), 7);
    assert_int_equal(resmon_run_scope_name_count(run), 2);
    assert_ok(resmon_run_get_scope(run, 0, &outermost));
    for (size_t i = 0; i < 2; i++) {
        assert_ok(resmon_run_get_scope_name(run, i, &name));
        self += name.self_ns;
        if (strcmp(name.name, "even") == 0) {
            assert_int_equal(name.calls, 8);
            assert_near(name.wall_ns, outermost.wall_ns, 1e-9 * outermost.wall_ns);
        } else {
            assert_int_equal(name.calls, 6);
            assert_true(name.wall_ns <= outermost.wall_ns);
        }
    }
    assert_near(self, outermost.wall_ns, 1e-6 * outermost.wall_ns);
    assert_status(RESMON_ENOENT, resmon_run_get_scope_name(run, 2, &name));
    assert_status(RESMON_EINVAL, resmon_run_get_scope_name(NULL, 0, &name));
    assert_int_equal(resmon_run_scope_name_count(NULL), 0);
}

TEST(a_run_and_its_document_have_them)
{
    resmon_run *run = recorded();
    resmon_run *read = NULL;
    char *text = NULL;
    check_recorded(run);
    if (rm_json_check() == RESMON_OK) {
        assert_ok(resmon_run_document(run, &text));
        assert_ok(resmon_run_parse(text, strlen(text), &read));
        check_recorded(read);
        resmon_run_free(read);
        resmon_text_free(text);
    }
    resmon_run_free(run);
}

TEST(the_summary_has_them_where_they_say_more)
{
    char *text = NULL;
    resmon_run *run = recorded();
    assert_ok(report_in_full(run, &text));
    const char *names = strstr(text, "\nScopes by name\n");
    assert_non_null(names);
    assert_non_null(strstr(names, "\n  even "));
    assert_non_null(strstr(names, "\n  odd "));
    resmon_text_free(text);
    resmon_run_free(run);
    const resmon_run_scope scopes[] = {path_with("a", -1, 1, 100.0, 50.0),
                                       path_with("b", 0, 1, 50.0, 50.0)};
    run = run_of(scopes, 2);
    text = NULL;
    assert_ok(report_in_full(run, &text));
    assert_non_null(strstr(text, "\nScopes\n"));
    assert_null(strstr(text, "Scopes by name"));
    resmon_text_free(text);
    resmon_run_free(run);
}
