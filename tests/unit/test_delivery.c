/* SPDX-License-Identifier: MIT */
/*
 * engine/delivery, engine/lane: sinks that hang, call back, come late or want snapshots; and that
 * the one kind does not hold up the other.
 */
#include "test.h"

#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdbool.h>
#include <time.h>

#include "base/clock.h"
#include "made_time.h"

static resmon_monitor *make(uint64_t stop_timeout_ms)
{
    resmon_monitor *monitor = NULL;
    resmon_monitor_options options = {.struct_size = sizeof options,
                                      .interval_ms = 10,
                                      .domains = RESMON_DOMAIN_PROCESS,
                                      .stop_timeout_ms = stop_timeout_ms};
    assert_ok(resmon_monitor_new(&options, &monitor));
    return monitor;
}

static resmon_sink_info sink_of(resmon_monitor *monitor, size_t index)
{
    resmon_sink_info info = {.struct_size = sizeof info};
    assert_ok(resmon_monitor_get_sink(monitor, index, &info));
    return info;
}

/* ---- a sink that hangs ---------------------------------------------------------------------- */

struct gate {
    struct rm_condition changed; /* who waits for it lets time pass */
    bool is_open;                /* atomic */
    sem_t entered, closed;
    int64_t entered_ns;
};

static void gate_init(struct gate *gate)
{
    assert_int_equal(sem_init(&gate->entered, 0, 0), 0);
    assert_int_equal(sem_init(&gate->closed, 0, 0), 0);
}

static void gate_open(struct gate *gate)
{
    __atomic_store_n(&gate->is_open, true, __ATOMIC_RELEASE);
    rm_condition_signal(&gate->changed);
}

static void gate_enter(struct gate *gate)
{
    gate->entered_ns = rm_clock_monotonic_ns();
    (void)sem_post(&gate->entered);
    for (;;) {
        uint32_t mark = rm_condition_mark(&gate->changed);
        if (__atomic_load_n(&gate->is_open, __ATOMIC_ACQUIRE)) {
            return;
        }
        rm_condition_wait_past(&gate->changed, mark, RM_WAIT_FOR_EVER);
    }
}

static resmon_status hang(void *context, const resmon_run *run)
{
    (void)run;
    gate_enter(context);
    return RESMON_OK;
}

static resmon_status hang_in_row(void *context, const resmon_rows *rows)
{
    (void)rows;
    gate_enter(context);
    return RESMON_OK;
}

static void gate_closed(void *context)
{
    struct gate *gate = context;
    (void)sem_post(&gate->closed);
}

static resmon_status count_stops(void *context, const resmon_run *run)
{
    (void)run;
    (void)__atomic_add_fetch((int *)context, 1, __ATOMIC_RELAXED);
    return RESMON_OK;
}

static resmon_status never_stopped(void *context, const resmon_run *run)
{
    (void)context, (void)run;
    fail_msg("a sink that is off was called");
    return RESMON_OK;
}

/* Two sinks of the same kind, the first hangs: stop and free return, the second gets its turn when
 * the first lets go, on memory that is still there.  In its start and in a row it hangs before the
 * time begins. */
static void check_hanging(resmon_sink_ops hanging)
{
    struct gate gate = {0};
    int stops = 0;
    bool is_in_stop = hanging.stop == hang;
    gate_init(&gate);
    hanging.struct_size = sizeof hanging;
    hanging.name = "hanging";
    hanging.close = gate_closed;
    resmon_sink_ops healthy = {.struct_size = sizeof healthy, .stop = count_stops};
    resmon_monitor *monitor = make(200);
    assert_ok(resmon_monitor_add_sink(monitor, &hanging, &gate));
    assert_ok(resmon_monitor_add_sink(monitor, &healthy, &stops));
    assert_ok(resmon_monitor_start(monitor));
    if (!is_in_stop) {
        (void)sem_wait(&gate.entered);
    }
    int64_t begin_ns = rm_clock_monotonic_ns();
    assert_status(RESMON_ETIMEDOUT, resmon_monitor_stop(monitor));
    assert_non_null(strstr(resmon_last_error(), "sink hanging did not return in time"));
    assert_int_equal(rm_clock_monotonic_ns(), begin_ns + 200 * RM_NS_PER_MS);
    if (is_in_stop) {
        (void)sem_wait(&gate.entered);
        assert_int_equal(gate.entered_ns, begin_ns);
    }
    assert_int_equal(sink_of(monitor, 0).is_off, 1);
    assert_int_equal(sink_of(monitor, 0).status, RESMON_ETIMEDOUT);
    assert_int_equal(sink_of(monitor, 0).end_status, RESMON_ETIMEDOUT);
    assert_int_equal(sink_of(monitor, 1).is_off, 0);
    assert_int_equal(sink_of(monitor, 1).end_status, RESMON_ETIMEDOUT); /* no turn yet */
    assert_ok(resmon_monitor_stop(monitor));
    resmon_run *run = NULL;
    assert_ok(resmon_monitor_snapshot(monitor, &run));
    resmon_run_free(run);
    resmon_monitor_free(monitor);
    assert_int_equal(sem_trywait(&gate.closed), -1);
    gate_open(&gate);
    (void)sem_wait(&gate.closed);
    assert_int_equal(__atomic_load_n(&stops, __ATOMIC_RELAXED), 1);
}

TEST(a_sink_that_hangs_is_left_behind, IN_MADE_TIME)
{
    check_hanging((resmon_sink_ops){.start = hang, .stop = never_stopped});
    check_hanging((resmon_sink_ops){.rows = hang_in_row, .stop = never_stopped});
    check_hanging((resmon_sink_ops){.stop = hang});
}

static resmon_status note_deadline(void *context, const resmon_run *run)
{
    (void)run;
    *(int64_t *)context = rm_deadline_ns();
    return RESMON_OK;
}

/* An eighth of the time is left for those who wait. */
TEST(a_sink_knows_until_when_it_may_work, IN_MADE_TIME)
{
    int64_t deadline_ns = 0;
    const int64_t time_ns = (600 - 75) * RM_NS_PER_S;
    resmon_sink_ops ops = {.struct_size = sizeof ops, .stop = note_deadline};
    resmon_monitor *monitor = make(600000);
    assert_ok(resmon_monitor_add_sink(monitor, &ops, &deadline_ns));
    assert_ok(resmon_monitor_start(monitor));
    int64_t begin_ns = rm_clock_monotonic_ns();
    assert_ok(resmon_monitor_stop(monitor));
    assert_int_equal(deadline_ns, begin_ns + time_ns);
    resmon_monitor_free(monitor);
}

/* A remote sink that hangs in start: a local one has every row, and stop waits for the remote one's
 * time only. */
TEST(lanes_do_not_hold_up_each_other, IN_MADE_TIME)
{
    struct gate gate = {0};
    int stops = 0;
    gate_init(&gate);
    resmon_sink_ops remote = {.struct_size = sizeof remote,
                              .name = "far",
                              .start = hang,
                              .close = gate_closed,
                              .flags = RESMON_SINK_REMOTE};
    resmon_sink_ops local = {.struct_size = sizeof local, .stop = count_stops};
    resmon_sink_ops strange = {.struct_size = sizeof strange, .flags = 2};
    resmon_monitor *monitor = make(200);
    assert_status(RESMON_EINVAL, resmon_monitor_add_sink(monitor, &strange, NULL));
    assert_ok(resmon_monitor_add_sink(monitor, &remote, &gate));
    assert_ok(resmon_monitor_add_sink(monitor, &local, &stops));
    assert_int_equal(resmon_monitor_sink_count(monitor), 2);
    assert_ok(resmon_monitor_start(monitor));
    (void)sem_wait(&gate.entered);
    assert_status(RESMON_ETIMEDOUT, resmon_monitor_stop(monitor));
    while (sink_of(monitor, 1).calls < 1) { /* while the remote one hangs */
        (void)sched_yield();
    }
    assert_int_equal(__atomic_load_n(&stops, __ATOMIC_RELAXED), 1);
    assert_int_equal(sink_of(monitor, 1).calls, 1);
    resmon_monitor_free(monitor);
    gate_open(&gate);
    (void)sem_wait(&gate.closed);
}

/* ---- a sink that calls back ----------------------------------------------------------------- */

struct caller {
    resmon_monitor *monitor;
    resmon_status stop, sample, capture, tag;
    bool is_running; /* atomic: start has returned */
    bool has_called; /* atomic */
};

static resmon_status call_back(void *context, const resmon_rows *rows)
{
    struct caller *caller = context;
    resmon_run *run = NULL;
    (void)rows;
    caller->stop = resmon_monitor_stop(caller->monitor);
    if (!__atomic_load_n(&caller->has_called, __ATOMIC_RELAXED) &&
        __atomic_load_n(&caller->is_running, __ATOMIC_ACQUIRE)) {
        caller->sample = resmon_monitor_sample_now(caller->monitor);
        caller->capture = resmon_monitor_snapshot(caller->monitor, &run);
        caller->tag = resmon_monitor_tag(caller->monitor, "from a sink");
        resmon_monitor_free(caller->monitor);
        resmon_run_free(run);
        __atomic_store_n(&caller->has_called, true, __ATOMIC_RELEASE);
    }
    return RESMON_OK;
}

TEST(a_sink_that_calls_back_is_contained)
{
    struct caller caller = {.monitor = make(0), .sample = 1, .capture = 1, .tag = 1};
    resmon_sink_ops ops = {.struct_size = sizeof ops, .rows = call_back};
    assert_ok(resmon_monitor_add_sink(caller.monitor, &ops, &caller));
    assert_ok(resmon_monitor_start(caller.monitor));
    __atomic_store_n(&caller.is_running, true, __ATOMIC_RELEASE);
    assert_ok(resmon_monitor_sample_now(caller.monitor));
    while (sink_of(caller.monitor, 0).calls < 4 ||
           !__atomic_load_n(&caller.has_called, __ATOMIC_ACQUIRE)) {
        assert_ok(resmon_monitor_sample_now(caller.monitor));
    }
    assert_ok(resmon_monitor_stop(caller.monitor));
    assert_int_equal(caller.stop, RESMON_ESTATE);
    assert_int_equal(caller.sample, RESMON_OK);
    assert_int_equal(caller.capture, RESMON_OK);
    assert_int_equal(caller.tag, RESMON_OK);
    resmon_monitor_free(caller.monitor);
}

/* Left behind, and only then at its own monitor. */
struct late_caller {
    struct gate gate;
    sem_t called;
    resmon_monitor *monitor;
    resmon_status stop;
};

static resmon_status call_back_late(void *context, const resmon_run *run)
{
    struct late_caller *caller = context;
    (void)run;
    gate_enter(&caller->gate);
    caller->stop = resmon_monitor_stop(caller->monitor);
    resmon_monitor_free(caller->monitor);
    (void)sem_post(&caller->called);
    return RESMON_OK;
}

static void late_caller_closed(void *context)
{
    struct late_caller *caller = context;
    (void)sem_post(&caller->gate.closed);
}

TEST(a_sink_that_was_left_behind_does_not_free_its_monitor, IN_MADE_TIME)
{
    struct late_caller caller = {.monitor = make(50)};
    gate_init(&caller.gate);
    assert_int_equal(sem_init(&caller.called, 0, 0), 0);
    resmon_sink_ops ops = {
        .struct_size = sizeof ops, .start = call_back_late, .close = late_caller_closed};
    assert_ok(resmon_monitor_add_sink(caller.monitor, &ops, &caller));
    assert_ok(resmon_monitor_start(caller.monitor));
    (void)sem_wait(&caller.gate.entered);
    assert_status(RESMON_ETIMEDOUT, resmon_monitor_stop(caller.monitor));
    gate_open(&caller.gate);
    (void)sem_wait(&caller.called);
    assert_int_equal(caller.stop, RESMON_ESTATE);
    assert_int_equal(sink_of(caller.monitor, 0).is_off, 1);
    resmon_monitor_free(caller.monitor);
    (void)sem_wait(&caller.gate.closed);
}

/* In start, the monitor is neither new any more nor running. */
struct early_caller {
    resmon_monitor *monitor;
    sem_t done;
    resmon_status add, start;
};

static resmon_status call_back_early(void *context, const resmon_run *run)
{
    struct early_caller *caller = context;
    resmon_sink_ops ops = {.struct_size = sizeof ops, .flags = RESMON_SINK_REMOTE};
    (void)run;
    resmon_monitor_free(caller->monitor);
    caller->add = resmon_monitor_add_sink(caller->monitor, &ops, NULL);
    caller->start = resmon_monitor_start(caller->monitor);
    (void)sem_post(&caller->done);
    return RESMON_OK;
}

TEST(a_sink_that_calls_back_in_start_is_contained)
{
    for (int i = 0; i < 20; i++) {
        struct early_caller caller = {.monitor = make(0)};
        assert_int_equal(sem_init(&caller.done, 0, 0), 0);
        resmon_sink_ops ops = {.struct_size = sizeof ops, .start = call_back_early};
        assert_ok(resmon_monitor_add_sink(caller.monitor, &ops, &caller));
        assert_ok(resmon_monitor_start(caller.monitor));
        (void)sem_wait(&caller.done);
        assert_int_equal(caller.add, RESMON_ESTATE);
        assert_int_equal(caller.start, RESMON_ESTATE);
        assert_int_equal(resmon_monitor_sink_count(caller.monitor), 1);
        assert_ok(resmon_monitor_stop(caller.monitor));
        resmon_monitor_free(caller.monitor);
    }
}

/* ---- snapshots ------------------------------------------------------------------------------ */

struct seen {
    uint64_t samples;
    int count, wrong;
};

static resmon_status on_snapshot(void *context, const resmon_run *run)
{
    struct seen *seen = context;
    resmon_run_info info = {.struct_size = sizeof info};
    if (resmon_run_get_info(run, &info) != RESMON_OK || info.samples <= seen->samples ||
        resmon_run_row_count(run) == 0 || strcmp(info.state, "running") != 0) {
        seen->wrong++;
    }
    seen->samples = info.samples;
    seen->count++;
    return RESMON_OK;
}

TEST(snapshots_come_while_it_runs, IN_MADE_TIME)
{
    struct seen seen = {0};
    resmon_sink_ops ops = {
        .struct_size = sizeof ops, .snapshot = on_snapshot, .snapshot_interval_ms = 30};
    resmon_sink_ops never = {
        .struct_size = sizeof never, .snapshot = on_snapshot, .snapshot_interval_ms = 0};
    resmon_monitor *monitor = make(0);
    assert_ok(resmon_monitor_add_sink(monitor, &ops, &seen));
    assert_ok(resmon_monitor_add_sink(monitor, &never, &seen));
    assert_ok(resmon_monitor_start(monitor));
    rm_condition_nap(100 * RM_NS_PER_MS);
    assert_ok(resmon_monitor_stop(monitor));
    assert_int_equal(seen.count, 3);
    assert_int_equal(seen.wrong, 0);
    assert_int_equal(sink_of(monitor, 1).calls, 0);
    resmon_monitor_free(monitor);
}

/* ---- what stop says ------------------------------------------------------------------------- */

static resmon_status fail_at_the_end(void *context, const resmon_run *run)
{
    (void)run, (void)context;
    resmon_run *none = NULL;
    return resmon_run_load("/nonexistent/place", &none);
}

TEST(stop_tells_of_a_sink_that_failed)
{
    int stops = 0;
    resmon_sink_ops failing = {.struct_size = sizeof failing, .name = "f", .stop = fail_at_the_end};
    resmon_sink_ops healthy = {.struct_size = sizeof healthy, .stop = count_stops};
    resmon_monitor *monitor = make(0);
    assert_ok(resmon_monitor_add_sink(monitor, &failing, NULL));
    assert_ok(resmon_monitor_add_sink(monitor, &healthy, &stops));
    assert_ok(resmon_monitor_start(monitor));
    assert_status(RESMON_ENOENT, resmon_monitor_stop(monitor));
    assert_non_null(strstr(resmon_last_error(), "sink f: "));
    assert_non_null(strstr(resmon_last_error(), "/nonexistent/place"));
    assert_int_equal(stops, 1);
    assert_ok(resmon_monitor_stop(monitor));
    resmon_monitor_free(monitor);
}

static resmon_status refuse(void *context, const resmon_run *run)
{
    (void)context, (void)run;
    return RESMON_EACCES;
}

TEST(a_sink_whose_start_fails_is_off)
{
    int stops = 0;
    resmon_sink_ops refusing = {.struct_size = sizeof refusing, .start = refuse};
    resmon_sink_ops healthy = {.struct_size = sizeof healthy, .stop = count_stops};
    refusing.stop = never_stopped;
    resmon_monitor *monitor = make(0);
    assert_ok(resmon_monitor_add_sink(monitor, &refusing, NULL));
    assert_ok(resmon_monitor_add_sink(monitor, &healthy, &stops));
    assert_ok(resmon_monitor_start(monitor));
    assert_status(RESMON_EACCES, resmon_monitor_stop(monitor));
    assert_int_equal(sink_of(monitor, 0).is_off, 1);
    assert_int_equal(sink_of(monitor, 0).status, RESMON_EACCES);
    assert_int_equal(sink_of(monitor, 0).calls, 1);
    assert_int_equal(sink_of(monitor, 1).is_off, 0);
    assert_int_equal(sink_of(monitor, 1).status, RESMON_OK);
    assert_string_equal(sink_of(monitor, 1).reason, "");
    assert_true(sink_of(monitor, 1).longest_ns <= sink_of(monitor, 1).busy_ns);
    assert_int_equal(stops, 1);
    resmon_monitor_free(monitor);
}
