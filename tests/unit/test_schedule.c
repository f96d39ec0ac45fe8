/* SPDX-License-Identifier: MIT */
/*
 * engine/schedule: a source is never read more often than it wants, less often when it fails, and
 * all together cost no more than they may.
 */
#include "test.h"

#include "engine/schedule.h"

#define MS INT64_C(1000000)

/* Whether a source is read at each of the first samples, as a text of 'x' and '.'. */
static void show_readings(struct rm_schedule *schedule, const char *failures, char *text,
                          size_t samples)
{
    size_t reads = 0;
    for (uint64_t sample = 0; sample < samples; sample++) {
        text[sample] = rm_schedule_is_due(schedule, sample) ? 'x' : '.';
        if (text[sample] == 'x') {
            rm_schedule_note(schedule, sample, MS, failures[reads] == 'f');
            reads += failures[reads] != '\0' ? 1 : 0;
        }
    }
    text[samples] = '\0';
}

static void test_a_source_has_its_own_least_interval(void **state)
{
    (void)state;
    static const struct {
        int64_t least, interval;
        uint64_t every;
    } cases[] = {
        {0, 100 * MS, 1},          {100 * MS, 100 * MS, 1}, {101 * MS, 100 * MS, 2},
        {1000 * MS, 100 * MS, 10}, {30000 * MS, MS, 30000}, {1, 86400000 * MS, 1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct rm_schedule schedule = rm_schedule_new(cases[i].least, cases[i].interval);
        assert_int_equal(schedule.every, cases[i].every);
        assert_int_equal(schedule.least_every, cases[i].every);
        assert_true(rm_schedule_is_due(&schedule, 0)); /* the first sample reads everything */
    }
    char text[32];
    struct rm_schedule third = rm_schedule_new(3 * MS, MS);
    show_readings(&third, "", text, 10);
    assert_string_equal(text, "x..x..x..x");
}

static void test_failures_make_readings_rarer_and_success_restores_them(void **state)
{
    (void)state;
    char text[64];
    struct rm_schedule schedule = rm_schedule_new(0, MS);
    show_readings(&schedule, "fff.", text, 18);
    assert_string_equal(text, "x.x...x.......xxxx");
    assert_int_equal(schedule.failures, 0);
}

static void test_the_back_off_is_bounded(void **state)
{
    (void)state;
    struct rm_schedule schedule = rm_schedule_new(0, MS);
    uint64_t sample = 0;
    for (int i = 0; i < 1000; i++) {
        rm_schedule_note(&schedule, sample, MS, true);
        assert_true(schedule.next - sample <= 64);
        sample = schedule.next;
    }
    assert_true(sample > 60000 && schedule.next - sample <= 64);
}

static void test_the_cost_is_a_moving_mean(void **state)
{
    (void)state;
    struct rm_schedule schedule = rm_schedule_new(0, MS);
    rm_schedule_note(&schedule, 0, 800, false);
    assert_true(schedule.cost_ns == 800.0);
    rm_schedule_note(&schedule, 1, 1600, false);
    assert_true(schedule.cost_ns == 900.0);
    for (uint64_t i = 0; i < 100; i++) {
        rm_schedule_note(&schedule, 2 + i, 0, false);
    }
    assert_true(schedule.cost_ns < 1.0);
}

/* ---- balance: sources in larger structures, as the sampler has them -------------------------- */

struct source {
    struct rm_schedule schedule;
    int64_t cost_ns;
    uint64_t reads;
    char other[40];
};

#define SOURCES 4

static double share_of(const struct source *sources, int64_t interval_ns)
{
    double share = 0.0;
    for (int i = 0; i < SOURCES; i++) {
        share +=
            (double)sources[i].cost_ns / ((double)sources[i].schedule.every * (double)interval_ns);
    }
    return share;
}

static uint64_t sample_on(struct source *sources, uint64_t from, uint64_t count,
                          int64_t interval_ns, double bound)
{
    for (uint64_t sample = from; sample < from + count; sample++) {
        for (int i = 0; i < SOURCES; i++) {
            if (rm_schedule_is_due(&sources[i].schedule, sample)) {
                rm_schedule_note(&sources[i].schedule, sample, sources[i].cost_ns, false);
                sources[i].reads++;
            }
        }
        rm_schedule_balance(&sources[0].schedule, SOURCES, sizeof sources[0], interval_ns, bound);
    }
    return from + count;
}

static void test_costs_are_brought_below_the_bound_and_let_go_again(void **state)
{
    (void)state;
    const int64_t interval = 100 * MS;
    const double bound = 0.01;
    /* Cheap ones, a dear one, and one that only wants every third sample. */
    struct source sources[SOURCES] = {
        {.cost_ns = 20000}, {.cost_ns = 50 * MS}, {.cost_ns = 3 * MS}, {.cost_ns = 100000}};
    for (int i = 0; i < SOURCES; i++) {
        sources[i].schedule = rm_schedule_new(i == 2 ? 3 * interval : 0, interval);
    }
    assert_true(share_of(sources, interval) > bound);
    uint64_t sample = sample_on(sources, 0, 2000, interval, bound);
    assert_true(share_of(sources, interval) <= bound);
    assert_true(sources[1].schedule.every >= 64);   /* it is the dear one that yields, */
    assert_int_equal(sources[0].schedule.every, 1); /* not a cheap one */
    /* Steady: no source to and fro from sample to sample. */
    uint64_t every[SOURCES];
    for (int i = 0; i < SOURCES; i++) {
        every[i] = sources[i].schedule.every;
    }
    for (int k = 0; k < 200; k++) {
        sample = sample_on(sources, sample, 1, interval, bound);
        for (int i = 0; i < SOURCES; i++) {
            assert_int_equal(sources[i].schedule.every, every[i]);
        }
    }
    /* Costs fall: everything is read as often as it wants again, and no more often. */
    sources[1].cost_ns = 10000;
    sources[2].cost_ns = 10000;
    (void)sample_on(sources, sample, 20000, interval, bound);
    assert_int_equal(sources[1].schedule.every, 1);
    assert_int_equal(sources[2].schedule.every, 3);
    assert_true(share_of(sources, interval) <= bound);
}

static void test_over_a_long_time_readings_cost_no_more_than_the_bound(void **state)
{
    (void)state;
    const int64_t interval = 10 * MS;
    const double bound = 0.02;
    struct source sources[SOURCES] = {
        {.cost_ns = MS}, {.cost_ns = 2 * MS}, {.cost_ns = 4 * MS}, {.cost_ns = 8 * MS}};
    for (int i = 0; i < SOURCES; i++) {
        sources[i].schedule = rm_schedule_new(0, interval);
    }
    uint64_t sample = sample_on(sources, 0, 1000, interval, bound);
    double spent = 0.0;
    for (int i = 0; i < SOURCES; i++) {
        sources[i].reads = 0;
    }
    (void)sample_on(sources, sample, 100000, interval, bound);
    for (int i = 0; i < SOURCES; i++) {
        assert_true(sources[i].reads > 10); /* none is starved */
        spent += (double)sources[i].reads * (double)sources[i].cost_ns;
    }
    /* 1 %: where in its period each source was at both ends. */
    assert_true(spent <= 1.01 * bound * 100000.0 * (double)interval);
}

static void test_what_cannot_fit_is_stretched_without_end_or_overflow(void **state)
{
    (void)state;
    struct source sources[SOURCES] = {{.cost_ns = 0}};
    for (int i = 0; i < SOURCES; i++) {
        sources[i].schedule = rm_schedule_new(0, MS);
        sources[i].cost_ns = 3600000 * MS;
    }
    (void)sample_on(sources, 0, 10000, MS, 1e-9);
    for (int i = 0; i < SOURCES; i++) {
        assert_int_equal(sources[i].schedule.every, UINT64_C(1) << 20);
        assert_true(sources[i].schedule.next > 0);
    }
}

static void test_no_sources_are_no_trouble(void **state)
{
    (void)state;
    struct rm_schedule none = rm_schedule_new(0, MS);
    rm_schedule_balance(&none, 0, sizeof none, MS, 0.01);
    assert_int_equal(none.every, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_source_has_its_own_least_interval),
        cmocka_unit_test(test_failures_make_readings_rarer_and_success_restores_them),
        cmocka_unit_test(test_the_back_off_is_bounded),
        cmocka_unit_test(test_the_cost_is_a_moving_mean),
        cmocka_unit_test(test_costs_are_brought_below_the_bound_and_let_go_again),
        cmocka_unit_test(test_over_a_long_time_readings_cost_no_more_than_the_bound),
        cmocka_unit_test(test_what_cannot_fit_is_stretched_without_end_or_overflow),
        cmocka_unit_test(test_no_sources_are_no_trouble),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
