/* SPDX-License-Identifier: MIT */
/*
 * store/events and the events of a run: the newest scope instances of each thread, one by one, from
 * the ring that a thread writes to what the accessors show.
 */
#define _GNU_SOURCE /* pthread_setname_np */
#include "runs.h"

#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#include "base/thread.h"
#include "made_block.h"
#include "run/run.h"
#include "store/events.h"
#include "torture/run_checks.h"

static resmon_monitor *started(size_t events, size_t max_threads)
{
    return start_with(&(resmon_monitor_options){
        .scopes = RESMON_METER_WALL,
        .scope_threads = max_threads,
        .events = events,
    });
}

static resmon_run *seen(resmon_monitor *monitor)
{
    resmon_run *run = NULL;
    assert_ok(resmon_monitor_snapshot(monitor, &run));
    struct verdict verdict = {0};
    if (!check_events(run, &verdict)) {
        fail_msg("%s", verdict.why);
    }
    return run;
}

static resmon_run *finished(resmon_monitor *monitor)
{
    assert_ok(resmon_monitor_stop(monitor));
    resmon_run *run = seen(monitor);
    resmon_monitor_free(monitor);
    return run;
}

static uint64_t begin(const char *name)
{
    resmon_site *site = NULL;
    assert_ok(resmon_site_intern(name, &site));
    return resmon_scope_begin(site);
}

static void assert_event(const resmon_run *run, size_t index, const char *name, uint64_t depth,
                         uint64_t is_open)
{
    resmon_run_event event = event_of(run, index);
    assert_string_equal(event.name, name);
    assert_int_equal(event.depth, depth);
    assert_int_equal(event.is_open, is_open);
}

/* ---- what is kept --------------------------------------------------------------------------- */

TEST(none_are_kept_by_default)
{
    resmon_run_event event = {.struct_size = sizeof event};
    resmon_monitor *monitor = started(0, 0);
    resmon_scope_end(begin("one"));
    resmon_run *run = finished(monitor);
    assert_int_equal(resmon_run_event_count(run), 0);
    assert_int_equal(info_of(run).dropped_events, 0);
    assert_int_equal(run->keeps_events, 0);
    assert_status(RESMON_ENOENT, resmon_run_get_event(run, 0, &event));
    assert_int_equal(resmon_run_event_count(NULL), 0);
    assert_status(RESMON_EINVAL, resmon_run_get_event(NULL, 0, &event));
    resmon_run_free(run);
}

TEST(events_come_by_start_with_all_their_facts)
{
    (void)pthread_setname_np(pthread_self(), "the main one");
    resmon_monitor *monitor = started(100, 0);
    uint64_t outer = begin("outer");
    resmon_scope_end(begin("first"));
    uint64_t second = begin("second");
    resmon_scope_end(begin("inside"));
    resmon_scope_end(second);
    resmon_scope_end(outer);
    resmon_run *run = finished(monitor);
    assert_int_equal(resmon_run_event_count(run), 4);
    assert_event(run, 0, "outer", 0, 0);
    assert_event(run, 1, "first", 1, 0);
    assert_event(run, 2, "second", 1, 0);
    assert_event(run, 3, "inside", 2, 0);
    assert_int_equal(event_of(run, 3).thread_id, rm_thread_id());
    assert_string_equal(event_of(run, 3).thread_name, "the main one");
    assert_true(event_of(run, 0).start_ns < info_of(run).duration_ns);
    assert_int_equal(info_of(run).dropped_events, 0);
    assert_string_equal(resmon_run_fact(run, "settings", "events"), "100");
    resmon_run_free(run);
}

TEST(times_are_those_of_the_tree)
{
    double sum = 0.0;
    resmon_monitor *monitor = started(100, 0);
    for (int i = 0; i < 20; i++) {
        resmon_scope_end(begin("once more"));
    }
    resmon_run *run = finished(monitor);
    resmon_run_scope scope = scope_of(run, 0);
    assert_int_equal(resmon_run_event_count(run), 20);
    for (size_t i = 0; i < 20; i++) {
        double duration = (double)event_of(run, i).duration_ns;
        assert_true(duration >= scope.wall_min_ns - 1.0 && duration <= scope.wall_max_ns + 1.0);
        sum += duration;
    }
    assert_near(sum, scope.wall_ns, 20.0); /* each is rounded to 1 ns, at both ends */
    resmon_run_free(run);
}

TEST(the_oldest_go_first_and_are_counted)
{
    resmon_monitor *monitor = started(4, 0);
    for (int i = 0; i < 11; i++) {
        char name[32];
        (void)snprintf(name, sizeof name, "number %d", i);
        resmon_scope_end(begin(name));
        resmon_run *run = seen(monitor);
        size_t kept = i < 4 ? (size_t)i + 1 : 4;
        assert_int_equal(resmon_run_event_count(run), kept);
        assert_event(run, kept - 1, name, 0, 0);
        assert_int_equal(info_of(run).dropped_events, (uint64_t)i + 1 - kept);
        resmon_run_free(run);
    }
    resmon_monitor_free(monitor);
}

static void recurse(int times)
{
    uint64_t scope = begin("again");
    if (times > 1) {
        recurse(times - 1);
    }
    resmon_scope_end(scope);
}

TEST(recursion_is_one_event)
{
    resmon_monitor *monitor = started(10, 0);
    recurse(5);
    uint64_t open = begin("again");
    resmon_scope_end(begin("again"));
    resmon_run *run = finished(monitor);
    assert_int_equal(resmon_run_event_count(run), 2);
    assert_event(run, 0, "again", 0, 0);
    assert_event(run, 1, "again", 0, 1);
    assert_int_equal(scope_of(run, 0).calls, 2);
    assert_int_equal(scope_of(run, 0).folded, 4); /* of the one that has ended */
    resmon_run_free(run);
    resmon_scope_end(open);
}

TEST(open_scopes_last_until_the_end)
{
    resmon_monitor *monitor = started(10, 0);
    uint64_t outer = begin("outer");
    uint64_t inner = begin("inner");
    resmon_scope_end(begin("done"));
    resmon_run *run = seen(monitor);
    assert_int_equal(resmon_run_event_count(run), 3);
    assert_event(run, 0, "outer", 0, 1);
    assert_event(run, 1, "inner", 1, 1);
    assert_event(run, 2, "done", 2, 0);
    resmon_run_free(run);
    int64_t took_ns = rm_clock_monotonic_ns();
    run = finished(monitor);
    took_ns = rm_clock_monotonic_ns() - took_ns;
    assert_event(run, 1, "inner", 1, 1);
    for (size_t i = 0; i < 2; i++) {
        resmon_run_event event = event_of(run, i);
        int64_t after = event.start_ns + event.duration_ns - info_of(run).duration_ns;
        assert_true(after > -1000 && after < took_ns); /* until the last sample was taken */
    }
    resmon_run_free(run);
    resmon_scope_end(inner);
    resmon_scope_end(outer);
}

TEST(what_an_outer_end_closes_is_an_event_too)
{
    resmon_monitor *monitor = started(10, 0);
    uint64_t outer = begin("outer");
    (void)begin("left");
    resmon_scope_end(outer);
    RESMON_TIMED("timed", (void)0);
    resmon_run *run = finished(monitor);
    assert_int_equal(resmon_run_event_count(run), 3);
    assert_event(run, 0, "outer", 0, 0);
    assert_event(run, 1, "left", 1, 0);
    assert_event(run, 2, "timed", 0, 0);
    resmon_run_free(run);
}

TEST(meters_and_events_go_together)
{
    resmon_monitor *monitor = NULL;
    resmon_monitor_options options = {.struct_size = sizeof options,
                                      .domains = RESMON_DOMAIN_PROCESS,
                                      .scopes = RESMON_METER_CPU,
                                      .max_meter_share = 1e9,
                                      .scope_depth = 1,
                                      .events = 10};
    assert_ok(resmon_monitor_new(&options, &monitor));
    assert_ok(resmon_monitor_start(monitor));
    for (int i = 0; i < 3; i++) {
        uint64_t scope = begin("metered");
        resmon_scope_end(begin("too deep"));
        resmon_scope_end(scope);
    }
    resmon_run *run = finished(monitor);
    assert_int_equal(resmon_run_event_count(run), 3);
    assert_int_equal(scope_of(run, 0).cpu_calls, 3);
    assert_int_equal(info_of(run).dropped_scopes, 3);
    resmon_run_free(run);
}

/* ---- threads -------------------------------------------------------------------------------- */

static void *work_once(void *name)
{
    (void)pthread_setname_np(pthread_self(), name);
    resmon_scope_end(begin(name));
    return NULL;
}

TEST(a_slot_keeps_what_ended_threads_left)
{
    static char names[3][16] = {"one", "two", "three"};
    resmon_monitor *monitor = started(10, 1);
    for (int i = 0; i < 3; i++) {
        in_thread(work_once, names[i]);
    }
    resmon_run *run = finished(monitor);
    assert_int_equal(resmon_run_event_count(run), 3);
    assert_int_equal(run->thread_count, 3); /* a thread id is not given again at once */
    for (size_t i = 0; i < 3; i++) {
        resmon_run_event event = event_of(run, i);
        assert_true(event.thread_id != rm_thread_id());
        bool is_last = strcmp(event.name, "three") == 0;
        assert_string_equal(event.thread_name, is_last ? "three" : "");
    }
    resmon_run_free(run);
}

TEST(an_empty_slot_is_taken_first)
{
    static char names[5][16] = {"one", "two", "three", "four", "five"};
    resmon_monitor *monitor = started(1, 3);
    for (int i = 0; i < 5; i++) {
        in_thread(work_once, names[i]);
    }
    resmon_run *run = finished(monitor);
    assert_int_equal(resmon_run_event_count(run), 3);
    assert_int_equal(info_of(run).dropped_events, 2);
    for (size_t i = 0; i < 3; i++) {
        resmon_run_event event = event_of(run, i);
        assert_string_not_equal(event.name, "one"); /* overwritten, and so is the second */
        assert_string_not_equal(event.name, "two");
        assert_string_equal(event.thread_name, event.name);
    }
    resmon_run_free(run);
}

static pthread_barrier_t barrier;

static void *wait_to_be_named(void *unused)
{
    (void)unused;
    resmon_scope_end(begin("before"));
    (void)pthread_barrier_wait(&barrier);
    (void)pthread_barrier_wait(&barrier);
    resmon_scope_end(begin("after"));
    (void)pthread_barrier_wait(&barrier);
    (void)pthread_barrier_wait(&barrier);
    return NULL;
}

TEST(a_name_given_later_is_seen)
{
    pthread_t thread;
    (void)pthread_barrier_init(&barrier, NULL, 2);
    resmon_monitor *monitor = started(10, 0);
    assert_int_equal(pthread_create(&thread, NULL, wait_to_be_named, NULL), 0);
    (void)pthread_barrier_wait(&barrier);
    (void)pthread_setname_np(thread, "worker 7");
    (void)pthread_barrier_wait(&barrier);
    (void)pthread_barrier_wait(&barrier);
    resmon_run *run = seen(monitor);
    assert_string_equal(event_of(run, 0).thread_name, "worker 7");
    (void)pthread_barrier_wait(&barrier);
    (void)pthread_join(thread, NULL);
    (void)pthread_barrier_destroy(&barrier);
    resmon_run_free(run);
    resmon_monitor_free(monitor);
}

static atomic_int is_over;
static atomic_int rounds[2]; /* that each thread has done */

static void *work_on(void *done)
{
    while (atomic_load(&is_over) == 0) {
        RESMON_SCOPE("outer");
        for (int i = 0; i < 3; i++) {
            RESMON_SCOPE("inner");
            {
                RESMON_SCOPE("leaf");
            }
        }
        (void)atomic_fetch_add((atomic_int *)done, 1);
    }
    return NULL;
}

static bool has_full_rings(void)
{
    return atomic_load(&rounds[0]) > 20 && atomic_load(&rounds[1]) > 20; /* of 7 events each */
}

/* Each snapshot is checked for nesting, order and bounds. */
TEST(snapshots_of_threads_at_work_are_whole)
{
    pthread_t threads[2];
    resmon_monitor *monitor = started(50, 0);
    atomic_store(&is_over, 0);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, work_on, &rounds[i]), 0);
    }
    for (int i = 0; i < 200 || !has_full_rings(); i++) {
        resmon_run *run = seen(monitor);
        assert_true(resmon_run_event_count(run) <= 2 * (50 + 3));
        resmon_run_free(run);
    }
    atomic_store(&is_over, 1);
    for (int i = 0; i < 2; i++) {
        (void)pthread_join(threads[i], NULL);
    }
    resmon_run *run = finished(monitor);
    assert_int_equal(resmon_run_event_count(run), 100);
    uint64_t calls = 0;
    for (size_t i = 0; i < resmon_run_scope_count(run); i++) {
        calls += scope_of(run, i).calls;
    }
    assert_int_equal(calls, 100 + info_of(run).dropped_events);
    resmon_run_free(run);
}

/* ---- rings ---------------------------------------------------------------------------------- */

static struct rm_event_ring *ring_of(struct rm_block *block, uint64_t slot)
{
    return rm_block_record(block, RM_SECTION_EVENTS, slot);
}

/* The writer went on while a file was copied. */
TEST(what_was_overwritten_meanwhile_is_left_out)
{
    struct rm_block_sizes sizes = small_sizes();
    struct rm_event_writer writer;
    struct rm_event copy[8];
    sizes.events = 3;
    struct rm_block block = made_block(&sizes);
    rm_events_open(&writer, &block, 0, 77);
    for (uint64_t n = 1; n <= 6; n++) {
        rm_events_add(&writer, n, 1, 1, 0);
    }
    const struct {
        uint64_t then, kept;
    } cases[] = {{0, 3}, {6, 3}, {7, 2}, {8, 1}, {9, 0}, {1000, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        ring_of(&block, 0)->count_then = cases[i].then;
        assert_int_equal(rm_events_copy(&block, 0, 6, copy, 8), cases[i].kept);
        if (cases[i].kept > 0) {
            assert_int_equal(copy[cases[i].kept - 1].start, 6);
        }
    }
    free_block(&block);
}

static resmon_run *decoded(struct rm_block *block)
{
    const struct rm_decode how = {.parts = RM_PART_ALL};
    resmon_run *run = NULL;
    assert_ok(rm_run_decode(block, &how, &run));
    struct verdict verdict = {0};
    if (!check_event_bounds(run, &verdict)) {
        fail_msg("%s", verdict.why);
    }
    return run;
}

TEST(a_hostile_ring_does_no_harm)
{
    struct rm_block_sizes sizes = small_sizes();
    sizes.events = 6;
    struct rm_block block = made_block(&sizes);
    struct rm_event_ring *ring = ring_of(&block, 0);
    block.header->has_scopes = 1;
    block.header->start = (struct rm_clock_pair){1000, 1000};
    memset(ring->name, 0xff, sizeof ring->name);
    const struct rm_event events[] = {
        {.start = 2000, .duration = 5, .site = 4000000000U, .tid = 1, .depth = 0},
        {.start = 2001, .duration = 5, .site = 0, .tid = UINT32_MAX, .depth = 255, .is_open = 9},
        {.start = 999, .duration = 5, .site = 1, .tid = 1, .depth = 0},    /* before the run */
        {.start = 2000, .duration = 5, .site = 1, .tid = 1, .depth = 256}, /* too deep */
        {.start = 2000, .duration = UINT64_MAX - 1999, .site = 1, .tid = 1, .depth = 0},
        {.start = 2000, .duration = UINT64_MAX - 2000, .site = 1, .tid = 1, .depth = 0},
    };
    memcpy(ring->events, events, sizeof events);
    ring->count = 6;
    resmon_run *run = decoded(&block);
    assert_int_equal(resmon_run_event_count(run), 3);
    assert_int_equal(info_of(run).dropped_events, 3);
    assert_string_equal(event_of(run, 0).name, "(unknown)");
    assert_int_equal(event_of(run, 2).is_open, 0);
    assert_string_equal(event_of(run, 2).thread_name, "");
    assert_int_equal(event_of(run, 2).thread_id, UINT32_MAX);
    resmon_run_free(run);
    ring->count = UINT64_MAX;
    ring->tid = 1;
    run = decoded(&block);
    assert_string_equal(event_of(run, 0).thread_name, "????????????????");
    resmon_run_free(run);
    free_block(&block);
}
