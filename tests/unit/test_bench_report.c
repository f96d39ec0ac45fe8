/* SPDX-License-Identifier: MIT */
/*
 * report/bench: a run that lies far from the others is said with its likely cause: each cause
 * alone, several, none, and figures that are as usual in it.
 */
#include "test.h"

#include "base/compiler.h"
#include "metric/metric.h"
#include "report/bench.h"
#include "run/record.h"

#define RUNS 10
#define SLOW 4 /* the run that takes longer */

/* Runs of one second, of which one takes two; a figure that is one value in it, and another in all
 * others. */
static void fill(struct rm_group *group, enum rm_figure_id figure, double usual, double in_slow)
{
    assert_ok(rm_group_begin(group, "made"));
    for (size_t i = 0; i < RUNS; i++) {
        assert_ok(rm_group_add_empty(group, (struct rm_group_run){0, 0}));
        assert_ok(rm_group_put(group, "", RM_FIGURE_wall, false,
                               (i == SLOW ? 2.0 : 1.0) + 0.001 * (double)i));
        assert_ok(rm_group_put(group, "", figure, false, i == SLOW ? in_slow : usual));
    }
}

static char said[4096];

static void keep(const struct rm_sentences *sentences, const char *text)
{
    size_t length = strlen(said);
    (void)sentences;
    (void)snprintf(said + length, sizeof said - length, "%s\n", text);
}

static const char *remarks(const struct rm_group *group)
{
    const struct rm_sentences sentences = {keep, NULL};
    said[0] = '\0';
    assert_ok(rm_bench_say_remarks(group, &sentences));
    return said;
}

TEST(causes)
{
    static const struct {
        enum rm_figure_id figure;
        double usual, in_slow;
        const char *text;
    } cases[] = {
        {RM_FIGURE_steal, 0.0, 0.9, ": the hypervisor kept the CPUs for 900.0 ms"},
        {RM_FIGURE_throttled, 0.0, 0.9, ": the CPU quota of its cgroup throttled it for 900.0 ms"},
        {RM_FIGURE_heat, 0.0, 1.5, ": heat slowed the processors down for 1.500 s"},
        {RM_FIGURE_clock, 3.6e9, 1.8e9, ": the CPU's clock was 1.800 GHz"},
        {RM_FIGURE_others, 0.02, 1.7, ": other programs took CPU time of 1.700 s"},
        {RM_FIGURE_from_storage, 0.0, 5e8, ": it read from storage 476.8 MiB"},
        {RM_FIGURE_clock, 1.8e9, 3.6e9, ""}, /* a faster clock makes nothing slow */
        {RM_FIGURE_heat, 0.5, 0.5, ""},
        {RM_FIGURE_heat, NAN, NAN, ""},
    };
    for (size_t i = 0; i < RM_ARRAY_LEN(cases); i++) {
        struct rm_group group;
        char wanted[256];
        fill(&group, cases[i].figure, cases[i].usual, cases[i].in_slow);
        (void)snprintf(wanted, sizeof wanted, "run %d took 2.004 s, far from the others%s\n",
                       SLOW + 1, cases[i].text);
        const char *text = remarks(&group);
        if (strncmp(text, wanted, strlen(wanted)) != 0) {
            fail_msg("not '%s': %s", wanted, text);
        }
        rm_group_free(&group);
    }
}

TEST(several_causes)
{
    struct rm_group group;
    fill(&group, RM_FIGURE_heat, 0.0, 1.5);
    for (size_t i = 0; i < RUNS; i++) { /* rows take values of runs that came before as unknown */
        group.run_count = i + 1;
        assert_ok(rm_group_put(&group, "", RM_FIGURE_clock, false, i == SLOW ? 1.8e9 : 3.6e9));
    }
    assert_non_null(strstr(remarks(&group),
                           "heat slowed the processors down for 1.500 s, the CPU's "
                           "clock was 1.800 GHz"));
    rm_group_free(&group);
}

/* All alike, and a few runs alone: nothing lies far away. */
TEST(no_outliers)
{
    struct rm_group group;
    assert_ok(rm_group_begin(&group, "made"));
    for (size_t i = 0; i < RUNS; i++) {
        assert_ok(rm_group_add_empty(&group, (struct rm_group_run){0, 0}));
        assert_ok(rm_group_put(&group, "", RM_FIGURE_wall, false, 1.0 + 0.001 * (double)i));
        assert_ok(rm_group_put(&group, "", RM_FIGURE_heat, false, (double)i));
    }
    assert_string_equal(remarks(&group), "");
    rm_group_free(&group);
}

static void add_column(struct resmon_run *run, enum rm_metric_id metric, double mean, double growth)
{
    resmon_column *column = &run->columns[run->column_count++];
    rm_record_clear(RM_RECORD_statistics, column);
    column->metric = rm_metric_name(rm_metric_of(metric));
    column->instance = "";
    column->n = 3;
    column->mean = mean;
    column->integral = growth;
}

/* The clock of its own time on CPUs says more than that of the machine. */
TEST(clock_and_heat_of_a_run)
{
    struct resmon_run *run = rm_run_new();
    assert_non_null(run);
    run->columns = rm_arena_alloc(&run->strings, 3, sizeof *run->columns);
    assert_non_null(run->columns);
    assert_true(isnan(rm_run_figures_of(run).clock_hz));
    assert_true(isnan(rm_run_figures_of(run).heat_s));
    add_column(run, RM_NODE_CPU_FREQUENCY_MAX, 3.6e9, NAN);
    add_column(run, RM_NODE_CPU_THROTTLED_TIME, NAN, 1.5);
    assert_near(rm_run_figures_of(run).clock_hz, 3.6e9, 1.0);
    assert_near(rm_run_figures_of(run).heat_s, 1.5, 1e-9);
    add_column(run, RM_PERF_CLOCK, 2.4e9, NAN);
    assert_near(rm_run_figures_of(run).clock_hz, 2.4e9, 1.0);
    rm_run_free(run);
}
