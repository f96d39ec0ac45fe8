/* SPDX-License-Identifier: MIT */
/*
 * Monitors in a time that is made (base/clock): hours of samples, halving and snapshots, pauses
 * of the machine, a wall clock that is set, what samples cost.  Each figure is exact on every host.
 */
#include "runs.h"

#include "made_time.h"
#include "os/topology.h"
#include "run/run.h"
#include "store/run_records.h"

#define S  RM_NS_PER_S
#define MS RM_NS_PER_MS

/* ---- time itself ------------------------------------------------------------------------ */

TEST(clocks_stand_until_somebody_moves_them)
{
    assert_int_equal(rm_clock_monotonic_ns(), MADE_TIME_BEGIN);
    assert_int_equal(rm_clock_ticks(), MADE_TIME_BEGIN);
    rm_made_time_pass(5);
    rm_made_time_work(7);
    rm_made_time_set_wall(-100);
    assert_int_equal(rm_clock_monotonic_ns(), MADE_TIME_BEGIN + 12);
    assert_int_equal(rm_clock_realtime_ns(), MADE_TIME_BEGIN - 88);
    assert_int_equal(rm_clock_cpu_ns(CLOCK_THREAD_CPUTIME_ID), S + 7);
    rm_made_time_look_costs(3);
    assert_int_equal(rm_clock_cpu_ns(CLOCK_PROCESS_CPUTIME_ID), S + 10);
    assert_int_equal(rm_clock_monotonic_ns(), MADE_TIME_BEGIN + 15);
    rm_condition_nap(1000);
    assert_int_equal(rm_clock_monotonic_ns(), MADE_TIME_BEGIN + 1015);
}

/* ---- samples ---------------------------------------------------------------------------- */

/* Three hours in 400 rows: buckets of 32 s, which have a place for each second. */
TEST(hours_are_halved)
{
    const int64_t seconds = 3 * 3600;
    resmon_monitor *monitor =
        start_with(&(resmon_monitor_options){.interval_ms = 1000, .rows = 400});
    rm_condition_nap(seconds * S);
    resmon_run *run = finish(monitor);
    resmon_run_info info = info_of(run);
    assert_int_equal(info.duration_ns, seconds * S);
    assert_int_equal(info.stride, 32);
    assert_int_equal(info.halvings, 5);
    assert_int_equal(info.late_samples, 0);
    assert_int_equal(info.skipped_samples, 0);
    /* At the start and the stop, and at each second: that of the stop may come before it. */
    assert_true(info.samples == (uint64_t)seconds + 1 || info.samples == (uint64_t)seconds + 2);
    assert_int_equal(run->row_count, (info.samples + 31) / 32);
    for (size_t i = 0; i < run->row_count; i++) {
        assert_int_equal(run->t_first[i], (int64_t)i * 32 * S);
        assert_true(run->row_samples[i] == 32 || i + 1 == run->row_count);
    }
    resmon_run_free(run);
}

static double sockets_of_run_of(int64_t seconds)
{
    resmon_monitor *monitor = start_with(&(resmon_monitor_options){.interval_ms = 1000});
    if (seconds > 0) {
        rm_condition_nap(seconds * S);
    }
    resmon_run *run = finish(monitor);
    double sockets = rm_run_fact_number(run, "machine", "sockets");
    resmon_run_free(run);
    return sockets;
}

/* Compared with a reading of this host, which may have none. */
TEST(the_topology_is_read_at_the_second_sample)
{
    struct rm_topology topology;
    struct rm_scratch scratch;
    struct rm_root root;
    assert_ok(rm_root_open(&root, NULL));
    assert_ok(rm_scratch_init(&scratch));
    rm_topology_read(&topology, &root, &scratch);
    rm_scratch_free(&scratch);
    rm_root_close(&root);
    assert_true(isnan(sockets_of_run_of(0)));
    double sockets = sockets_of_run_of(2);
    assert_true(sockets == topology.sockets || (isnan(sockets) && isnan(topology.sockets)));
}

/* The machine stands still, and goes on where it was: one sample tells of all deadlines that went
 * by, and the next one is on the grid. */
TEST(a_pause_is_counted_and_not_made_up_for)
{
    resmon_monitor *monitor = start_with(&(resmon_monitor_options){.interval_ms = 100});
    rm_condition_nap(950 * MS); /* 1 + 9 samples */
    rm_made_time_pass(60 * S);  /* over 600 deadlines, of which one is served */
    rm_condition_nap(100 * MS);
    resmon_run *run = finish(monitor);
    resmon_run_info info = info_of(run);
    assert_int_equal(info.late_samples, 599);
    assert_int_equal(info.samples, 1 + 9 + 1 + 1 + 1);
    assert_int_equal(info.duration_ns, 61050 * MS);
    assert_int_equal(run->t_first[10], 60950 * MS);
    assert_int_equal(run->t_first[11], 61000 * MS);
    resmon_run_free(run);
}

/* An hour back, and a night of suspend: the run lasted as long as it did, and says by how much the
 * time of day did not. */
TEST(a_wall_clock_that_is_set_moves_nothing)
{
    resmon_monitor *monitor = start_with(&(resmon_monitor_options){.interval_ms = 1000});
    rm_condition_nap(10 * S);
    rm_made_time_set_wall(-3600 * S);
    rm_condition_nap(10 * S);
    rm_made_time_set_wall(8 * 3600 * S);
    rm_condition_nap(10 * S);
    resmon_run *run = finish(monitor);
    resmon_run_info info = info_of(run);
    assert_int_equal(info.duration_ns, 30 * S);
    assert_int_equal(info.late_samples, 0);
    assert_true(info.samples == 31 || info.samples == 32);
    assert_true(rm_run_fact_number(run, "run", RM_FACT_CLOCK_STEP) == 7.0 * 3600.0 * 1e9);
    resmon_run_free(run);
}

/* Each sample takes 2 looks of 100 us: 20 % of a CPU at 1 ms, where 1 % is allowed. */
TEST(samples_that_cost_too_much_become_rarer)
{
    rm_made_time_look_costs(MS / 10);
    resmon_monitor *monitor =
        start_with(&(resmon_monitor_options){.interval_ms = 1, .max_overhead = 0.01});
    rm_condition_nap(60 * S);
    resmon_run *run = finish(monitor);
    resmon_run_info info = info_of(run);
    double share = (double)info.sampler_cpu_ns / (double)info.duration_ns;
    print_message("%llu samples, %llu skipped, %llu late: %.2f %% of a CPU\n",
                  (unsigned long long)info.samples, (unsigned long long)info.skipped_samples,
                  (unsigned long long)info.late_samples, 100.0 * share);
    assert_true(share > 0.005 && share <= 0.0101);
    assert_near((double)(info.samples + info.skipped_samples + info.late_samples), 60000.0, 60.0);
    resmon_run_free(run);
}

/* ---- sinks ------------------------------------------------------------------------------ */

struct shown {
    unsigned count;
    int64_t at_ns[64];
};

static resmon_status note_snapshot(void *context, const resmon_run *run)
{
    struct shown *shown = context;
    (void)run;
    shown->at_ns[shown->count++ % 64] = rm_clock_monotonic_ns() - MADE_TIME_BEGIN;
    return RESMON_OK;
}

/* The first early, then each in its time, for an hour. */
TEST(snapshots_come_in_their_time)
{
    struct shown shown = {0};
    const resmon_sink_ops ops = {
        .struct_size = sizeof ops, .snapshot = note_snapshot, .snapshot_interval_ms = 60000};
    resmon_monitor *monitor = NULL;
    const resmon_monitor_options options = {
        .struct_size = sizeof options, .interval_ms = 10000, .domains = RESMON_DOMAIN_PROCESS};
    assert_ok(resmon_monitor_new(&options, &monitor));
    assert_ok(resmon_monitor_add_sink(monitor, &ops, &shown));
    assert_ok(resmon_monitor_start(monitor));
    rm_condition_nap(3600 * S);
    resmon_run_free(finish(monitor));
    assert_int_equal(shown.count, 60); /* after 1 s, 61 s, ... 3541 s */
    for (unsigned i = 0; i < shown.count; i++) {
        assert_int_equal(shown.at_ns[i], (1 + 60 * (int64_t)i) * S);
    }
}

TEST_FILE(.before_each = made_time_begin, .after_each = made_time_end);
