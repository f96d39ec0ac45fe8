/* SPDX-License-Identifier: MIT */
/*
 * RESMON_LINE: wall time and growth of the RSS between two checkpoints of a scope.
 */
#define _GNU_SOURCE /* MAP_ANONYMOUS, madvise */
#include "runs.h"

#include <pthread.h>
#include <sys/mman.h>

#include "base/clock.h"
#include "pages.h"

#define MIB ((size_t)1 << 20)

static resmon_monitor *start(void)
{
    return start_with(&(resmon_monitor_options){.scopes = RESMON_METER_WALL});
}

static resmon_run_line line_at(const resmon_run *run, int line)
{
    resmon_run_line found = {.struct_size = sizeof found};
    for (size_t i = 0; i < resmon_run_line_count(run); i++) {
        assert_ok(resmon_run_get_line(run, i, &found));
        if (found.line == (uint64_t)line) {
            return found;
        }
    }
    fail_msg("no line %d among %zu", line, resmon_run_line_count(run));
    return found;
}

static int64_t wait_for(int64_t ns)
{
    int64_t begin = rm_clock_monotonic_ns();
    while (rm_clock_monotonic_ns() < begin + ns) {
    }
    return rm_clock_monotonic_ns() - begin;
}

static char *touched(size_t bytes)
{
    return memset(fresh_memory(bytes, MAP_PRIVATE | MAP_ANONYMOUS, -1), 1, bytes);
}

static int first_line, wait_line, grow_line, shrink_line;

static int64_t do_work(void)
{
    RESMON_FUNCTION();
    int64_t waited = wait_for(2 * RM_NS_PER_MS);
    first_line = __LINE__ + 1;
    RESMON_LINE();
    wait_line = __LINE__ + 2;
    waited += wait_for(5 * RM_NS_PER_MS);
    RESMON_LINE();
    grow_line = __LINE__ + 2;
    char *memory = touched(32 * MIB);
    RESMON_LINE();
    shrink_line = __LINE__ + 2;
    (void)munmap(memory, 32 * MIB);
    RESMON_LINE();
    return waited;
}

TEST(lines_have_what_happened_before_them)
{
    resmon_monitor *monitor = start();
    int64_t waited = 0;
    int64_t begin = rm_clock_monotonic_ns();
    for (int i = 0; i < 3; i++) {
        RESMON_SCOPE("outer");
        waited += do_work();
    }
    int64_t all = rm_clock_monotonic_ns() - begin;
    resmon_run *run = finish(monitor);
    assert_int_equal(resmon_run_line_count(run), 4);
    resmon_run_line first = line_at(run, first_line); /* from the scope's start */
    assert_int_equal(first.hits, 3);
    assert_int_equal(first.rss_hits, 0);
    assert_true(isnan(first.rss_bytes));
    assert_true(first.wall_ns >= 3 * 2 * RM_NS_PER_MS * 0.99);
    resmon_run_line line = line_at(run, wait_line);
    assert_int_equal(line.hits, 3);
    assert_string_equal(line.function, "do_work");
    assert_non_null(strstr(line.file, "test_lines.c"));
    assert_true(first.wall_ns + line.wall_ns >= (double)waited * 0.99);
    assert_true(first.wall_ns + line.wall_ns <= (double)all);
    if (line.rss_hits == 0) {
        print_message("skipped in part: the RSS cannot be read here\n");
    } else {
        /* A kernel counts pages per CPU, and a sanitizer has pages of its own. */
        assert_near(line_at(run, grow_line).rss_bytes / (double)(96 * MIB), 1, 0.1);
        assert_near(line_at(run, shrink_line).rss_bytes / (double)(96 * MIB), -1, 0.1);
        assert_int_equal(line_at(run, grow_line).rss_hits, 3);
        assert_near((line_at(run, grow_line).rss_max_bytes - line.rss_max_bytes) /
                        (double)(32 * MIB),
                    1, 0.1);
        assert_true(first.rss_max_bytes > 0);
    }
    resmon_run_free(run);
}

TEST(instances_do_not_run_into_each_other)
{
    resmon_monitor *monitor = start();
    int line = 0;
    int64_t begin, between, inside = 0, outside = 0;
    for (int i = 0; i < 10; i++) {
        begin = rm_clock_monotonic_ns();
        RESMON_SCOPE("each");
        (void)wait_for(RM_NS_PER_MS);
        line = __LINE__ + 1;
        RESMON_LINE(); /* always the first of its instance */
        inside += rm_clock_monotonic_ns() - begin;
        between = rm_clock_monotonic_ns();
        (void)wait_for(RM_NS_PER_MS);
        outside += rm_clock_monotonic_ns() - between;
    }
    resmon_run *run = finish(monitor);
    assert_int_equal(line_at(run, line).hits, 10);
    assert_int_equal(line_at(run, line).rss_hits, 0);
    assert_true(line_at(run, line).wall_ns >= 10 * RM_NS_PER_MS * 0.99);
    assert_true(line_at(run, line).wall_ns <= (double)inside * 1.01);
    assert_true(outside >= 10 * RM_NS_PER_MS);
    resmon_run_free(run);
}

/* Wherever a function opens scopes: what happened in it is in one stretch each. */
static int64_t work_in_steps(int *lines)
{
    int64_t begin = rm_clock_monotonic_ns();
    RESMON_FUNCTION();
    (void)wait_for(RM_NS_PER_MS);
    for (int i = 0; i < 4; i++) {
        RESMON_SCOPE("step");
        lines[0] = __LINE__ + 2;
        (void)wait_for(RM_NS_PER_MS);
        RESMON_LINE();
        {
            RESMON_SCOPE("inner");
            lines[1] = __LINE__ + 2;
            char *memory = touched(8 * MIB);
            RESMON_LINE();
            (void)munmap(memory, 8 * MIB);
        }
    }
    lines[2] = __LINE__ + 2;
    (void)wait_for(RM_NS_PER_MS);
    RESMON_LINE();
    return rm_clock_monotonic_ns() - begin;
}

TEST(scopes_in_a_function_do_not_cut_its_stretches)
{
    int lines[3];
    resmon_monitor *monitor = start();
    int64_t all = 0;
    for (int i = 0; i < 3; i++) {
        RESMON_SCOPE("around"); /* another function's */
        all += work_in_steps(lines);
    }
    resmon_run *run = finish(monitor);
    assert_int_equal(resmon_run_line_count(run), 3);
    assert_int_equal(line_at(run, lines[0]).hits, 12);
    assert_int_equal(line_at(run, lines[1]).hits, 12);
    assert_int_equal(line_at(run, lines[2]).hits, 3);
    double sum = 0;
    for (int i = 0; i < 3; i++) {
        sum += line_at(run, lines[i]).wall_ns;
    }
    /* Its own cost lies in no stretch. */
    assert_true(sum <= (double)all * 1.01);
    assert_true(sum >= 3 * 6 * RM_NS_PER_MS * 0.99);
    assert_true(line_at(run, lines[0]).wall_ns >= 3 * 5 * RM_NS_PER_MS * 0.99);
    if (line_at(run, lines[1]).rss_hits == 0) {
        print_message("skipped in part: the RSS cannot be read here\n");
    } else {
        assert_int_equal(line_at(run, lines[1]).rss_hits, 12);
        assert_int_equal(line_at(run, lines[0]).rss_hits, 9); /* not known at the begin */
        assert_int_equal(line_at(run, lines[2]).rss_hits, 3);
        assert_near(line_at(run, lines[1]).rss_bytes / (double)(12 * 8 * MIB), 1, 0.1);
        double lost = line_at(run, lines[0]).rss_bytes + line_at(run, lines[2]).rss_bytes;
        assert_near(lost / (double)(12 * 8 * MIB), -1, 0.1);
    }
    resmon_run_free(run);
}

/* ---- functions in functions ------------------------------------------------------------- */

static int called_line, shared_line, caller_line;

static void be_called(void)
{
    RESMON_FUNCTION();
    called_line = __LINE__ + 2;
    (void)wait_for(2 * RM_NS_PER_MS);
    RESMON_LINE();
}

static void have_no_scope(void)
{
    shared_line = __LINE__ + 2;
    (void)wait_for(2 * RM_NS_PER_MS);
    RESMON_LINE();
}

static int64_t call_both(void)
{
    int64_t begin = rm_clock_monotonic_ns();
    RESMON_FUNCTION();
    be_called();
    have_no_scope();
    caller_line = __LINE__ + 2;
    (void)wait_for(2 * RM_NS_PER_MS);
    RESMON_LINE();
    return rm_clock_monotonic_ns() - begin;
}

TEST(stretches_hold_what_was_called)
{
    resmon_monitor *monitor = start();
    int64_t all = call_both();
    resmon_run *run = finish(monitor);
    double called = line_at(run, called_line).wall_ns;
    double shared = line_at(run, shared_line).wall_ns;
    double caller = line_at(run, caller_line).wall_ns;
    assert_true(called >= 2 * RM_NS_PER_MS * 0.99);
    /* Without a scope of its own it goes on where its caller was, which has had its callee. */
    assert_true(shared >= called + 2 * RM_NS_PER_MS * 0.99);
    assert_true(caller >= 2 * RM_NS_PER_MS * 0.99);
    assert_true(shared + caller <= (double)all * 1.01);
    assert_int_equal(line_at(run, caller_line).hits, 1);
    resmon_run_free(run);
}

static int deep_line;

static void go_deeper(int depth)
{
    RESMON_FUNCTION();
    (void)wait_for(RM_NS_PER_MS);
    if (depth > 0) {
        RESMON_SCOPE("deeper");
        go_deeper(depth - 1);
    }
    deep_line = __LINE__ + 1;
    RESMON_LINE();
}

TEST(recursion_counts_once)
{
    resmon_monitor *monitor = start();
    int64_t begin = rm_clock_monotonic_ns();
    go_deeper(4);
    int64_t all = rm_clock_monotonic_ns() - begin;
    resmon_run *run = finish(monitor);
    assert_int_equal(line_at(run, deep_line).hits, 5);
    assert_true(line_at(run, deep_line).wall_ns >= 5 * RM_NS_PER_MS * 0.99);
    assert_true(line_at(run, deep_line).wall_ns <= (double)all * 1.01);
    resmon_run_free(run);
}

static int there_line;

static void go_there(int depth);

static void go_back(int depth)
{
    RESMON_FUNCTION();
    if (depth > 0) {
        go_there(depth - 1);
    }
}

static void go_there(int depth)
{
    RESMON_FUNCTION();
    (void)wait_for(RM_NS_PER_MS);
    go_back(depth);
    there_line = __LINE__ + 1;
    RESMON_LINE();
}

/* Runs of the function lie inside of each other, with another function's scope between them. */
TEST(mutual_recursion_counts_once)
{
    resmon_monitor *monitor = start();
    int64_t begin = rm_clock_monotonic_ns();
    go_there(4);
    int64_t all = rm_clock_monotonic_ns() - begin;
    resmon_run *run = finish(monitor);
    assert_int_equal(line_at(run, there_line).hits, 5);
    assert_true(line_at(run, there_line).wall_ns >= 5 * RM_NS_PER_MS * 0.99);
    assert_true(line_at(run, there_line).wall_ns <= (double)all * 1.01);
    resmon_run_free(run);
}

static void *pass_lines(void *line)
{
    RESMON_SCOPE("thread");
    for (int i = 0; i < 1001; i++) {
        *(int *)line = __LINE__ + 1;
        RESMON_LINE();
    }
    return NULL;
}

TEST(threads_count_together)
{
    resmon_monitor *monitor = start();
    pthread_t threads[4];
    int lines[4];
    for (int i = 0; i < 4; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, pass_lines, &lines[i]), 0);
    }
    for (int i = 0; i < 4; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    }
    resmon_run *run = finish(monitor);
    assert_int_equal(resmon_run_line_count(run), 1);
    assert_int_equal(line_at(run, lines[0]).hits, 4004);
    resmon_run_free(run);
}

TEST(lines_outside_of_scopes_and_of_monitors)
{
    RESMON_LINE(); /* nobody listens */
    resmon_monitor *monitor = start();
    int line = 0;
    for (int i = 0; i < 3; i++) {
        line = __LINE__ + 1;
        RESMON_LINE();
    }
    resmon_run *run = finish(monitor);
    RESMON_LINE();
    assert_int_equal(line_at(run, line).hits, 2);
    assert_status(RESMON_ENOENT, resmon_run_get_line(run, 1, &(resmon_run_line){.struct_size = 8}));
    resmon_run_free(run);
    monitor = start(); /* a second run begins anew */
    run = finish(monitor);
    assert_int_equal(resmon_run_line_count(run), 0);
    resmon_run_free(run);
}

/* More places than there is room for: the first ones count. */
TEST(too_many_lines_are_left_out)
{
    static resmon_line_site sites[300];
    resmon_monitor *monitor = start();
    for (uint32_t round = 0; round < 2; round++) {
        for (uint32_t i = 0; i < 300; i++) {
            sites[i].file = "made.c";
            sites[i].function = "made";
            sites[i].line = i + 1;
            resmon_line(&sites[i]);
        }
    }
    resmon_run *run = finish(monitor);
    assert_int_equal(resmon_run_line_count(run), 256);
    assert_int_equal(line_at(run, 256).hits, 2);
    resmon_run_info info = {.struct_size = sizeof info};
    assert_ok(resmon_run_get_info(run, &info));
    assert_int_equal(info.dropped_lines, 44);
    resmon_run_free(run);
}

TEST_FILE(.set_up = stay_on_one_of_many_cpus);
