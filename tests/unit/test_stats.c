/* SPDX-License-Identifier: MIT */
/*
 * store/stats, store/bucket: what one reading adds, by hand-computed examples.
 */
#include "test.h"

#include "store/stats.h"

#define S INT64_C(1000000000)

static const struct rm_counting gauge = {.is_counter = 0};
static const struct rm_counting interval_gauge = {.is_interval = 1};
static const struct rm_counting counter = {.is_counter = 1};
static const struct rm_counting growth = {.is_counter = 1, .is_interval = 1};
static const struct rm_counting counter_32 = {.is_counter = 1, .wrap = 4294967296.0};

TEST(nothing_read_is_nothing_known)
{
    struct rm_stats stats = rm_stats_empty();
    assert_int_equal(stats.n, 0);
    assert_true(isnan(stats.first) && isnan(stats.all.last) && isnan(stats.all.min));
    assert_true(isnan(rm_cell_mean(&stats.all, 0)) && isnan(rm_cell_mean(&stats.all, 1)));
    (void)rm_stats_take(&stats, gauge, NAN, 5 * S);
    (void)rm_stats_take(&stats, gauge, INFINITY, 6 * S);
    (void)rm_stats_take(&stats, gauge, -INFINITY, 7 * S);
    assert_int_equal(stats.n, 0);
    assert_true(stats.t_last == RM_NEVER && stats.all.weight == 0.0);
}

TEST(a_gauge_weighs_the_time_since_its_reading_before)
{
    struct rm_stats stats = rm_stats_empty();
    (void)rm_stats_take(&stats, gauge, 10.0, 3 * S);
    assert_true(stats.all.weight == 0.0);
    assert_true(rm_cell_mean(&stats.all, 0) == 10.0); /* read once: that reading */
    (void)rm_stats_take(&stats, gauge, 20.0, 4 * S);
    (void)rm_stats_take(&stats, gauge, NAN, 6 * S);
    struct rm_reading reading = rm_stats_take(&stats, gauge, 50.0, 8 * S);
    assert_true(reading.cell.weight == 4.0 && reading.cell.sum == 200.0);
    assert_true(reading.quantity == 50.0);
    assert_int_equal(stats.n, 3);
    assert_true(stats.first == 10.0 && stats.all.last == 50.0);
    assert_true(stats.all.min == 10.0 && stats.all.max == 50.0);
    assert_true(stats.all.sum == 220.0 && stats.all.weight == 5.0);
    assert_true(rm_cell_mean(&stats.all, 0) == 44.0);
}

TEST(an_interval_gauge_weighs_from_the_attempt_before)
{
    struct rm_stats stats = rm_stats_empty();
    /* The first reading of a share has no interval yet: NaN; the second is of the whole one. */
    (void)rm_stats_take(&stats, interval_gauge, NAN, 1 * S);
    (void)rm_stats_take(&stats, interval_gauge, 80.0, 3 * S);
    assert_int_equal(stats.n, 1);
    assert_true(stats.all.weight == 2.0 && stats.all.sum == 160.0);
    assert_true(stats.over[0] == 2.0 && stats.over[2] == 2.0 && stats.over[3] == 0.0);
    /* After a reading, a gap belongs to the next one. */
    (void)rm_stats_take(&stats, interval_gauge, NAN, 4 * S);
    (void)rm_stats_take(&stats, interval_gauge, 20.0, 7 * S);
    assert_true(stats.all.weight == 6.0 && stats.all.sum == 240.0);
    /* A gauge of the moment has no such interval. */
    struct rm_stats plain = rm_stats_empty();
    (void)rm_stats_take(&plain, gauge, NAN, 1 * S);
    (void)rm_stats_take(&plain, gauge, 80.0, 3 * S);
    assert_true(plain.all.weight == 0.0);
}

TEST(time_at_or_over_the_limits)
{
    struct rm_stats stats = rm_stats_empty();
    static const double values[] = {0.0, 19.999, 20.0, 40.0, 79.0, 80.0, 99.9, 100.0, 100.1};
    for (int i = 0; i < 9; i++) {
        (void)rm_stats_take(&stats, gauge, values[i], i * S);
    }
    assert_true(stats.over[0] == 7.0 && stats.over[1] == 6.0);
    assert_true(stats.over[2] == 4.0 && stats.over[3] == 2.0);
    assert_true(rm_over_limits[0] == 20.0 && rm_over_limits[3] == 100.0);
}

TEST(a_counter_counts_from_the_start)
{
    struct rm_stats stats = rm_stats_empty();
    struct rm_reading first = rm_stats_take(&stats, counter, 1000.0, 0);
    assert_true(first.cell.last == 0.0 && isnan(first.quantity) && isnan(first.cell.min));
    assert_true(isnan(rm_cell_mean(&stats.all, 1))); /* no rate of one reading */
    (void)rm_stats_take(&stats, counter, 1030.0, 2 * S);
    struct rm_reading third = rm_stats_take(&stats, counter, 1040.0, 3 * S);
    assert_true(third.cell.last == 40.0 && third.cell.sum == 10.0 && third.quantity == 10.0);
    assert_true(stats.first == 0.0 && stats.all.last == 40.0);
    assert_true(stats.all.min == 10.0 && stats.all.max == 15.0); /* rates */
    assert_near(rm_cell_mean(&stats.all, 1), 40.0 / 3.0, 1e-12);
    assert_int_equal(stats.resets, 0);
}

/* The first attempt gave nothing: what it had counted by the next one is of the run. */
TEST(a_growth_counts_from_the_first_attempt)
{
    struct rm_stats stats = rm_stats_empty();
    (void)rm_stats_take(&stats, growth, NAN, 1 * S);
    (void)rm_stats_take(&stats, growth, NAN, 2 * S);
    assert_true(stats.n == 0 && isnan(stats.all.last));
    struct rm_reading first = rm_stats_take(&stats, growth, 30.0, 3 * S);
    assert_true(first.cell.last == 30.0 && first.cell.sum == 30.0 && first.quantity == 15.0);
    (void)rm_stats_take(&stats, growth, 40.0, 4 * S);
    assert_true(stats.all.last == 40.0 && stats.all.sum == 40.0 && stats.all.weight == 3.0);
    assert_true(stats.all.min == 10.0 && stats.all.max == 15.0);
    struct rm_stats at_once = rm_stats_empty();
    (void)rm_stats_take(&at_once, growth, 0.0, 0);
    (void)rm_stats_take(&at_once, growth, 5.0, 1 * S);
    assert_true(at_once.all.last == 5.0 && at_once.all.weight == 1.0);
}

TEST(a_reset_is_counted_and_nothing_made_up)
{
    struct rm_stats stats = rm_stats_empty();
    (void)rm_stats_take(&stats, counter, 1e6, 0);
    (void)rm_stats_take(&stats, counter, 1e6 + 50.0, 1 * S);
    struct rm_reading reset = rm_stats_take(&stats, counter, 7.0, 2 * S);
    assert_true(reset.cell.last == 50.0 && reset.cell.sum == 0.0);
    /* Nor is the time before it measured as idle. */
    assert_true(reset.cell.weight == 0.0 && isnan(reset.quantity) && isnan(reset.cell.min));
    assert_int_equal(stats.resets, 1);
    (void)rm_stats_take(&stats, counter, 17.0, 3 * S);
    assert_true(stats.all.last == 60.0 && stats.all.sum == 60.0);
    assert_int_equal(stats.n, 4);
}

TEST(a_wrap_is_growth_and_no_reset)
{
    struct rm_stats stats = rm_stats_empty();
    (void)rm_stats_take(&stats, counter_32, 4294967295.0 - 99.0, 0);
    (void)rm_stats_take(&stats, counter_32, 50.0, 1 * S);
    assert_int_equal(stats.resets, 0);
    assert_true(stats.all.last == 150.0); /* 100 up to 2^32, 50 after */
    /* From the lower half, or of a counter that does not wrap, it is a reset. */
    (void)rm_stats_take(&stats, counter_32, 40.0, 2 * S);
    assert_int_equal(stats.resets, 1);
    assert_true(stats.all.last == 150.0);
    struct rm_stats wide = rm_stats_empty();
    (void)rm_stats_take(&wide, counter, 4294967295.0, 0);
    (void)rm_stats_take(&wide, counter, 50.0, 1 * S);
    assert_int_equal(wide.resets, 1);
}

TEST(a_gap_of_a_counter_is_made_up_for_by_the_next_reading)
{
    struct rm_stats stats = rm_stats_empty();
    (void)rm_stats_take(&stats, counter, NAN, 0);
    (void)rm_stats_take(&stats, counter, 100.0, 1 * S);
    struct rm_reading gap = rm_stats_take(&stats, counter, NAN, 2 * S);
    assert_true(isnan(gap.cell.last) && isnan(gap.quantity) && gap.cell.weight == 0.0);
    struct rm_reading reading = rm_stats_take(&stats, counter, 160.0, 4 * S);
    assert_true(reading.cell.last == 60.0 && reading.cell.weight == 3.0);
    assert_true(reading.quantity == 20.0);
    assert_int_equal(stats.n, 2);
}

TEST(no_time_between_readings_gives_no_rate)
{
    struct rm_stats stats = rm_stats_empty();
    (void)rm_stats_take(&stats, counter, 1.0, 5 * S);
    struct rm_reading same = rm_stats_take(&stats, counter, 4.0, 5 * S);
    assert_true(same.cell.last == 3.0 && same.cell.sum == 3.0 && same.cell.weight == 0.0);
    assert_true(isnan(same.quantity) && isnan(same.cell.max));
    struct rm_reading back = rm_stats_take(&stats, counter, 5.0, 4 * S); /* a clock that ran back */
    assert_true(back.cell.weight == 0.0 && isnan(back.quantity));
    assert_true(stats.all.last == 4.0);
    struct rm_stats level = rm_stats_empty();
    (void)rm_stats_take(&level, gauge, 1.0, 5 * S);
    (void)rm_stats_take(&level, gauge, 9.0, 5 * S);
    assert_true(level.all.max == 9.0 && level.all.weight == 0.0);
}

/* A sample that was asked for, 10 us after another: 1 read would be 100,000 a second. */
TEST(readings_almost_at_one_time_give_no_rate)
{
    struct rm_stats stats = rm_stats_empty();
    (void)rm_stats_take(&stats, counter, 0.0, 0);
    (void)rm_stats_take(&stats, counter, 10.0, S);
    struct rm_reading near = rm_stats_take(&stats, counter, 11.0, S + 10000);
    assert_true(isnan(near.quantity) && isnan(near.cell.max));
    assert_true(near.cell.last == 11.0 && near.cell.sum == 1.0 && near.cell.weight == 1e-5);
    (void)rm_stats_take(&stats, counter, 21.0, 2 * S + 10000);
    assert_true(stats.all.max == 10.0 && stats.all.last == 21.0);
}

/* Time waited, read a little after the sample's stamp: a second has no more than a second. */
TEST(a_rate_has_its_bound)
{
    static const struct rm_counting waited = {.is_counter = 1, .most_rate = 1.0};
    struct rm_stats stats = rm_stats_empty();
    (void)rm_stats_take(&stats, waited, 0.0, 0);
    assert_true(rm_stats_take(&stats, waited, 1.25, S).quantity == 1.0);
    assert_true(rm_stats_take(&stats, waited, 2.0, 2 * S).quantity == 0.75);
    assert_true(stats.all.max == 1.0 && stats.all.last == 2.0); /* nothing is lost */
    assert_true(rm_cell_mean(&stats.all, 1) == 1.0);
}

TEST(merging_knows_what_was_not_read)
{
    struct rm_cell empty = rm_cell_empty();
    struct rm_cell low = {.last = 1.0, .min = 1.0, .max = 1.0, .sum = 2.0, .weight = 2.0};
    struct rm_cell high = {.last = 9.0, .min = 8.0, .max = 9.0, .sum = 9.0, .weight = 1.0};
    struct rm_cell both = rm_cell_merge(&low, &high);
    assert_true(both.last == 9.0 && both.min == 1.0 && both.max == 9.0);
    assert_true(both.sum == 11.0 && both.weight == 3.0);
    struct rm_cell same = rm_cell_merge(&low, &empty);
    assert_true(same.last == 1.0 && same.min == 1.0 && same.max == 1.0 && same.sum == 2.0);
    same = rm_cell_merge(&empty, &low);
    assert_true(same.last == 1.0 && same.min == 1.0 && same.max == 1.0 && same.weight == 2.0);
    same = rm_cell_merge(&empty, &empty);
    assert_true(isnan(same.last) && isnan(same.min) && isnan(same.max) && same.sum == 0.0);
    struct rm_span early = {10, 20, 2}, late = {30, 40, 3};
    struct rm_span span = rm_span_merge(&early, &late);
    assert_true(span.t_first == 10 && span.t_last == 40 && span.n == 5);
}
