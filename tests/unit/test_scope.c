/* SPDX-License-Identifier: MIT */
/*
 * scope: what programs see of their scopes in a run, and what happens when they are used wrongly,
 * past a bound, from many threads, or without a monitor.
 */
#define _GNU_SOURCE /* MAP_ANONYMOUS */
#include "scopes.h"

#include <pthread.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "made_time.h"
#include "sanitizer.h"
#include "scope/peak.h"

#define MIB (1024.0 * 1024.0)

/* ---- a monitor for scopes ------------------------------------------------------------------- */

/* Samples only at start and stop. */
static resmon_monitor *started(const resmon_monitor_options *wanted)
{
    resmon_monitor_options options = *wanted;
    options.scopes |= RESMON_METER_WALL;
    return start_with(&options);
}

static resmon_monitor *started_plain(void)
{
    return started(&(resmon_monitor_options){.scope_depth = 64});
}

/* Every instance is metered, whatever it costs. */
static resmon_monitor *started_metering(uint64_t meters)
{
    return started(&(resmon_monitor_options){.scopes = meters, .max_meter_share = 1e9});
}

/* ---- memory and log lines ------------------------------------------------------------------- */

/* Touches so much memory and gives it back; not by malloc, which may keep it. */
static void spike(double mib)
{
    size_t bytes = (size_t)(mib * MIB);
    volatile unsigned char *memory =
        mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(memory != MAP_FAILED);
    for (size_t i = 0; i < bytes; i += 4096) {
        memory[i] = 1;
    }
    (void)munmap((void *)(uintptr_t)memory, bytes);
}

static double rss_now(void)
{
    unsigned long size = 0, resident = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    assert_non_null(file);
    assert_int_equal(fscanf(file, "%lu %lu", &size, &resident), 2);
    (void)fclose(file);
    return (double)resident * (double)sysconf(_SC_PAGESIZE);
}

/* What the library itself says RSS counters may be off by, and some for the test's own pages. */
static double rss_tolerance(void)
{
    double cpus = (double)sysconf(_SC_NPROCESSORS_CONF);
    double batch = 2.0 * cpus > 32.0 ? 2.0 * cpus : 32.0;
    return 3.0 * cpus * batch * (double)sysconf(_SC_PAGESIZE) + 2.0 * MIB;
}

static void need_exact_peaks(void)
{
    if (HAS_THREAD_SANITIZER) {
        print_message("skipped: ThreadSanitizer's shadow counts as memory of the program\n");
        skip();
    }
    rm_peak_open();
    if (!rm_peak_is_exact()) {
        print_message("skipped: no exact RSS peak here: %s\n", rm_peak_method());
        skip();
    }
}

static struct {
    int count;
    int32_t level;
    char line[512];
} logged;

static void keep_line(void *context, int32_t level, const char *line)
{
    (void)context;
    logged.count++;
    logged.level = level;
    (void)snprintf(logged.line, sizeof logged.line, "%s", line);
}

static void listen(void)
{
    memset(&logged, 0, sizeof logged);
    resmon_set_log(keep_line, NULL, RESMON_LOG_INFO);
}

static void listen_no_more(void)
{
    resmon_set_log(NULL, NULL, 0);
}

/* "NAME peak RSS 687.5 MiB (exact)" in bytes. */
static double logged_peak(const char *name)
{
    char prefix[64], unit[8], quality[16];
    double number = NAN;
    (void)snprintf(prefix, sizeof prefix, "%s peak RSS ", name);
    assert_memory_equal(logged.line, prefix, strlen(prefix));
    assert_int_equal(
        sscanf(logged.line + strlen(prefix), "%lf %7s (%15[a-z])", &number, unit, quality), 3);
    assert_string_equal(quality, "exact");
    return number * (strcmp(unit, "MiB") == 0 ? MIB : strcmp(unit, "GiB") == 0 ? 1024 * MIB : NAN);
}

/* ---- without a monitor ---------------------------------------------------------------------- */

static double accounted_peak(void)
{
    struct rusage usage;
    assert_int_equal(getrusage(RUSAGE_SELF, &usage), 0);
    return (double)usage.ru_maxrss * 1024.0;
}

/* Before all others: nothing has opened the mark, which sets it back, too.  What batch systems and
 * time(1) show of a program is not ours to change when nobody looks. */
TEST(a_peak_that_nobody_sees_leaves_the_kernels_mark_alone)
{
    spike(300);
    double before = accounted_peak();
    RESMON_PEAK_RSS("unseen", spike(1));
    RESMON_PEAK_RSS("unseen again", spike(1));
    assert_int_equal(rm_peak_resets(), 0);
    assert_near(accounted_peak(), before, 0.0);
    assert_true(before >= 300 * MIB - rss_tolerance());
}

/* A monitor whose scopes have no peaks does not touch it either, nor one without scopes. */
TEST(a_monitor_without_peaks_leaves_the_kernels_mark_alone)
{
    spike(300);
    double before = accounted_peak();
    resmon_monitor *monitor = started_metering(RESMON_METER_CPU | RESMON_METER_IO);
    resmon_scope_end(begin("work"));
    RESMON_LINE();
    assert_ok(resmon_monitor_sample_now(monitor));
    resmon_run_free(finished(monitor));
    monitor = start_with(&(resmon_monitor_options){.flags = RESMON_FLAG_NO_SCOPES});
    RESMON_PEAK_RSS("of no scopes", spike(1));
    resmon_run_free(finished(monitor));
    assert_int_equal(rm_peak_resets(), 0);
    assert_near(accounted_peak(), before, 0.0);
}

/* First of all that touch it: nothing has prepared this process for fork but the wrapper itself. */
TEST(a_child_has_its_own_peak_without_any_monitor)
{
    listen();
    RESMON_PEAK_RSS("parent", spike(8)); /* opens the kernel's mark: what a child inherits */
    assert_int_equal(logged.count, 1);
    need_exact_peaks();
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        spike(100);
        double base = rss_now();
        RESMON_PEAK_RSS("child", spike(10));
        _exit(fabs(logged_peak("child") - base - 10 * MIB) < rss_tolerance() ? 0 : 1);
    }
    assert_exits(child, 0);
    listen_no_more();
}

TEST(a_child_does_not_reset_its_parents_peak)
{
    need_exact_peaks();
    listen();
    double base = rss_now();
    RESMON_PEAK_RSS("parent", {
        spike(100);
        pid_t child = fork();
        if (child == 0) {
            RESMON_PEAK_RSS("child", spike(1));
            _exit(0);
        }
        (void)waitpid(child, NULL, 0);
    });
    assert_near(logged_peak("parent"), base + 100 * MIB, rss_tolerance());
    listen_no_more();
}

TEST(scopes_without_a_monitor_are_nothing)
{
    assert_true(begin("nothing") == 0);
    resmon_scope_end(0);
    resmon_scope_end(12345);
    RESMON_SCOPE("nothing either");
}

TEST(timed_runs_the_statement_once_and_logs_one_line)
{
    int runs = 0;
    listen();
    RESMON_TIMED("fit", runs++);
    assert_int_equal(runs, 1);
    assert_int_equal(logged.count, 1);
    assert_int_equal(logged.level, RESMON_LOG_INFO);
    double seconds = NAN;
    assert_int_equal(sscanf(logged.line, "fit finished in %lf s", &seconds), 1);
    assert_true(seconds >= 0.0 && seconds < 60.0);
    RESMON_PEAK_RSS("fit", runs++);
    assert_int_equal(runs, 2);
    assert_int_equal(logged.count, 2);
    assert_non_null(strstr(logged.line, "fit peak RSS "));
    listen_no_more();
}

TEST(timed_with_a_monitor_is_also_a_scope)
{
    int runs = 0;
    resmon_monitor *monitor = started_plain();
    listen();
    for (int i = 0; i < 3; i++) {
        RESMON_TIMED("fit", runs++);
        RESMON_PEAK_RSS("peak", runs++);
    }
    listen_no_more();
    resmon_run *run = finished(monitor);
    assert_int_equal(runs, 6);
    assert_int_equal(logged.count, 6);
    assert_int_equal(scope_at(run, "fit").calls, 3);
    assert_int_equal(scope_at(run, "fit").rss_calls, 0);
    assert_int_equal(scope_at(run, "peak").calls, 3);
    assert_int_equal(scope_at(run, "peak").rss_calls, 3); /* though the meter is not on */
    resmon_run_free(run);
}

static int returns_from_inside(int *runs)
{
    RESMON_TIMED("leave", {
        ++*runs;
        return *runs;
    });
    return -1;
}

TEST(timed_logs_when_the_statement_returns)
{
    int runs = 0;
    listen();
    assert_int_equal(returns_from_inside(&runs), 1);
    assert_int_equal(logged.count, 1);
    listen_no_more();
}

/* ---- trees ---------------------------------------------------------------------------------- */

static void *nest(void *unused)
{
    (void)unused;
    for (int i = 0; i < 100; i++) {
        if (i % 2 == 0) {
            RESMON_SCOPE("outer");
            RESMON_SCOPE("inner");
        } else {
            RESMON_SCOPE("outer"); /* another site, the same name */
            RESMON_SCOPE("other");
        }
    }
    return NULL;
}

TEST(scopes_of_all_threads_merge_by_name)
{
    pthread_t threads[3];
    resmon_monitor *monitor = started_plain();
    for (int i = 0; i < 3; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, nest, NULL), 0);
    }
    (void)nest(NULL);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    }
    resmon_run *run = finished(monitor);
    assert_int_equal(resmon_run_scope_count(run), 3);
    resmon_run_scope outer = scope_at(run, "outer");
    resmon_run_scope inner = scope_at(run, "outer/inner");
    resmon_run_scope other = scope_at(run, "outer/other");
    assert_int_equal(outer.calls, 400);
    assert_int_equal(inner.calls, 200);
    assert_int_equal(other.calls, 200);
    assert_int_equal(inner.threads, 4);
    assert_int_equal(outer.depth, 0);
    assert_int_equal(inner.depth, 1);
    assert_string_equal(inner.function, "nest");
    assert_non_null(strstr(inner.file, "test_scope.c"));
    assert_true(inner.line > 0);
    /* Self time is what the scopes inside leave; 1e-9 relative: doubles of ns. */
    double left = outer.wall_ns - inner.wall_ns - other.wall_ns;
    assert_near(outer.self_ns, left, 1e-9 * outer.wall_ns);
    assert_true(outer.wall_min_ns <= outer.wall_ns / 400 &&
                outer.wall_ns / 400 <= outer.wall_max_ns);
    resmon_run_free(run);
}

static void recurse(int depth)
{
    RESMON_FUNCTION();
    if (depth > 1) {
        recurse(depth - 1);
    }
}

TEST(direct_recursion_is_one_instance)
{
    resmon_monitor *monitor = started_plain();
    recurse(10);
    recurse(1);
    recurse(100); /* deeper than the bound of depth: a fold takes no frame */
    resmon_run *run = finished(monitor);
    assert_int_equal(resmon_run_scope_count(run), 1);
    assert_int_equal(scope_of(run, 0).calls, 3);
    assert_int_equal(scope_of(run, 0).folded, 9 + 99);
    assert_int_equal(info_of(run).dropped_scopes, 0);
    resmon_run_free(run);
}

/* Of two calls, one with three stretches, the last of them open; and a recursion, which is none. */
TEST(stretches_of_a_call_are_one)
{
    char *text = NULL;
    resmon_scope_resumed(0);
    resmon_monitor *monitor = started_plain();
    resmon_scope_end(begin("once"));
    resmon_scope_end(begin("call"));
    uint64_t stretch = begin("call");
    uint64_t inside = begin("call");
    resmon_scope_resumed(inside);
    resmon_scope_end(inside);
    resmon_scope_resumed(stretch);
    resmon_scope_resumed(stretch); /* once is enough */
    resmon_scope_end(stretch);
    resmon_scope_resumed(stretch); /* too late */
    resmon_scope_end(begin("call"));
    stretch = begin("call");
    resmon_scope_resumed(stretch);
    resmon_run *run = finished(monitor);
    resmon_run_scope call = scope_at(run, "call");
    assert_int_equal(call.calls, 2);
    assert_int_equal(call.resumed, 2);
    assert_int_equal(call.open, 1);
    assert_int_equal(call.folded, 1);
    assert_int_equal(scope_at(run, "once").resumed, 0);
    assert_ok(resmon_report_text(run, NULL, &text));
    assert_non_null(strstr(text, "2 (+1) (2 resumed)"));
    resmon_text_free(text);
    resmon_run_free(run);
}

/* A scope that failed, and one inside of it that did not. */
static void *fail_outer(void *unused)
{
    (void)unused;
    uint64_t outer = begin("outer");
    resmon_scope_end(begin("inner"));
    resmon_scope_fail(outer);
    resmon_scope_fail(outer); /* once is enough */
    resmon_scope_end(outer);
    resmon_scope_fail(outer); /* too late */
    return NULL;
}

TEST(scopes_that_failed_are_counted)
{
    resmon_scope_fail(0);
    resmon_monitor *monitor = started_plain();
    in_thread(fail_outer, NULL);
    (void)fail_outer(NULL);
    resmon_scope_end(begin("outer"));
    uint64_t open = begin("open");
    resmon_scope_fail(open);
    resmon_run *run = finished(monitor);
    resmon_run_scope outer = scope_at(run, "outer");
    assert_int_equal(outer.calls, 3);
    assert_int_equal(outer.failed, 2);
    assert_int_equal(scope_at(run, "outer/inner").failed, 0);
    assert_int_equal(scope_at(run, "open").failed, 1);
    assert_int_equal(scope_at(run, "open").open, 1);
    resmon_run_free(run);
    resmon_scope_end(open);
}

TEST(mutual_recursion_keeps_its_path)
{
    resmon_monitor *monitor = started_plain();
    uint64_t ping = begin("ping"), pong = begin("pong"), again = begin("ping");
    resmon_scope_end(again);
    resmon_scope_end(pong);
    resmon_scope_end(ping);
    resmon_run *run = finished(monitor);
    resmon_run_scope first = scope_at(run, "ping");
    resmon_run_scope second = scope_at(run, "ping/pong");
    resmon_run_scope third = scope_at(run, "ping/pong/ping");
    assert_int_equal(first.calls + second.calls + third.calls, 3);
    assert_int_equal(first.folded, 0);
    resmon_run_free(run);
}

TEST(long_names_that_begin_alike_stay_two)
{
    char names[3][80];
    resmon_monitor *monitor = started_plain();
    for (size_t i = 0; i < 3; i++) {
        (void)snprintf(names[i], sizeof names[i], "%.*s%c", i < 2 ? 70 : 62,
                       "an experiment of a name that says all that there is to say of it: number",
                       (char)('A' + i));
        resmon_scope_end(begin(names[i]));
    }
    resmon_run *run = finished(monitor);
    assert_int_equal(resmon_run_scope_count(run), 3);
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(strlen(scope_of(run, i).name), 63);
        assert_memory_equal(scope_of(run, i).name, names[i], 54);
        assert_int_equal(scope_of(run, i).name[54], '~');
    }
    assert_string_not_equal(scope_of(run, 0).name, scope_of(run, 1).name);
    assert_string_equal(scope_of(run, 2).name, names[2]);
    resmon_run_free(run);
}

TEST(open_scopes_are_marked_open)
{
    resmon_monitor *monitor = started_plain();
    uint64_t outer = begin("outer"), inner = begin("inner");
    resmon_run *run = scopes_of(monitor);
    resmon_run_scope scope = scope_at(run, "outer");
    assert_int_equal(scope.calls, 1);
    assert_int_equal(scope.open, 1);
    assert_true(scope.open_ns > 0.0);
    assert_true(scope.wall_ns == scope.open_ns && scope.wall_max_ns == scope.open_ns);
    assert_true(isnan(scope.wall_min_ns) && isnan(scope.wall_stddev_ns));
    assert_int_equal(scope_at(run, "outer/inner").open, 1);
    resmon_run_free(run);
    resmon_scope_end(inner);
    run = finished(monitor);
    scope = scope_at(run, "outer");
    assert_int_equal(scope.open, 1); /* still, in the result */
    assert_int_equal(scope_at(run, "outer/inner").open, 0);
    assert_int_equal(scope_at(run, "outer/inner").calls, 1);
    resmon_run_free(run);
    resmon_scope_end(outer);
}

/* Of two and of three calls the deviation follows from total, min and max alone. */
TEST(standard_deviation_follows_from_the_durations)
{
    volatile double __attribute__((unused)) work = 0.0;
    resmon_monitor *monitor = started_plain();
    for (int calls = 0; calls < 3; calls++) {
        uint64_t three = begin("three");
        uint64_t two = calls < 2 ? begin("two") : 0;
        uint64_t one = calls < 1 ? begin("one") : 0;
        for (int i = 0; i < 20000 * (calls + 1) * (calls + 1); i++) {
            work += 1.0;
        }
        resmon_scope_end(one);
        resmon_scope_end(two);
        resmon_scope_end(three);
    }
    resmon_run *run = finished(monitor);
    resmon_run_scope three = scope_at(run, "three");
    resmon_run_scope two = scope_at(run, "three/two");
    resmon_run_scope one = scope_at(run, "three/two/one");
    assert_true(isnan(one.wall_stddev_ns));
    /* 1e-6: min, max and total are rounded to doubles after the division by the clock's rate. */
    assert_near(two.wall_stddev_ns, (two.wall_max_ns - two.wall_min_ns) / sqrt(2.0),
                1e-6 * two.wall_stddev_ns);
    double middle = three.wall_ns - three.wall_min_ns - three.wall_max_ns;
    double mean = three.wall_ns / 3.0;
    double squares = (three.wall_min_ns - mean) * (three.wall_min_ns - mean) +
                     (middle - mean) * (middle - mean) +
                     (three.wall_max_ns - mean) * (three.wall_max_ns - mean);
    assert_near(three.wall_stddev_ns, sqrt(squares / 2.0), 1e-6 * three.wall_stddev_ns);
    assert_true(three.wall_stddev_ns > 0.0);
    resmon_run_free(run);
}

/* ---- wrong use ------------------------------------------------------------------------------ */

TEST(misordered_and_double_ends_are_counted)
{
    resmon_monitor *monitor = started_plain();
    uint64_t outer = begin("outer"), inner = begin("inner");
    resmon_scope_end(outer);      /* closes the inner one too */
    resmon_scope_end(inner);      /* too late */
    resmon_scope_end(outer);      /* twice */
    resmon_scope_end(0);          /* nothing */
    resmon_scope_end(77);         /* never given out */
    resmon_scope_end(UINT64_MAX); /* -1: callers through an FFI pass it by mistake */
    uint64_t after = begin("after");
    resmon_scope_end(after);
    resmon_run *run = finished(monitor);
    resmon_run_scope scope = scope_at(run, "outer");
    assert_int_equal(scope.calls, 1);
    assert_int_equal(scope_at(run, "outer/inner").calls, 1);
    assert_int_equal(scope_at(run, "after").calls, 1);
    assert_int_equal(info_of(run).misordered_ends, 1);
    assert_int_equal(info_of(run).stale_ends, 4);
    resmon_run_free(run);
}

static void *end_elsewhere(void *token)
{
    uint64_t own = begin("of the thread");
    resmon_scope_end(*(uint64_t *)token);
    resmon_scope_end(own);
    return NULL;
}

TEST(an_end_on_another_thread_is_counted)
{
    resmon_monitor *monitor = started_plain();
    uint64_t token = begin("of main");
    in_thread(end_elsewhere, &token);
    resmon_scope_end(token);
    resmon_run *run = finished(monitor);
    assert_int_equal(scope_at(run, "of main").calls, 1);
    assert_int_equal(scope_at(run, "of the thread").calls, 1);
    assert_int_equal(info_of(run).stale_ends, 1);
    resmon_run_free(run);
}

TEST(an_end_after_the_stop_is_counted_and_harmless)
{
    resmon_monitor *monitor = started_plain();
    uint64_t token = begin("late");
    assert_ok(resmon_monitor_stop(monitor));
    resmon_scope_end(token);
    resmon_run *run = scopes_of(monitor);
    assert_int_equal(scope_at(run, "late").calls, 1);
    assert_int_equal(scope_at(run, "late").open, 1);
    assert_int_equal(info_of(run).stale_ends, 1);
    resmon_run_free(run);
    resmon_monitor_free(monitor);
    resmon_scope_end(token); /* into a block that only this thread still holds */
    /* Nor may a token of before end a scope of after. */
    monitor = started_plain();
    uint64_t fresh = begin("fresh");
    resmon_scope_end(token);
    resmon_scope_end(fresh);
    run = finished(monitor);
    assert_int_equal(scope_at(run, "fresh").calls, 1);
    assert_int_equal(info_of(run).stale_ends, 1);
    resmon_run_free(run);
}

static void *leave_open(void *unused)
{
    (void)unused;
    (void)begin("left");
    (void)begin("left inside");
    return NULL;
}

TEST(what_a_thread_leaves_open_is_closed_at_its_end)
{
    resmon_monitor *monitor = started_plain();
    in_thread(leave_open, NULL);
    resmon_run *run = finished(monitor);
    resmon_run_scope left = scope_at(run, "left");
    assert_int_equal(left.calls, 1);
    assert_int_equal(left.open, 0);
    assert_int_equal(scope_at(run, "left/left inside").calls, 1);
    assert_int_equal(info_of(run).misordered_ends, 2);
    resmon_run_free(run);
}

/* ---- bounds --------------------------------------------------------------------------------- */

TEST(past_the_depth_bound_instances_are_counted)
{
    resmon_monitor *monitor = started(&(resmon_monitor_options){.scope_depth = 4});
    uint64_t tokens[10];
    char name[32];
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < 10; i++) {
            (void)snprintf(name, sizeof name, "depth %d", i);
            tokens[i] = begin(name);
        }
        for (int i = 9; i >= 0; i--) {
            resmon_scope_end(tokens[i]);
        }
    }
    resmon_run *run = finished(monitor);
    assert_int_equal(resmon_run_scope_count(run), 4);
    for (size_t i = 0; i < 4; i++) { /* each inside of the one before */
        (void)snprintf(name, sizeof name, "depth %zu", i);
        assert_string_equal(scope_of(run, i).name, name);
        assert_int_equal(scope_of(run, i).depth, i);
        assert_int_equal(scope_of(run, i).calls, 2);
    }
    assert_int_equal(info_of(run).dropped_scopes, 12);
    assert_int_equal(info_of(run).dropped_paths, 0);
    assert_int_equal(info_of(run).misordered_ends + info_of(run).stale_ends, 0);
    resmon_run_free(run);
}

TEST(past_the_path_bound_instances_are_counted_once)
{
    /* Of 8 nodes one stands for none, one for the retired and one for this thread. */
    resmon_monitor *monitor = started(&(resmon_monitor_options){.scope_paths = 8});
    char name[32];
    for (int i = 0; i < 20; i++) {
        (void)snprintf(name, sizeof name, "path %d", i);
        resmon_scope_end(begin(name));
    }
    resmon_run *run = finished(monitor);
    resmon_run_info info = {.struct_size = sizeof info};
    assert_ok(resmon_run_get_info(run, &info));
    assert_int_equal(resmon_run_scope_count(run), 5);
    assert_int_equal(info.dropped_paths, 15);
    assert_int_equal(info.dropped_scopes, 15);
    resmon_run_free(run);
}

static void *ten_scopes(void *unused)
{
    (void)unused;
    for (int i = 0; i < 10; i++) {
        resmon_scope_end(begin("ten"));
    }
    return NULL;
}

TEST(past_the_thread_bound_instances_are_counted)
{
    resmon_monitor *monitor = started(&(resmon_monitor_options){.scope_threads = 1});
    resmon_scope_end(begin("main"));
    in_thread(ten_scopes, NULL);
    resmon_run *run = finished(monitor);
    assert_int_equal(resmon_run_scope_count(run), 1);
    assert_int_equal(scope_at(run, "main").calls, 1);
    assert_int_equal(info_of(run).dropped_threads, 1);
    assert_int_equal(info_of(run).dropped_scopes, 10);
    resmon_run_free(run);
}

TEST(a_slot_of_an_ended_thread_is_used_again)
{
    resmon_monitor *monitor = started(&(resmon_monitor_options){.scope_threads = 1});
    in_thread(ten_scopes, NULL);
    in_thread(ten_scopes, NULL);
    resmon_run *run = finished(monitor);
    assert_int_equal(scope_at(run, "ten").calls, 20);
    assert_int_equal(info_of(run).dropped_threads, 0);
    resmon_run_free(run);
}

static void *two_levels(void *unused)
{
    (void)unused;
    RESMON_SCOPE("upper");
    RESMON_SCOPE("lower");
    return NULL;
}

TEST(a_tree_of_known_paths_needs_no_room_among_the_retired)
{
    /* None, the retired with two paths, one thread with the same: 7, and 2 to spare. */
    resmon_monitor *monitor = started(&(resmon_monitor_options){.scope_paths = 9});
    for (int i = 0; i < 100; i++) {
        in_thread(two_levels, NULL);
    }
    resmon_run *run = finished(monitor);
    resmon_run_scope upper = scope_at(run, "upper");
    assert_int_equal(info_of(run).dropped_scopes + info_of(run).dropped_threads, 0);
    assert_int_equal(upper.calls, 100);
    assert_int_equal(scope_at(run, "upper/lower").calls, 100);
    resmon_run_free(run);
}

/* ---- many threads, many sessions ------------------------------------------------------------ */

static void *three_levels(void *unused)
{
    (void)unused;
    RESMON_SCOPE("thread");
    for (int i = 0; i < 7; i++) {
        RESMON_SCOPE("step");
        RESMON_SCOPE("leaf");
    }
    return NULL;
}

TEST(a_thousand_short_threads_sum_exactly)
{
    enum { AT_ONCE = 8, BATCHES = 125 };
    resmon_monitor *monitor = started(&(resmon_monitor_options){.scope_threads = AT_ONCE});
    for (int batch = 0; batch < BATCHES; batch++) {
        pthread_t threads[AT_ONCE];
        for (int i = 0; i < AT_ONCE; i++) {
            assert_int_equal(pthread_create(&threads[i], NULL, three_levels, NULL), 0);
        }
        for (int i = 0; i < AT_ONCE; i++) {
            assert_int_equal(pthread_join(threads[i], NULL), 0);
        }
    }
    resmon_run *run = finished(monitor);
    resmon_run_scope thread = scope_at(run, "thread");
    resmon_run_scope step = scope_at(run, "thread/step");
    resmon_run_scope leaf = scope_at(run, "thread/step/leaf");
    assert_int_equal(thread.calls, 1000);
    assert_int_equal(step.calls, 7000);
    assert_int_equal(leaf.calls, 7000);
    assert_int_equal(leaf.threads, 1000);
    assert_int_equal(info_of(run).dropped_threads + info_of(run).dropped_scopes, 0);
    assert_int_equal(info_of(run).misordered_ends + info_of(run).stale_ends, 0);
    assert_true(leaf.wall_ns <= step.wall_ns && step.wall_ns <= thread.wall_ns);
    resmon_run_free(run);
}

static int keep_going; /* atomic */

static void *visit_until_told(void *counter)
{
    uint64_t *visits = counter;
    while (__atomic_load_n(&keep_going, __ATOMIC_ACQUIRE) != 0) {
        RESMON_SCOPE("elsewhere");
        RESMON_SCOPE("deeper");
        (void)__atomic_add_fetch(visits, 1, __ATOMIC_RELAXED);
    }
    return NULL;
}

TEST(sessions_follow_each_other_while_threads_live)
{
    enum { THREADS = 3, SESSIONS = 40 };
    pthread_t threads[THREADS];
    uint64_t visits[THREADS] = {0};
    __atomic_store_n(&keep_going, 1, __ATOMIC_RELEASE);
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, visit_until_told, &visits[i]), 0);
    }
    for (int session = 0; session < SESSIONS; session++) {
        resmon_monitor *monitor = started_plain();
        for (int i = 0; i < 10; i++) {
            RESMON_SCOPE("mine");
        }
        /* In every fourth session a thread both begins and ends a scope: the third count from now
         * comes after the end of a visit that began in this session. */
        uint64_t before = __atomic_load_n(&visits[0], __ATOMIC_RELAXED);
        while (session % 4 == 0 && __atomic_load_n(&visits[0], __ATOMIC_RELAXED) < before + 3) {
        }
        resmon_run *run = finished(monitor);
        assert_int_equal(scope_at(run, "mine").calls, 10);
        if (session % 4 == 0) {
            resmon_run_scope other = scope_at(run, "elsewhere");
            assert_true(other.calls >= 1);
            assert_true(other.threads <= THREADS);
        }
        resmon_run_free(run);
    }
    __atomic_store_n(&keep_going, 0, __ATOMIC_RELEASE);
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    }
}

/* ---- meters --------------------------------------------------------------------------------- */

TEST(a_peak_after_a_higher_one_is_its_own)
{
    need_exact_peaks();
    resmon_monitor *monitor = started_metering(RESMON_METER_RSS);
    double base = rss_now();
    uint64_t before = begin("before");
    spike(300);
    resmon_scope_end(before);
    uint64_t after = begin("after");
    spike(200);
    resmon_scope_end(after);
    resmon_run *run = finished(monitor);
    resmon_run_scope scope = scope_at(run, "after");
    assert_near(scope_at(run, "before").rss_peak_bytes, base + 300 * MIB, rss_tolerance());
    assert_near(scope.rss_peak_bytes, base + 200 * MIB, rss_tolerance());
    assert_int_equal(scope.rss_calls, 1);
    assert_int_equal(scope.rss_provenance, RESMON_PROVENANCE_MEASURED);
    resmon_run_free(run);
}

TEST(a_peak_counts_for_every_scope_around_it)
{
    need_exact_peaks();
    resmon_monitor *monitor = started_metering(RESMON_METER_RSS);
    double base = rss_now();
    uint64_t outer = begin("outer");
    spike(120);
    uint64_t first = begin("first"); /* resets the mark: the outer scope must not forget */
    spike(40);
    resmon_scope_end(first);
    uint64_t second = begin("second");
    uint64_t deep = begin("deep");
    spike(80);
    resmon_scope_end(deep);
    resmon_scope_end(second);
    resmon_scope_end(outer);
    resmon_run *run = finished(monitor);
    resmon_run_scope scope = scope_at(run, "outer");

    resmon_run_scope inside = scope_at(run, "outer/second");
    assert_near(scope.rss_peak_bytes, base + 120 * MIB, rss_tolerance());
    assert_near(scope_at(run, "outer/first").rss_peak_bytes, base + 40 * MIB, rss_tolerance());
    assert_near(inside.rss_peak_bytes, base + 80 * MIB, rss_tolerance());
    assert_near(scope_at(run, "outer/second/deep").rss_peak_bytes, base + 80 * MIB,
                rss_tolerance());
    /* The peak of the process's life survives all resets. */
    assert_true((double)rm_peak_folded >= base + 120 * MIB - rss_tolerance());
    resmon_run_free(run);
}

TEST(peak_wrapper_without_a_monitor_is_exact)
{
    need_exact_peaks();
    listen();
    spike(300);
    double base = rss_now();
    RESMON_PEAK_RSS("fit", spike(200));
    assert_near(logged_peak("fit"), base + 200 * MIB, rss_tolerance());
    listen_no_more();
}

TEST(peak_wrapper_past_the_depth_bound_is_exact)
{
    need_exact_peaks();
    listen();
    resmon_monitor *monitor = started(&(resmon_monitor_options){.scope_depth = 1});
    uint64_t outer = begin("outer");
    double base = rss_now();
    RESMON_PEAK_RSS("fit", spike(50));
    resmon_scope_end(outer);
    resmon_run_free(finished(monitor));
    assert_int_equal(logged.count, 1);
    assert_near(logged_peak("fit"), base + 50 * MIB, rss_tolerance());
    listen_no_more();
}

static void burn_ns(int64_t ns)
{
    int64_t until = rm_clock_cpu_ns(CLOCK_THREAD_CPUTIME_ID) + ns;
    while (rm_clock_cpu_ns(CLOCK_THREAD_CPUTIME_ID) < until) {
    }
}

TEST(cpu_time_of_a_scope_is_that_of_its_thread)
{
    resmon_monitor *monitor = started_metering(RESMON_METER_CPU);
    int64_t before_ns = rm_clock_cpu_ns(CLOCK_THREAD_CPUTIME_ID);
    uint64_t token = begin("burn");
    int64_t inside_ns = rm_clock_cpu_ns(CLOCK_THREAD_CPUTIME_ID);
    burn_ns(20000000);
    inside_ns = rm_clock_cpu_ns(CLOCK_THREAD_CPUTIME_ID) - inside_ns;
    resmon_scope_end(token);
    int64_t around_ns = rm_clock_cpu_ns(CLOCK_THREAD_CPUTIME_ID) - before_ns;
    resmon_run *run = finished(monitor);
    resmon_run_scope burn = scope_at(run, "burn");
    assert_int_equal(burn.cpu_calls, 1);
    assert_int_equal(burn.cpu_provenance, RESMON_PROVENANCE_MEASURED);
    assert_true(burn.cpu_ns.value >= (double)inside_ns);
    assert_true(burn.cpu_ns.value <= (double)around_ns);
    assert_true(burn.cpu_ns.value <= burn.wall_ns + 1e6);
    resmon_run_free(run);
}

TEST(io_of_a_scope_counts_what_was_written)
{
    static char bytes[100000];
    resmon_monitor *monitor = started_metering(RESMON_METER_IO);
    FILE *file = tmpfile();
    assert_non_null(file);
    uint64_t token = begin("write");
    assert_int_equal(write(fileno(file), bytes, sizeof bytes), sizeof bytes);
    resmon_scope_end(token);
    (void)fclose(file);
    resmon_run *run = finished(monitor);
    resmon_run_scope scope = scope_at(run, "write");
    if (scope.io_calls == 0) {
        resmon_run_free(run);
        print_message("skipped: /proc/self/io cannot be read here\n");
        skip();
    }
    assert_near(scope.io_write_chars.value, (double)sizeof bytes, 0.0);
    resmon_run_free(run);
}

TEST(an_expensive_meter_is_taken_one_in_k_and_says_so, IN_MADE_TIME)
{
    rm_made_time_look_costs(200);
    resmon_monitor *monitor =
        started(&(resmon_monitor_options){.scopes = RESMON_METER_CPU, .max_meter_share = 0.01});
    for (int i = 0; i < 10000; i++) {
        RESMON_SCOPE("short");
        rm_made_time_work(1000);
    }
    resmon_run *run = finished(monitor);
    resmon_run_scope scope = scope_at(run, "short");
    assert_int_equal(scope.calls, 10000); /* the wall clock is always taken */
    /* 100 us are free, and a hundredth of 10 ms: 500 calls with two looks each. */
    assert_near((double)scope.cpu_calls, 500.0, 50.0);
    assert_int_equal(scope.cpu_provenance, RESMON_PROVENANCE_SAMPLED);
    assert_near(scope.cpu_ns.value, 10000.0 * 1000.0, 1.0);
    resmon_run_free(run);
}

/* Most of the time is in calls that come after many short ones. */
TEST(short_calls_do_not_keep_a_meter_from_long_ones, IN_MADE_TIME)
{
    rm_made_time_look_costs(200);
    resmon_monitor *monitor =
        started(&(resmon_monitor_options){.scopes = RESMON_METER_CPU, .max_meter_share = 0.01});
    for (int i = 0; i < 1060; i++) {
        RESMON_SCOPE("mixed");
        rm_made_time_work(i < 1000 ? 100 : 2000000);
    }
    resmon_run *run = finished(monitor);
    resmon_run_scope scope = scope_at(run, "mixed");
    assert_true(scope.cpu_calls >= 10 && scope.cpu_calls < 1060);
    print_message(
        "%llu of %llu calls were metered: %.1f ms of CPU, %.1f to %.1f, of %.1f of wall\n",
        (unsigned long long)scope.cpu_calls, (unsigned long long)scope.calls,
        scope.cpu_ns.value / 1e6, scope.cpu_ns.low / 1e6, scope.cpu_ns.high / 1e6,
        scope.wall_ns / 1e6);
    /* Almost nothing, were the long ones left out.  The wall time has the looks in it. */
    assert_near(scope.cpu_ns.value, 120.1e6, 0.5e6);
    resmon_run_free(run);
}

/* ---- estimates ------------------------------------------------------------------------------ */

/* Each tenth read is of 128 KiB, the others of 4. */
static double read_a_file(int fd, uint64_t count)
{
    static char bytes[128 * 1024];
    double all = 0.0;
    for (uint64_t i = 0; i < count; i++) {
        RESMON_SCOPE("read");
        size_t wanted = i % 10 == 9 ? sizeof bytes : 4096;
        assert_int_equal(pread(fd, bytes, wanted, 0), wanted);
        all += (double)wanted;
    }
    return all;
}

static FILE *file_of_128_kib(void)
{
    static char bytes[128 * 1024];
    FILE *file = tmpfile();
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, sizeof bytes, 1, file), 1);
    assert_int_equal(fflush(file), 0);
    return file;
}

TEST(io_of_some_calls_is_an_estimate_inside_its_bounds)
{
    FILE *file = file_of_128_kib();
    resmon_monitor *monitor =
        started(&(resmon_monitor_options){.scopes = RESMON_METER_IO, .max_meter_share = 0.01});
    uint64_t outer = begin("outer");
    double truth = read_a_file(fileno(file), 30000);
    resmon_scope_end(outer);
    (void)fclose(file);
    resmon_run *run = finished(monitor);
    resmon_run_scope around = scope_at(run, "outer");
    resmon_run_scope scope = scope_at(run, "outer/read");
    if (around.io_calls == 0) {
        resmon_run_free(run);
        print_message("skipped: /proc/self/io cannot be read here\n");
        skip();
    }
    const resmon_estimate *found = &scope.io_read_chars;
    print_message("%llu of %llu calls were metered: %.1f MiB, %.1f to %.1f, of %.1f\n",
                  (unsigned long long)scope.io_calls, (unsigned long long)scope.calls,
                  found->value / MIB, found->low / MIB, found->high / MIB, truth / MIB);
    assert_near(around.io_read_chars.value, truth, 0.0); /* each call of it */
    assert_true(scope.io_calls < scope.calls);
    assert_int_equal(scope.io_provenance, RESMON_PROVENANCE_SAMPLED);
    assert_true(found->low <= found->value && found->value <= found->high);
    assert_true(found->high <= truth && found->value > 0.0); /* a few draws may tell little */
    const resmon_estimate *count = &scope.io_read_count;
    assert_near(count->value, 30000.0, 1e-3); /* one in each call */
    resmon_run_free(run);
}

/* Two that are estimated each on its own have no more together than what is around them. */
TEST(estimates_of_siblings_fit_into_what_is_around_them)
{
    FILE *file = file_of_128_kib();
    resmon_monitor *monitor =
        started(&(resmon_monitor_options){.scopes = RESMON_METER_IO, .max_meter_share = 0.001});
    uint64_t outer = begin("outer");
    double truth = 0.0;
    for (int i = 0; i < 4; i++) {
        char name[24];
        (void)snprintf(name, sizeof name, "part %d", i);
        resmon_scope_end(begin(name)); /* of nothing */
        for (int k = 0; k < 500; k++) {
            uint64_t part = begin(name);
            truth += read_a_file(fileno(file), k % 20 == 19 ? 10 : 1);
            resmon_scope_end(part);
        }
    }
    resmon_scope_end(outer);
    (void)fclose(file);
    resmon_run *run = finished(monitor);
    resmon_run_scope around = scope_at(run, "outer");
    double sum = 0.0;
    for (size_t i = 0; i < resmon_run_scope_count(run) && around.io_calls > 0; i++) {
        resmon_run_scope scope = scope_of(run, i);
        sum += scope.depth == 1 ? scope.io_read_chars.value : 0.0;
        assert_true(scope.io_read_chars.value <= truth);
    }
    assert_true(sum <= truth * (1.0 + 1e-9));
    resmon_run_free(run);
}

/* The meters read /proc/self/io and write to clear_refs: system calls that the kernel counts. */
TEST(io_of_the_library_is_not_the_programs)
{
    resmon_monitor *monitor = started_metering(RESMON_METER_IO | RESMON_METER_RSS);
    uint64_t outer = begin("outer");
    for (int i = 0; i < 100; i++) {
        RESMON_SCOPE("inner");
    }
    resmon_scope_end(outer);
    resmon_run *run = finished(monitor);
    resmon_run_scope scope = scope_at(run, "outer");
    /* Bytes of disks are the kernel's too, as it reads pages of the program. */
    const resmon_estimate found[] = {scope.io_read_chars, scope.io_write_chars, scope.io_read_count,
                                     scope.io_write_count, scope.io_write_bytes};
    for (size_t f = 0; scope.io_calls > 0 && f < sizeof found / sizeof found[0]; f++) {
        assert_near(found[f].value, 0.0, 0.0);
    }
    resmon_run_free(run);
}

/* ---- names ---------------------------------------------------------------------------------- */

TEST(a_name_is_one_site_for_ever)
{
    resmon_site *made = NULL;
    char name[] = "by name";
    resmon_site *first = site(name);
    name[0] = 'B'; /* copied in */
    assert_string_equal(first->name, "by name");
    assert_ptr_equal(site("by name"), first);
    assert_ptr_not_equal(site("another"), first);
    assert_status(RESMON_EINVAL, resmon_site_intern(NULL, &made));
    assert_status(RESMON_EINVAL, resmon_site_intern("", &made));
    assert_status(RESMON_EINVAL, resmon_site_intern("x", NULL));
    assert_null(made);
}

TEST(scopes_by_name_are_those_of_its_site)
{
    static const char text[] = {'s', 'o', 'l', 'v', 'e', 'r', '\0', 'x'};
    char longest[300];
    memset(longest, 'n', sizeof longest);
    assert_true(resmon_scope_begin_named("solve", 5) == 0); /* no monitor */
    resmon_monitor *monitor = started_plain();
    uint64_t outer = resmon_scope_begin_named(text, 5);            /* a part of the text */
    resmon_scope_end(resmon_scope_begin_named(text, sizeof text)); /* ends at the '\0' */
    resmon_scope_end(resmon_scope_begin(site("solver")));
    resmon_scope_end(resmon_scope_begin_named(longest, sizeof longest));
    assert_true(resmon_scope_begin_named(NULL, 5) == 0);
    assert_true(resmon_scope_begin_named(text + 6, 2) == 0); /* begins with the '\0' */
    assert_true(resmon_scope_begin_named("solve", 0) == 0);
    resmon_scope_end(outer);
    resmon_run *run = finished(monitor);
    assert_int_equal(resmon_run_scope_count(run), 3);
    assert_string_equal(scope_of(run, 0).name, "solve");
    assert_string_equal(scope_of(run, 1).name, "solver");
    assert_int_equal(scope_of(run, 1).calls, 2);
    assert_int_equal(scope_of(run, 1).parent, 0);
    assert_int_equal(strlen(scope_of(run, 2).name), 63);
    resmon_run_free(run);
}

enum { CHILDREN = 500 };

/* Each once, in an order of its own: a multiple of a number that has no divisor with them. */
static void visit_children(size_t step)
{
    char name[32];
    uint64_t outer = begin("with children");
    for (size_t i = 0; i < CHILDREN; i++) {
        (void)snprintf(name, sizeof name, "child %zu", i * step % CHILDREN);
        resmon_scope_end(begin(name));
    }
    resmon_scope_end(outer);
}

static void *visit_backwards(void *unused)
{
    (void)unused;
    visit_children(CHILDREN - 1);
    return NULL;
}

/* Whatever the order of later visits, and from whichever thread: listed as they came first. */
TEST(many_children)
{
    resmon_monitor *monitor = started(&(resmon_monitor_options){.scope_paths = 4 * CHILDREN});
    visit_children(1);
    in_thread(visit_backwards, NULL);
    in_thread(visit_backwards, NULL); /* its tree goes over that of the first one */
    visit_children(1);
    visit_children(7);
    visit_children(493);
    resmon_run *run = finished(monitor);
    assert_int_equal(info_of(run).dropped_paths, 0);
    assert_int_equal(resmon_run_scope_count(run), CHILDREN + 1);
    assert_int_equal(scope_of(run, 0).calls, 6);
    for (size_t i = 0; i < CHILDREN; i++) {
        char name[32];
        (void)snprintf(name, sizeof name, "child %zu", i);
        assert_string_equal(scope_of(run, i + 1).name, name);
        assert_int_equal(scope_of(run, i + 1).calls, 6);
        assert_int_equal(scope_of(run, i + 1).threads, 3);
    }
    resmon_run_free(run);
}

/* Last of all tests: it uses up numbers of sites. */
TEST(as_many_names_as_paths_are_measured)
{
    enum { NAMES = 3000 };
    char name[32];
    resmon_monitor *monitor = started(&(resmon_monitor_options){.scope_paths = NAMES + 8});
    for (int i = 0; i < NAMES; i++) {
        (void)snprintf(name, sizeof name, "one of many %d", i);
        resmon_scope_end(begin(name));
    }
    resmon_run *run = finished(monitor);
    size_t measured = resmon_run_scope_count(run);
    uint64_t dropped = info_of(run).dropped_paths;
    resmon_run_free(run);
    /* And a later run is not the poorer for it. */
    monitor = started_plain();
    resmon_scope_end(begin("a new name"));
    run = finished(monitor);
    size_t later = resmon_run_scope_count(run);
    resmon_run_free(run);
    assert_int_equal(dropped, 0);
    assert_int_equal(measured, NAMES);
    assert_int_equal(later, 1);
}
