/* SPDX-License-Identifier: MIT */
/*
 * engine/lane by itself: ends without a beginning, captures and drafts.  (Lanes in a monitor, with
 * sinks that fail, hang or are late: test_delivery, test_monitor.)
 */
#include "test.h"

#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>

#include "base/clock.h"
#include "base/fault.h"
#include "engine/lane.h"
#include "run/record.h"
#include "run/run.h"

#define COLUMNS  2
#define INTERVAL (10 * RM_NS_PER_MS)
#define PATIENCE (60 * RM_NS_PER_S)

static resmon_run *columns;

/* What a sink saw, and what it answers. */
struct sink {
    resmon_status start_answer, rows_answer, stop_answer, flush_answer;
    int starts, rows, tags, stops, flushes, snapshots, closes; /* atomic */
    uint64_t dropped;
    int64_t last_ns;
    int disorder;
    double sum;
    uint64_t parts;
    sem_t *gate;   /* waited for in the first row */
    sem_t *signal; /* posted in each call */
};

static void count(int *calls)
{
    (void)__atomic_add_fetch(calls, 1, __ATOMIC_SEQ_CST);
}

static resmon_status say(const struct sink *sink, resmon_status answer)
{
    resmon_run *none = NULL;
    if (answer < RESMON_OK) {
        (void)resmon_run_load("/nonexistent/place", &none); /* a text of its own */
    }
    if (sink->signal != NULL) {
        (void)sem_post(sink->signal);
    }
    return answer;
}

static resmon_status on_start(void *context, const resmon_run *run)
{
    struct sink *sink = context;
    assert_ptr_equal(run, columns);
    count(&sink->starts);
    return say(sink, sink->start_answer);
}

static resmon_status on_rows(void *context, const resmon_rows *rows)
{
    struct sink *sink = context;
    if (sink->rows == 0 && sink->gate != NULL) {
        (void)say(sink, RESMON_OK);
        (void)sem_wait(sink->gate);
    }
    sink->disorder += rows->t_ns[0] < sink->last_ns || rows->row_count != 1 ? 1 : 0;
    sink->last_ns = rows->t_ns[0];
    sink->sum += rows->values[0] + rows->values[1];
    sink->dropped = rows->dropped_rows;
    count(&sink->rows);
    return say(sink, sink->rows_answer);
}

static resmon_status on_tag(void *context, int64_t t_ns, const char *label)
{
    struct sink *sink = context;
    sink->disorder += t_ns < sink->last_ns || strcmp(label, "a tag") != 0 ? 1 : 0;
    sink->last_ns = t_ns;
    count(&sink->tags);
    return say(sink, RESMON_OK);
}

static resmon_status on_stop(void *context, const resmon_run *run)
{
    struct sink *sink = context;
    assert_non_null(run);
    count(&sink->stops);
    return say(sink, sink->stop_answer);
}

static resmon_status on_flush(void *context)
{
    struct sink *sink = context;
    count(&sink->flushes);
    return say(sink, sink->flush_answer);
}

static resmon_status on_snapshot(void *context, const resmon_run *run)
{
    struct sink *sink = context;
    assert_non_null(run);
    count(&sink->snapshots);
    return say(sink, RESMON_OK);
}

static void on_close(void *context)
{
    struct sink *sink = context;
    count(&sink->closes);
}

static const resmon_sink_ops whole = {.struct_size = sizeof whole,
                                      .name = "whole",
                                      .start = on_start,
                                      .rows = on_rows,
                                      .tag = on_tag,
                                      .stop = on_stop,
                                      .flush = on_flush,
                                      .close = on_close};

static struct rm_lane_terms terms_now(void)
{
    return (struct rm_lane_terms){
        .columns = columns, .column_count = COLUMNS, .interval_ns = INTERVAL};
}

static struct rm_lane *lane_of(const resmon_sink_ops *ops, struct sink *sink)
{
    struct rm_lane *lane = rm_lane_new("rm-test");
    assert_non_null(lane);
    assert_int_equal(rm_lane_add(lane, ops, sink), 0);
    return lane;
}

static void put_row(struct rm_lane *lane, int64_t t_ns)
{
    const double values[COLUMNS] = {1.0, 0.5};
    rm_lane_row(lane, t_ns, values);
}

static resmon_status end(struct rm_lane *lane, resmon_run *run)
{
    int64_t until_ns = rm_clock_monotonic_ns() + PATIENCE;
    rm_lane_finish(lane, run, until_ns);
    return rm_lane_wait(lane, until_ns);
}

/* ---- ends without a beginning --------------------------------------------------------------- */

TEST(a_lane_that_never_started)
{
    int64_t live = rm_fault_live(0);
    struct sink sink = {0};
    struct rm_lane *lane = lane_of(&whole, &sink);
    rm_lane_finish(lane, columns, 0);
    assert_ok(rm_lane_wait(lane, 0));
    assert_false(rm_lane_is_this_thread(lane));
    rm_lane_free(lane);
    assert_int_equal(sink.closes, 1);
    assert_int_equal(sink.stops, 0);
    /* In the child of a fork, no sink is called. */
    lane = lane_of(&whole, &sink);
    rm_lane_forget(lane);
    rm_lane_forget(NULL);
    rm_lane_free(NULL);
    assert_int_equal(sink.closes, 1);
    assert_int_equal(rm_fault_live(0), live);
}

static void fail_start(enum rm_fault_kind kind, resmon_status expected)
{
    int64_t live = rm_fault_live(0);
    struct sink sink = {0};
    struct rm_lane *lane = lane_of(&whole, &sink);
    const struct rm_lane_terms terms = terms_now();
    rm_fault_arm(kind, 0);
    resmon_status status = rm_lane_start(lane, &terms);
    rm_fault_arm(kind, -1);
    if (expected != RESMON_OK) {
        assert_status(expected, status);
    }
    assert_true(status < RESMON_OK);
    assert_ok(rm_lane_wait(lane, 0));
    rm_lane_free(lane);
    assert_int_equal(sink.starts, 0);
    assert_int_equal(sink.closes, 1);
    assert_int_equal(rm_fault_live(0), live);
}

TEST(a_start_that_fails)
{
    fail_start(RM_FAULT_ALLOC, RESMON_ENOMEM);
    fail_start(RM_FAULT_THREAD, RESMON_OK);
    rm_fault_arm(RM_FAULT_ALLOC, 0);
    assert_null(rm_lane_new("rm-test"));
    rm_fault_arm(RM_FAULT_ALLOC, -1);
}

static resmon_status end_status_of(struct rm_lane *lane, size_t index)
{
    resmon_sink_info info;
    rm_lane_get(lane, index, &info);
    return info.end_status;
}

/* Without a finished run there is nothing to show, which is said; what was held back goes out. */
TEST(an_end_without_a_run)
{
    struct sink sink = {0};
    struct rm_lane *lane = lane_of(&whole, &sink);
    const struct rm_lane_terms terms = terms_now();
    assert_ok(rm_lane_start(lane, &terms));
    assert_status(RESMON_ENOMEM, end(lane, NULL));
    assert_int_equal(end_status_of(lane, 0), RESMON_ENOMEM);
    assert_int_equal(sink.stops, 0);
    assert_int_equal(sink.flushes, 1);
    rm_lane_free(lane);
}

/* ---- snapshots ------------------------------------------------------------------------------ */

static int captures;
static unsigned captured; /* parts of the last one */

static resmon_status capture(void *context, unsigned parts, resmon_run **ret_run)
{
    captured = parts;
    if (__atomic_add_fetch(&captures, 1, __ATOMIC_SEQ_CST) % 2 == 1) {
        return RESMON_ENOMEM;
    }
    *ret_run = rm_run_ref(context);
    return RESMON_OK;
}

/* A capture that fails is left out, and the next one comes in its time; two sinks share one. */
TEST(captures_that_fail)
{
    sem_t seen;
    assert_int_equal(sem_init(&seen, 0, 0), 0);
    struct sink first = {.signal = &seen};
    const resmon_sink_ops ops = {.struct_size = sizeof ops,
                                 .snapshot = on_snapshot,
                                 .snapshot_interval_ms = 5,
                                 .stop = on_stop,
                                 .close = on_close};
    struct rm_lane *lane = lane_of(&ops, &first);
    struct rm_lane_terms terms = terms_now();
    terms.capture = capture;
    terms.context = columns;
    captures = 0;
    assert_ok(rm_lane_start(lane, &terms));
    for (int i = 0; i < 3; i++) {
        (void)sem_wait(&seen);
    }
    assert_ok(end(lane, columns));
    int snapshots = __atomic_load_n(&first.snapshots, __ATOMIC_SEQ_CST);
    assert_true(snapshots >= 3 && captures >= 2 * snapshots);
    assert_int_equal(first.stops, 1);
    rm_lane_free(lane);
    (void)sem_destroy(&seen);
}

/* That it is shown what it looks at, whoever else has a turn, and nothing that nobody wants. */
static resmon_status check_parts(void *context, const resmon_run *run)
{
    struct sink *sink = context;
    assert_int_equal(captured & sink->parts, sink->parts);
    assert_int_equal(captured & ~(RESMON_PART_SUMMARY | RESMON_PART_SCOPES), 0);
    return on_snapshot(context, run);
}

TEST(a_capture_has_the_parts_that_are_wanted)
{
    sem_t seen;
    assert_int_equal(sem_init(&seen, 0, 0), 0);
    struct sink first = {.signal = &seen, .parts = RESMON_PART_SUMMARY};
    struct sink second = {.signal = &seen, .parts = RESMON_PART_SCOPES};
    struct sink third = {.parts = RESMON_PART_STACKS};
    resmon_sink_ops ops = {.struct_size = sizeof ops,
                           .snapshot = check_parts,
                           .snapshot_interval_ms = 5,
                           .parts = first.parts,
                           .close = on_close};
    struct rm_lane *lane = lane_of(&ops, &first);
    ops.parts = RESMON_PART_STACKS | RESMON_PART_SCOPES; /* at its stop */
    ops.stop = on_stop;
    assert_int_equal(rm_lane_add(lane, &ops, &second), 1);
    rm_lane_own(lane, 1, &(struct rm_own_sink){.snapshot_parts = RESMON_PART_SCOPES});
    ops.parts = RESMON_PART_STACKS;
    ops.stop = NULL;
    ops.snapshot_interval_ms = 0; /* never */
    assert_int_equal(rm_lane_add(lane, &ops, &third), 2);
    assert_int_equal(rm_lane_parts(lane), RESMON_PART_STACKS | RESMON_PART_SCOPES);
    struct rm_lane_terms terms = terms_now();
    terms.capture = capture;
    terms.context = columns;
    captures = 1;
    assert_ok(rm_lane_start(lane, &terms));
    while (__atomic_load_n(&first.snapshots, __ATOMIC_SEQ_CST) == 0 ||
           __atomic_load_n(&second.snapshots, __ATOMIC_SEQ_CST) == 0) {
        (void)sem_wait(&seen);
    }
    assert_ok(end(lane, columns));
    assert_int_equal(third.snapshots, 0);
    rm_lane_free(lane);
    (void)sem_destroy(&seen);
}

static struct rm_lane *busy_lane;

/* Slower than the samples: there is always another. */
static resmon_status refill(void *context, const resmon_rows *rows)
{
    struct sink *sink = context;
    count(&sink->rows);
    if (__atomic_load_n(&sink->snapshots, __ATOMIC_SEQ_CST) == 0) {
        put_row(busy_lane, rows->t_ns[0] + 1);
    }
    return RESMON_OK;
}

TEST(snapshots_come_beside_rows_without_end)
{
    sem_t seen;
    assert_int_equal(sem_init(&seen, 0, 0), 0);
    struct sink sink = {.signal = &seen};
    const resmon_sink_ops ops = {.struct_size = sizeof ops,
                                 .rows = refill,
                                 .snapshot = on_snapshot,
                                 .snapshot_interval_ms = 5,
                                 .close = on_close};
    busy_lane = lane_of(&ops, &sink);
    struct rm_lane_terms terms = terms_now();
    terms.capture = capture;
    terms.context = columns;
    captures = 1;
    assert_ok(rm_lane_start(busy_lane, &terms));
    put_row(busy_lane, 0);
    (void)sem_wait(&seen);
    assert_ok(end(busy_lane, columns));
    assert_true(sink.rows > 0 && sink.snapshots > 0);
    rm_lane_free(busy_lane);
    (void)sem_destroy(&seen);
}

FIXTURE(set_up)
{
    columns = rm_run_new();
    return columns != NULL ? 0 : -1;
}

FIXTURE(tear_down)
{
    rm_run_free(columns);
    return 0;
}

/* ---- drafts ----------------------------------------------------------------------------- */

TEST(a_draft_comes_before_the_end)
{
    struct sink sink = {0}, other = {0};
    resmon_sink_ops ops = whole;
    ops.snapshot = on_snapshot;
    struct rm_lane *lane = lane_of(&ops, &sink);
    assert_int_equal(rm_lane_add(lane, &ops, &other), 1);
    rm_lane_own(lane, 0, &(struct rm_own_sink){.wants_draft = true});
    rm_lane_own(lane, 1, &(struct rm_own_sink){.wants_draft = false});
    const struct rm_lane_terms terms = terms_now();
    assert_int_equal(rm_lane_draft_parts(lane), 0); /* nobody would show it */
    assert_ok(rm_lane_start(lane, &terms));
    assert_int_equal(rm_lane_draft_parts(lane), RESMON_PART_ALL);
    rm_lane_draft(lane, columns, rm_clock_monotonic_ns() + PATIENCE);
    assert_int_equal(sink.snapshots, 1);
    assert_int_equal(sink.stops, 0);
    assert_int_equal(other.snapshots, 0);
    rm_lane_finish(lane, columns, RM_DEADLINE_NONE);
    assert_ok(rm_lane_wait(lane, rm_clock_monotonic_ns() + PATIENCE));
    assert_int_equal(sink.snapshots, 1);
    assert_int_equal(sink.stops, 1);
    rm_lane_free(lane);
}

/* One that a sink does not get to is given up without a trace. */
TEST(a_draft_that_comes_too_late)
{
    sem_t gate, signal;
    assert_int_equal(sem_init(&gate, 0, 0), 0);
    assert_int_equal(sem_init(&signal, 0, 0), 0);
    struct sink sink = {.gate = &gate, .signal = &signal};
    resmon_sink_ops ops = whole;
    ops.snapshot = on_snapshot;
    struct rm_lane *lane = lane_of(&ops, &sink);
    rm_lane_own(lane, 0, &(struct rm_own_sink){.wants_draft = true});
    const struct rm_lane_terms terms = terms_now();
    assert_ok(rm_lane_start(lane, &terms));
    (void)sem_wait(&signal); /* its start */
    put_row(lane, 1);
    (void)sem_wait(&signal); /* it sits in the row */
    rm_lane_draft(lane, columns, rm_clock_monotonic_ns());
    assert_int_equal(sink.snapshots, 0);
    rm_lane_finish(lane, columns, RM_DEADLINE_NONE);
    (void)sem_post(&gate);
    assert_ok(rm_lane_wait(lane, rm_clock_monotonic_ns() + PATIENCE));
    assert_int_equal(sink.stops, 1);
    rm_lane_free(lane);
    (void)sem_destroy(&gate);
    (void)sem_destroy(&signal);
}

TEST_FILE(.set_up = set_up, .tear_down = tear_down);
