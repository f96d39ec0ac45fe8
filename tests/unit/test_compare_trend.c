/* SPDX-License-Identifier: MIT */
/*
 * compare/changes and compare/trend: changes of the annual flow of the Nile (G. W. Cobb: The
 * Problem of the Nile, 1978; the data as R has them) and of made series, as
 * signal-processing-algorithms 2.1.6 finds them; false alarms and power with made noise; series of
 * commands and machines.
 */
#include "test.h"

#include "base/alloc.h"
#include "base/compiler.h"
#include "compare/trend.h"

static const double nile[] = {
    1120, 1160, 963, 1210, 1160, 1160, 813,  1230, 1370, 1140, 995,  935,  1110, 994,  1020,
    960,  1180, 799, 958,  1140, 1100, 1210, 1150, 1250, 1260, 1220, 1030, 1100, 774,  840,
    874,  694,  940, 833,  701,  916,  692,  1020, 1050, 969,  831,  726,  456,  824,  702,
    1120, 1100, 832, 764,  821,  768,  845,  864,  862,  698,  845,  744,  796,  1040, 759,
    781,  865,  845, 944,  984,  897,  822,  1010, 771,  676,  649,  846,  812,  742,  801,
    1040, 860,  874, 848,  890,  744,  749,  838,  1050, 918,  986,  797,  923,  975,  815,
    1020, 906,  901, 1170, 912,  746,  919,  718,  714,  740};

/* ---- changes ------------------------------------------------------------------------------ */

static size_t find(const double *values, size_t count, size_t places[16])
{
    struct rm_change *changes;
    size_t found;
    assert_ok(rm_changes_find((struct rm_values){values, count}, &changes, &found));
    for (size_t i = 0; i < found && i < 16; i++) {
        places[i] = changes[i].at;
        assert_true(changes[i].p > 0.0 && changes[i].p <= RM_CHANGES_ALPHA);
    }
    rm_free(changes);
    return found;
}

TEST(nile)
{
    size_t places[16];
    assert_int_equal(find(nile, RM_ARRAY_LEN(nile), places), 1);
    assert_int_equal(places[0], 28); /* 1899, after 1871 + 28 years */
}

static double wave(size_t i)
{
    return ((double)(i * 7919 % 13) - 6.0) * 0.5;
}

TEST(made_series)
{
    double levels[37], plain[37], spikes[37];
    size_t places[16];
    for (size_t i = 0; i < 37; i++) {
        levels[i] = (i < 15 ? 100.0 : i < 25 ? 110.0 : 95.0) + wave(i);
        plain[i] = 100.0 + wave(i);
        spikes[i] = plain[i] + (i == 9 || i == 23 ? 40.0 : 0.0);
    }
    assert_int_equal(find(levels, 37, places), 2);
    assert_int_equal(places[0], 15);
    assert_int_equal(places[1], 25);
    assert_int_equal(find(plain, 37, places), 0);
    assert_int_equal(find(spikes, 37, places), 0); /* a benchmark of a bad day is no change */
}

TEST(short_and_even_series)
{
    static const double even[20] = {0.0}, step[6] = {1, 1, 1, 2, 2, 2};
    double exact[24];
    size_t places[16];
    for (size_t count = 0; count <= 20; count++) {
        assert_int_equal(find(even, count, places), 0);
    }
    assert_int_equal(find(step, 6, places), 0); /* of 20 orders two are like this */
    for (size_t i = 0; i < 24; i++) {
        exact[i] = i < 21 ? 4096.0 : 8192.0;
    }
    assert_int_equal(find(exact, 24, places), 1); /* the last three: one of 2024 */
    assert_int_equal(places[0], 21);
    assert_int_equal(find(exact, 23, places), 0); /* two may be chance */
}

static uint64_t seed = 3;

static double uniform(void)
{
    uint64_t z = seed += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return ((double)((z ^ (z >> 31)) >> 11) + 0.5) * 0x1p-53;
}

/* The sum of twelve is nearly normal. */
static double normal(void)
{
    double sum = -6.0;
    for (size_t i = 0; i < 12; i++) {
        sum += uniform();
    }
    return sum;
}

/* Of 400 series without a change at most 4 should have one; the bound is where the binomial
 * distribution leaves a thousandth. */
TEST(false_alarms)
{
    size_t places[16], alarms = 0;
    for (size_t i = 0; i < 400; i++) {
        double values[30];
        for (size_t k = 0; k < 30; k++) {
            double noise = normal();
            values[k] = i % 2 == 0 ? 1.0 + 0.03 * noise : 1.0 + 0.05 * noise * noise; /* skewed */
        }
        alarms += find(values, 30, places) > 0 ? 1 : 0;
    }
    print_message("%zu of 400 series of 30 have a change that is none\n", alarms);
    assert_true(alarms <= 12);
}

TEST(power)
{
    size_t places[16], found = 0;
    for (size_t i = 0; i < 200; i++) {
        double values[30];
        for (size_t k = 0; k < 30; k++) {
            values[k] = (k < 20 ? 1.0 : 1.05) * (1.0 + 0.02 * normal());
        }
        size_t count = find(values, 30, places);
        found += count > 0 && places[0] >= 19 && places[0] <= 21 ? 1 : 0;
    }
    print_message("5 %% more at 2 %% noise is found in %zu of 200 series, within one benchmark\n",
                  found);
    assert_true(found >= 160);
}

/* ---- trends ------------------------------------------------------------------------------- */

/* A benchmark with the wall time of four runs. */
static void make(struct rm_groups *groups, const char *name, const char *cpu, double wall_s,
                 int64_t realtime_ns)
{
    struct rm_group *group = rm_groups_add(groups, name);
    assert_non_null(group);
    for (int i = 0; i < 4; i++) {
        const struct rm_group_machine machine = {cpu, "performance", "6.1", "host", 2.0, 1e9};
        assert_ok(rm_group_add_empty(group, (struct rm_group_run){0, 0}));
        assert_ok(rm_group_note_machine(group, &machine));
        assert_ok(rm_group_put(group, "", RM_FIGURE_wall, false, wall_s * (1.0 + 0.001 * i)));
        assert_ok(rm_group_put(group, "", RM_FIGURE_steal, false, 0.0)); /* not followed */
        assert_ok(rm_group_put(group, "train", RM_FIGURE_wall, false, wall_s / 2.0));
        assert_ok(rm_group_put(group, "train", RM_FIGURE_self, false, 0.0));
    }
    group->realtime_ns = realtime_ns;
}

TEST(series)
{
    enum { COUNT = 16 };
    struct rm_groups groups[COUNT] = {{.count = 0}};
    struct rm_trend trend = {.count = 0};
    char label[8];
    for (size_t i = 0; i < COUNT; i++) { /* the newest first */
        size_t day = COUNT - i;
        make(&groups[i], "job", "Xeon", day > 8 ? 1.2 : 1.0 + 0.01 * (double)(day % 3),
             (int64_t)day);
        (void)snprintf(label, sizeof label, "day%zu", day);
        assert_ok(rm_trend_add(&trend, label, &groups[i]));
    }
    make(&groups[3], "job", "EPYC", 9.0, 13); /* another machine, in one of them */
    make(&groups[4], "other", "Xeon", 5.0, 12);
    for (int again = 0; again < 2; again++) {
        assert_ok(rm_trend_make(&trend));
        assert_int_equal(trend.series_count, 6);
        assert_int_equal(trend.machines, 2);
        assert_string_equal(trend.documents[0].label, "day1");
        const struct rm_trend_series *wall = &trend.series[0];
        assert_int_equal(wall->count, COUNT);
        assert_int_equal(wall->change_count, 1);
        assert_string_equal(trend.documents[wall->points[wall->changes[0].at].document].label,
                            "day9");
        assert_near(wall->changes[0].after, 1.2 * 1.0015, 1e-9);
        assert_near(wall->changes[0].shift.value, 0.19 * 1.0015, 0.011);
        assert_string_equal(trend.series[1].path, "train");
        assert_int_equal(trend.series[2].count + trend.series[4].count, 2);
    }
    rm_trend_free(&trend);
    for (size_t i = 0; i < COUNT; i++) {
        rm_groups_free(&groups[i]);
    }
}

/* More scopes than there may be series: those that came first go on, and the others are counted. */
TEST(there_is_a_bound_to_series)
{
    struct rm_groups groups[2] = {{.count = 0}};
    struct rm_trend trend = {.count = 0};
    for (int i = 0; i < 2; i++) {
        struct rm_group *group = rm_groups_add(&groups[i], "job");
        assert_non_null(group);
        assert_ok(rm_group_add_empty(group, (struct rm_group_run){0, 0}));
        for (unsigned k = 0; k < RM_TREND_SERIES + 8; k++) {
            char path[16];
            (void)snprintf(path, sizeof path, "s%u", k);
            assert_ok(rm_group_put(group, path, RM_FIGURE_wall, false, 1.0));
        }
        assert_ok(rm_trend_add(&trend, "one", &groups[i]));
    }
    assert_ok(rm_trend_make(&trend));
    assert_int_equal(trend.series_count, RM_TREND_SERIES);
    assert_int_equal(trend.series[0].count, 2);
    assert_int_equal(trend.series[RM_TREND_SERIES - 1].count, 2);
    assert_int_equal(trend.left_out, 16);
    rm_trend_free(&trend);
    rm_groups_free(&groups[0]);
    rm_groups_free(&groups[1]);
}

/* Other governors choose other frequencies; what is not known differs from nothing. */
TEST(machines)
{
    char text[256];
    const struct rm_group_machine one = {"Xeon", "performance", "6.1", "a", 2.0, 1e9};
    struct rm_group_machine other = one;
    other.host = "b";
    assert_true(rm_group_is_same_machine(&one, &other, text, sizeof text));
    other.governor = "powersave";
    assert_false(rm_group_is_same_machine(&one, &other, text, sizeof text));
    assert_string_equal(text, "CPU frequency governor performance and powersave");
    other.governor = "";
    assert_true(rm_group_is_same_machine(&one, &other, text, sizeof text));
}

/* Where one has no time, they are as they came. */
TEST(order_without_times)
{
    struct rm_groups groups[2] = {{.count = 0}};
    struct rm_trend trend = {.count = 0};
    make(&groups[0], "job", "Xeon", 1.0, 5);
    make(&groups[1], "job", "Xeon", 1.0, 0);
    assert_ok(rm_trend_add(&trend, "first", &groups[0]));
    assert_ok(rm_trend_add(&trend, "second", &groups[1]));
    assert_ok(rm_trend_make(&trend));
    assert_string_equal(trend.documents[0].label, "first");
    rm_trend_free(&trend);
    rm_groups_free(&groups[0]);
    rm_groups_free(&groups[1]);
}
