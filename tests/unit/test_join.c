/* SPDX-License-Identifier: MIT */
/*
 * Runs of several processes as one: paths of the same names are one path, against sums made here;
 * rows for processes; what a monitor of another process, its document and its recording say.
 */
#include "runs.h"

#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "run/join.h"
#include "run/record.h"
#include "run/run.h"
#include "run/scope_sums.h"

static resmon_run_scope made_scope(const char *name, int64_t parent, uint64_t calls, double each_ns,
                                   double stddev_ns)
{
    resmon_run_scope scope;
    memset(&scope, 0, sizeof scope);
    rm_record_clear(RM_RECORD_scope, &scope);
    scope.name = name;
    scope.file = "a.c";
    scope.function = "f";
    scope.parent = parent;
    scope.calls = calls;
    scope.threads = 2;
    scope.wall_ns = each_ns * (double)calls;
    scope.self_ns = scope.wall_ns / 2;
    scope.wall_min_ns = each_ns - stddev_ns;
    scope.wall_max_ns = each_ns + stddev_ns;
    scope.wall_stddev_ns = calls > 1 ? stddev_ns : NAN;
    scope.open_ns = scope.concurrent_ns = 0.0;
    scope.cpu_calls = calls;
    scope.cpu_provenance = RESMON_PROVENANCE_MEASURED;
    scope.cpu_ns = (resmon_estimate){each_ns, each_ns, each_ns};
    scope.rss_calls = calls;
    scope.rss_peak_bytes = each_ns * 10;
    return scope;
}

static struct resmon_run *made_part(const resmon_run_scope *scopes, size_t count)
{
    struct resmon_run *run = rm_run_new();
    assert_non_null(run);
    run->info.state = "stopped";
    run->info.label = "";
    run->info.start_realtime_ns = INT64_C(5000000000);
    run->info.duration_ns = 77;
    run->scopes = rm_arena_alloc(&run->strings, count, sizeof *run->scopes);
    assert_non_null(run->scopes);
    memcpy(run->scopes, scopes, count * sizeof *scopes);
    run->scope_count = count;
    for (size_t i = 0; i < count; i++) {
        run->scopes[i].depth = scopes[i].parent >= 0 ? run->scopes[scopes[i].parent].depth + 1 : 0;
    }
    return run;
}

static struct resmon_run *made_whole(void)
{
    struct resmon_run *run = rm_run_new();
    assert_non_null(run);
    run->info.state = "stopped";
    run->info.label = "";
    run->info.start_realtime_ns = INT64_C(4999999000);
    return run;
}

TEST(paths_of_the_same_names_are_one)
{
    const resmon_run_scope first[] = {
        made_scope("main", -1, 1, 1000, 0), made_scope("load", 0, 2, 100, 10),
        made_scope("deep", 1, 2, 50, 1),    made_scope("deeper", 2, 2, 20, 1),
        made_scope("work", 0, 4, 150, 5),
    };
    const resmon_run_scope second[] = {
        made_scope("main", -1, 3, 2000, 100),
        made_scope("work", 0, 6, 200, 20),
        made_scope("load", 1, 1, 7, 0), /* below work: another path */
        made_scope("other", -1, 1, 5, 0),
    };
    struct resmon_run *parts[] = {made_part(first, 5), made_part(second, 4), made_part(first, 0)};
    struct resmon_run *run = made_whole();
    assert_ok(rm_run_join(run, parts, 3));
    static const struct {
        const char *name;
        int64_t parent;
        uint64_t depth, calls, threads;
        double wall_ns;
    } wanted[] = {
        {"main", -1, 0, 4, 4, 7000}, {"load", 0, 1, 2, 2, 200},   {"deep", 1, 2, 2, 2, 100},
        {"deeper", 2, 3, 2, 2, 40},  {"work", 0, 1, 10, 4, 1800}, {"load", 4, 2, 1, 2, 7},
        {"other", -1, 0, 1, 2, 5},
    };
    assert_int_equal(run->scope_count, 7);
    for (size_t i = 0; i < 7; i++) {
        const resmon_run_scope *scope = &run->scopes[i];
        assert_string_equal(scope->name, wanted[i].name);
        assert_int_equal(scope->parent, wanted[i].parent);
        assert_int_equal(scope->depth, wanted[i].depth);
        assert_int_equal(scope->calls, wanted[i].calls);
        assert_int_equal(scope->threads, wanted[i].threads);
        assert_near(scope->wall_ns, wanted[i].wall_ns, 1e-9);
        assert_near(scope->self_ns, wanted[i].wall_ns / 2, 1e-9);
    }
    const resmon_run_scope *work = &run->scopes[4];
    assert_near(work->wall_min_ns, 145, 1e-9);
    assert_near(work->wall_max_ns, 220, 1e-9);
    assert_near(work->cpu_ns.value, 350, 1e-9);
    assert_int_equal(work->cpu_calls, 10);
    assert_near(work->rss_peak_bytes, 2000, 1e-9);
    /* 4 calls of 150 +- 5 and 6 of 200 +- 20, about the mean of all, 180. */
    double squares = 3 * 25.0 + 4 * 900.0 + 5 * 400.0 + 6 * 400.0;
    assert_near(work->wall_stddev_ns, sqrt(squares / 9), 1e-9);
    assert_int_equal(run->name_count, 6);
    for (size_t i = 0; i < 3; i++) {
        rm_run_free(parts[i]); /* the run holds all that it shows */
    }
    assert_string_equal(run->scopes[6].file, "a.c");
    assert_int_equal(run->process_count, 3);
    assert_int_equal(run->processes[0].start_ns, 1000);
    assert_int_equal(run->processes[0].duration_ns, 77);
    assert_int_equal(run->processes[1].scopes, 4);
    assert_int_equal(run->processes[2].reason, RESMON_END_FINISHED);
    rm_run_free(run);
}

/* A program with two monitors has given two recordings, and is one process; another one may have
 * its number later. */
TEST(parts_of_one_process_are_one_row)
{
    static const struct {
        const char *pid;
        int64_t start_ns, duration_ns;
    } given[] = {{"7", 100, 50}, {"7", 90, 80}, {"7", 95, 20}, {"8", 100, 50},
                 {"7", 171, 5},  {"", 100, 50}, {"", 100, 50}};
    struct resmon_run *parts[RM_ARRAY_LEN(given)];
    struct resmon_run *run = made_whole();
    const resmon_run_scope scope = made_scope("main", -1, 1, 1000, 0);
    for (size_t i = 0; i < RM_ARRAY_LEN(given); i++) {
        struct rm_fact fact = {"run", "pid", given[i].pid, RM_FACT_NUMBER};
        parts[i] = made_part(&scope, 1);
        parts[i]->info.start_realtime_ns = run->info.start_realtime_ns + given[i].start_ns;
        parts[i]->info.duration_ns = given[i].duration_ns;
        parts[i]->facts = rm_arena_alloc(&parts[i]->strings, 1, sizeof fact);
        assert_non_null(parts[i]->facts);
        parts[i]->facts[0] = fact;
        parts[i]->fact_count = given[i].pid[0] != '\0' ? 1 : 0;
    }
    assert_ok(rm_run_join(run, parts, RM_ARRAY_LEN(given)));
    static const int64_t wanted[][4] = {
        {7, 90, 80, 3}, {8, 100, 50, 1}, {7, 171, 5, 1}, {0, 100, 50, 1}, {0, 100, 50, 1}};
    assert_int_equal(run->process_count, RM_ARRAY_LEN(wanted));
    for (size_t i = 0; i < RM_ARRAY_LEN(wanted); i++) {
        assert_int_equal(run->processes[i].pid, wanted[i][0]);
        assert_int_equal(run->processes[i].start_ns, wanted[i][1]);
        assert_int_equal(run->processes[i].duration_ns, wanted[i][2]);
        assert_int_equal(run->processes[i].scopes, wanted[i][3]);
    }
    for (size_t i = 0; i < RM_ARRAY_LEN(given); i++) {
        rm_run_free(parts[i]);
    }
    rm_run_free(run);
}

/* In a process of its own, that leaves a recording. */
static void record_scopes(const char *path, int calls)
{
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        const resmon_monitor_options options = {
            .record = path, .name = "part", .scopes = RESMON_METER_WALL};
        resmon_monitor *monitor = start_with(&options);
        for (int i = 0; i < calls; i++) {
            RESMON_SCOPE("phase");
        }
        resmon_run_free(finish(monitor));
        _exit(0);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

static void check_joined(const resmon_run *run)
{
    resmon_run_scope scope = {.struct_size = sizeof scope};
    resmon_run_process process = {.struct_size = sizeof process};
    assert_int_equal(resmon_run_scope_count(run), 1);
    assert_ok(resmon_run_get_scope(run, 0, &scope));
    assert_string_equal(scope.name, "phase");
    assert_int_equal(scope.calls, 12);
    assert_int_equal(resmon_run_process_count(run), 2);
    assert_ok(resmon_run_get_process(run, 1, &process));
    assert_string_equal(process.name, "part");
    assert_int_equal(process.scopes, 1);
    assert_int_equal(process.reason, RESMON_END_FINISHED);
    assert_int_equal(resmon_run_get_process(run, 2, &process), RESMON_ENOENT);
}

TEST(a_monitor_joins_recordings)
{
    char *text = NULL;
    record_scopes(path_of("1.rec"), 5);
    record_scopes(path_of("2.rec"), 7);
    const resmon_monitor_options options = {.flags = RESMON_FLAG_NO_SCOPES};
    resmon_monitor *monitor = start_with(&options);
    assert_ok(resmon_monitor_join(monitor, path_of("1.rec")));
    assert_ok(resmon_monitor_join(monitor, path_of("2.rec")));
    assert_int_equal(resmon_monitor_join(monitor, path_of("3.rec")), RESMON_ENOENT);
    assert_int_equal(resmon_monitor_join(monitor, NULL), RESMON_EINVAL);
    assert_int_equal(resmon_monitor_join(NULL, path_of("1.rec")), RESMON_EINVAL);
    resmon_run *run = finish(monitor);
    check_joined(run);
    assert_ok(resmon_run_document(run, &text));
    resmon_run_free(run);
#if defined(RM_HAVE_CJSON)
    run = parsed(text);
    check_joined(run);
    resmon_run_free(run);
#else
    print_message("skipped: the document, as this build cannot read JSON\n");
#endif
    resmon_text_free(text);
}

TEST(a_monitor_with_scopes_joins_none)
{
    const resmon_monitor_options options = {.scopes = RESMON_METER_WALL};
    resmon_monitor *monitor = start_with(&options);
    assert_int_equal(resmon_monitor_join(monitor, path_of("1.rec")), RESMON_EINVAL);
    resmon_run_free(finish(monitor));
}
