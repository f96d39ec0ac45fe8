/* SPDX-License-Identifier: MIT */
/*
 * engine/cadence: a source is never read more often than it wants, and less often when it fails.
 */
#include "test.h"

#include "engine/cadence.h"

#define MS INT64_C(1000000)

/* Whether a source is read at each of the first samples, as a text of 'x' and '.'. */
static void show_readings(struct rm_schedule *schedule, const char *failures, char *text,
                          size_t samples)
{
    size_t reads = 0;
    for (uint64_t sample = 0; sample < samples; sample++) {
        text[sample] = rm_schedule_is_due(schedule, sample) ? 'x' : '.';
        if (text[sample] == 'x') {
            rm_schedule_note(schedule, sample, failures[reads] == 'f');
            reads += failures[reads] != '\0' ? 1 : 0;
        }
    }
    text[samples] = '\0';
}

TEST(a_source_has_its_own_least_interval)
{
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

TEST(a_source_may_come_early_at_first)
{
    char text[64];
    struct rm_schedule early = rm_schedule_new(20 * MS, MS);
    early.comes_early = true;
    show_readings(&early, "", text, 60);
    assert_string_equal(text, "xx.x...x.......x...............x...................x........");
    early = rm_schedule_new(20 * MS, MS);
    early.comes_early = true;
    rm_schedule_note_cost(&early, 50e3); /* 50 us: each 5 ms */
    show_readings(&early, "", text, 30);
    assert_string_equal(text, "x.....x......x.............x..");
    early = rm_schedule_new(20 * MS, MS);
    early.comes_early = true;
    rm_schedule_note_cost(&early, 1e9);
    show_readings(&early, "", text, 30);
    assert_string_equal(text, "x...................x.........");
}

TEST(failures_make_readings_rarer_and_success_restores_them)
{
    char text[64];
    struct rm_schedule schedule = rm_schedule_new(0, MS);
    show_readings(&schedule, "fff.", text, 18);
    assert_string_equal(text, "x.x...x.......xxxx");
    assert_int_equal(schedule.failures, 0);
}

TEST(the_back_off_is_bounded)
{
    struct rm_schedule schedule = rm_schedule_new(0, MS);
    uint64_t sample = 0;
    for (int i = 0; i < 1000; i++) {
        rm_schedule_note(&schedule, sample, true);
        assert_true(schedule.next - sample <= 64);
        sample = schedule.next;
    }
    assert_true(sample > 60000 && schedule.next - sample <= 64);
}

TEST(the_cost_is_a_moving_mean)
{
    struct rm_schedule schedule = rm_schedule_new(0, MS);
    rm_schedule_note_cost(&schedule, 800);
    assert_true(schedule.cost_ns == 800.0);
    rm_schedule_note_cost(&schedule, 1600);
    assert_true(schedule.cost_ns == 900.0);
    for (int i = 0; i < 100; i++) {
        rm_schedule_note_cost(&schedule, 0);
    }
    assert_true(schedule.cost_ns < 1.0);
}

/* Samples come less often: what was read rarely is read as often as before, what was read at each
 * sample still is. */
TEST(another_interval_leaves_the_period)
{
    struct rm_schedule each = rm_schedule_new(0, MS);
    struct rm_schedule slow = rm_schedule_new(100 * MS, MS);
    struct rm_schedule stretched = rm_schedule_new(0, MS);
    stretched.every = 64;
    slow.next = 1100;
    rm_schedule_set_interval(&each, MS, 8 * MS, 1000);
    rm_schedule_set_interval(&slow, MS, 8 * MS, 1000);
    rm_schedule_set_interval(&stretched, MS, 8 * MS, 1000);
    assert_int_equal(each.every, 1);
    assert_int_equal(slow.every, 13);
    assert_int_equal(slow.next, 1013); /* and not 92 samples later than it was to be */
    assert_int_equal(stretched.every, 8);
    rm_schedule_set_interval(&slow, 8 * MS, MS, 1000);
    rm_schedule_set_interval(&stretched, 8 * MS, MS, 1000);
    assert_int_equal(slow.every, 100);
    assert_int_equal(stretched.every, 64);
    rm_schedule_set_interval(&stretched, MS, 86400000 * MS, 1000);
    assert_int_equal(stretched.every, 1);
}
