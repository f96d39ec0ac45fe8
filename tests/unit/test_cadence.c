/* SPDX-License-Identifier: MIT */
/*
 * engine/cadence: what sampling costs stays below the bound, whatever costs it: one dear source,
 * many cheap ones, or the waking of the thread; and everything comes back when it costs less.
 */
#include "test.h"

#include "engine/cadence.h"

#define MS INT64_C(1000000)
#define US INT64_C(1000)

#define SOURCES 4

/* Sources in larger structures, as the sampler has them. */
struct source {
    struct rm_schedule schedule;
    int64_t cost_ns;
    uint64_t reads;
    char other[40];
};

struct machine {
    struct source sources[SOURCES];
    struct rm_cadence cadence;
    int64_t sample_ns; /* what a sample costs beside its sources */
    int64_t now_ns;
    uint64_t samples;
    double spent_ns;
};

static struct rm_schedules schedules_of(struct machine *machine)
{
    return (struct rm_schedules){&machine->sources[0].schedule, SOURCES,
                                 sizeof machine->sources[0]};
}

static struct machine made(int64_t tick_ns, double bound, int64_t sample_ns,
                           const int64_t costs_ns[SOURCES])
{
    struct machine machine = {.cadence = rm_cadence_new(tick_ns, bound), .sample_ns = sample_ns};
    for (int i = 0; i < SOURCES; i++) {
        machine.sources[i].schedule = rm_schedule_new(0, tick_ns);
        machine.sources[i].cost_ns = costs_ns[i];
    }
    return machine;
}

/* As the sampler does it, for a time. */
static void run_for(struct machine *machine, int64_t time_ns)
{
    const struct rm_schedules schedules = schedules_of(machine);
    int64_t end_ns = machine->now_ns + time_ns;
    machine->spent_ns = 0.0;
    for (; machine->now_ns < end_ns; machine->now_ns += rm_cadence_interval_ns(&machine->cadence)) {
        for (int i = 0; i < SOURCES; i++) {
            struct source *source = &machine->sources[i];
            if (rm_schedule_is_due(&source->schedule, machine->samples)) {
                rm_schedule_note(&source->schedule, machine->samples, false);
                rm_schedule_note_cost(&source->schedule, (double)source->cost_ns);
                machine->spent_ns += (double)source->cost_ns;
                source->reads++;
            }
        }
        machine->spent_ns += (double)machine->sample_ns;
        machine->samples++;
        rm_cadence_note(&machine->cadence, machine->sample_ns);
        rm_cadence_balance(&machine->cadence, &schedules, machine->samples);
    }
}

static double share_over(struct machine *machine, int64_t time_ns)
{
    run_for(machine, time_ns);
    return machine->spent_ns / (double)time_ns;
}

/* 46 us at every millisecond would be 4.6 % of a CPU. */
TEST(46_us_at_1_ms)
{
    static const int64_t splits[][SOURCES + 1] = {
        {0, 46 * US, 0, 0, 0},                        /* one source */
        {46 * US, 0, 0, 0, 0},                        /* waking and keeping */
        {32 * US, 8 * US, 4 * US, 1 * US, 1 * US},    /* as it is */
        {6 * US, 10 * US, 10 * US, 10 * US, 10 * US}, /* sources alike */
    };
    for (size_t i = 0; i < sizeof splits / sizeof splits[0]; i++) {
        struct machine machine = made(MS, 0.01, splits[i][0], &splits[i][1]);
        run_for(&machine, 1000 * MS);
        double share = share_over(&machine, 10000 * MS);
        assert_true(share <= 0.01);
        assert_true(share > 0.004); /* and not for nothing */
        uint64_t every = machine.cadence.every;
        run_for(&machine, 1000 * MS);
        assert_int_equal(machine.cadence.every, every); /* steady */
    }
}

/* What fits is not touched. */
TEST(nothing_is_stretched_below_the_bound)
{
    static const int64_t costs[SOURCES] = {20 * US, 30 * US, 10 * US, 100 * US};
    struct machine machine = made(100 * MS, 0.01, 40 * US, costs);
    run_for(&machine, 100000 * MS);
    assert_int_equal(machine.cadence.every, 1);
    assert_int_equal(machine.samples, 1000);
    for (int i = 0; i < SOURCES; i++) {
        assert_int_equal(machine.sources[i].reads, 1000);
    }
}

/* A source that is dearer than all else yields by itself, and the others come at every sample. */
TEST(the_dear_one_yields)
{
    static const int64_t costs[SOURCES] = {20 * US, 50 * MS, 10 * US, 10 * US};
    struct machine machine = made(100 * MS, 0.01, 40 * US, costs);
    run_for(&machine, 1000000 * MS);
    assert_int_equal(machine.cadence.every, 1);
    assert_true(machine.sources[1].schedule.every >= 64);
    assert_int_equal(machine.sources[0].schedule.every, 1);
    assert_true(share_over(&machine, 1000000 * MS) <= 0.01);
    assert_true(machine.sources[1].reads > 50); /* it is not starved */
    /* It gets cheap: it is read at each sample again. */
    machine.sources[1].cost_ns = 10 * US;
    run_for(&machine, 10000000 * MS);
    assert_int_equal(machine.sources[1].schedule.every, 1);
}

/* A source keeps its own least interval at any cadence. */
TEST(least_intervals_hold_at_any_pace)
{
    static const int64_t costs[SOURCES] = {5 * US, 20 * US, 5 * US, 5 * US};
    struct machine machine = made(MS, 0.01, 30 * US, costs);
    machine.sources[1].schedule = rm_schedule_new(100 * MS, MS);
    run_for(&machine, 10000 * MS);
    assert_true(machine.cadence.every > 1);
    assert_true(machine.sources[1].reads <= 101 && machine.sources[1].reads > 80);
    machine.sample_ns = 0;
    machine.sources[0].cost_ns = machine.sources[2].cost_ns = machine.sources[3].cost_ns = 1;
    run_for(&machine, 10000 * MS);
    assert_int_equal(machine.cadence.every, 1); /* all is cheap now */
    machine.sources[1].reads = 0;
    run_for(&machine, 10000 * MS);
    assert_true(machine.sources[1].reads <= 101 && machine.sources[1].reads > 98);
}

/* Threads that call sinks count as well, but cannot stop the samples. */
TEST(other_threads_count)
{
    static const int64_t costs[SOURCES] = {10 * US, 10 * US, 10 * US, 10 * US};
    struct machine machine = made(10 * MS, 0.01, 20 * US, costs);
    run_for(&machine, 1000 * MS);
    assert_int_equal(machine.cadence.every, 1); /* 0.6 % */
    for (int i = 0; i < 1000; i++) {
        rm_cadence_note_others(&machine.cadence, 600 * US, 100 * MS); /* 0.6 % more */
    }
    assert_near(machine.cadence.others, 0.006, 1e-5);
    assert_true(share_over(&machine, 10000 * MS) <= 0.0051);
    uint64_t every = machine.cadence.every;
    assert_true(every > 1);
    for (int i = 0; i < 1000; i++) {
        rm_cadence_note_others(&machine.cadence, 90 * MS, 100 * MS);
    }
    run_for(&machine, 10000 * MS);
    assert_int_equal(machine.cadence.every, every);
    /* A burst of 50 ms, as of a document, is spread over seconds. */
    struct machine calm = made(100 * MS, 0.01, 20 * US, costs);
    rm_cadence_note_others(&calm.cadence, 50 * MS, 100 * MS);
    assert_true(calm.cadence.others < 0.006);
    rm_cadence_note_others(&calm.cadence, 0, 0);
    rm_cadence_note_others(&calm.cadence, -5, 100 * MS);
    assert_true(calm.cadence.others < 0.006);
}

TEST(what_cannot_fit_is_stretched_without_overflow)
{
    static const int64_t costs[SOURCES] = {3600000 * MS, 3600000 * MS, 1, 0};
    struct machine machine = made(86400000 * MS, 1e-9, 3600000 * MS, costs);
    const struct rm_schedules schedules = schedules_of(&machine);
    for (int i = 0; i < SOURCES; i++) {
        rm_schedule_note_cost(&machine.sources[i].schedule, (double)costs[i]);
    }
    rm_cadence_note(&machine.cadence, machine.sample_ns);
    for (uint64_t sample = 0; sample < 10000; sample++) {
        rm_cadence_balance(&machine.cadence, &schedules, sample);
        assert_true(machine.cadence.every >= 1);
        assert_true(rm_cadence_interval_ns(&machine.cadence) > 0);
    }
}

TEST(no_sources_are_no_trouble)
{
    struct rm_cadence cadence = rm_cadence_new(MS, 0.01);
    const struct rm_schedules none = {NULL, 0, sizeof(struct source)};
    rm_cadence_balance(&cadence, &none, 1);
    assert_int_equal(cadence.every, 1);
    rm_cadence_note(&cadence, 46 * US);
    for (uint64_t sample = 0; sample < 100; sample++) {
        rm_cadence_balance(&cadence, &none, sample);
    }
    assert_true(cadence.every >= 5 && cadence.every <= 8);
}
