/* SPDX-License-Identifier: MIT */
/*
 * <resmon/baseline.h>: made runs of known power and noise.  What the interval promises, what is
 * left out, figures by hand, and words.
 */
#include "test.h"

#include <unistd.h>

#include "base/compiler.h"
#include "format/json.h"
#include "made_table.h"
#include "metric/metric.h"
#include "random.h"
#include "run/energy.h"
#include "run/record.h"
#include "run/run.h"

#define RAM_W 5.0

struct spec {
    double cpu_w, noise_w, memory; /* of the noise, from one sample to the next: AR(1) */
    double seconds, interval_s;
    double drift_w;   /* of this run as a whole */
    uint64_t every;   /* the processors' counter is read at every k-th sample; 0: 1 */
    int32_t cpu_how;  /* RESMON_PROVENANCE_*; 0: measured */
    const char *host; /* NULL: "n1" */
    double g_per_kwh; /* 0: 100 */
    bool has_no_ram;
    bool has_no_energy;
};

static void add_facts(struct resmon_run *run, const struct spec *spec)
{
    char number[32];
    (void)snprintf(number, sizeof number, "%.17g", spec->g_per_kwh > 0.0 ? spec->g_per_kwh : 100.0);
    const struct rm_fact facts[] = {
        {"machine", "host_name", spec->host != NULL ? spec->host : "n1", RM_FACT_TEXT},
        {"energy", "pue", "1.5", RM_FACT_NUMBER},
        {"energy", "wue", "0", RM_FACT_NUMBER},
        {"energy", "basis", "4", RM_FACT_NUMBER},
        {"energy", "year", "2024", RM_FACT_NUMBER},
        {"energy", "place", "Somewhere", RM_FACT_TEXT},
        {"energy", "source", "", RM_FACT_TEXT},
        {"energy", "g_per_kwh", rm_arena_text(&run->strings, number, strlen(number)),
         RM_FACT_NUMBER},
    };
    size_t count = RM_ARRAY_LEN(facts) - (spec->has_no_energy ? 1 : 0);
    run->facts = rm_arena_alloc(&run->strings, count, sizeof *run->facts);
    memcpy(run->facts, facts, count * sizeof *facts);
    run->fact_count = count;
}

static void add_columns(struct resmon_run *run, const struct spec *spec)
{
    static const char *const names[] = {"node.energy.cpu", "node.energy.ram"};
    static const char *const sources[] = {"energy_cpu", "energy_ram"};
    size_t columns = spec->has_no_ram ? 1 : 2;
    size_t rows = (size_t)(spec->seconds / spec->interval_s + 0.5) + 1;
    made_table(run, 2, rows);
    run->sources = rm_arena_alloc(&run->strings, 2, sizeof *run->sources);
    run->column_count = run->source_count = columns;
    for (size_t c = 0; c < columns; c++) {
        run->columns[c] = (resmon_column){.metric = rm_metric_own_text(names[c]),
                                          .unit = "J",
                                          .instance = "",
                                          .source = sources[c],
                                          .kind = RESMON_COUNTER};
        rm_record_clear(RM_RECORD_statistics, &run->columns[c]);
        run->columns[c].n = rows;
        run->columns[c].duration_s = spec->seconds;
        run->sources[c] = (resmon_run_source){
            .name = sources[c], .reason = "", .provenance = RESMON_PROVENANCE_MEASURED};
    }
    run->sources[0].provenance = spec->cpu_how != 0 ? spec->cpu_how : RESMON_PROVENANCE_MEASURED;
    run->sources[0].reason = spec->cpu_how == RESMON_PROVENANCE_MODELLED ? "a model: 65 W" : "";
}

static void add_rows(struct resmon_run *run, const struct spec *spec, struct random *random)
{
    double cpu_j = 0.0, seen_j = 0.0, noise_w = spec->noise_w * random_normal(random);
    uint64_t every = spec->every > 0 ? spec->every : 1;
    for (size_t row = 0; row < run->row_count; row++) {
        double t = (double)row * spec->interval_s;
        bool is_read = row % every == 0 || row + 1 == run->row_count;
        run->t_first[row] = run->t_last[row] = (int64_t)(t * 1e9 + 0.5);
        run->row_samples[row] = 1;
        if (row > 0) {
            cpu_j += (spec->cpu_w + spec->drift_w + noise_w) * spec->interval_s;
            noise_w = spec->memory * noise_w + sqrt(1.0 - spec->memory * spec->memory) *
                                                   spec->noise_w * random_normal(random);
        }
        seen_j = is_read ? cpu_j : seen_j;
        for (int kind = 0; kind < RM_SERIES_KINDS; kind++) {
            rm_run_series(run, 0, kind)[row] = seen_j;
            if (run->column_count > 1) {
                rm_run_series(run, 1, kind)[row] = RAM_W * t;
            }
        }
    }
    run->columns[0].last = cpu_j;
    if (run->column_count > 1) {
        run->columns[1].last = RAM_W * spec->seconds;
    }
}

static struct resmon_run *made(struct spec spec, struct random *random)
{
    struct random none = {1};
    struct resmon_run *run = rm_run_new();
    assert_non_null(run);
    spec.interval_s = spec.interval_s > 0.0 ? spec.interval_s : 0.1;
    run->info.state = "stopped";
    run->info.duration_ns = (int64_t)(spec.seconds * 1e9 + 0.5);
    add_facts(run, &spec);
    add_columns(run, &spec);
    add_rows(run, &spec, random != NULL ? random : &none);
    run->info.samples = run->row_count;
    run->info.stride = 1;
    return run;
}

/* Merges pairs of rows, as a full table does. */
static void halve(struct resmon_run *run)
{
    size_t rows = run->row_count / 2;
    double *values = rm_arena_alloc(&run->strings, 2 * rows * RM_SERIES_KINDS, sizeof *values);
    for (size_t c = 0; c < run->column_count * RM_SERIES_KINDS; c++) {
        for (size_t row = 0; row < rows; row++) {
            values[c * rows + row] = run->values[c * run->row_count + 2 * row + 1];
        }
    }
    for (size_t row = 0; row < rows; row++) {
        run->t_first[row] = run->t_first[2 * row];
        run->t_last[row] = run->t_last[2 * row + 1];
    }
    run->values = values;
    run->row_count = rows;
}

#define MOST_RUNS 8

struct sides {
    struct resmon_run *work[MOST_RUNS], *idle[MOST_RUNS];
    size_t works, idles;
};

static resmon_status compare(const struct sides *sides, resmon_comparison *ret_comparison)
{
    *ret_comparison = (resmon_comparison){.struct_size = sizeof *ret_comparison};
    return resmon_compare_runs((const resmon_run *const *)sides->work, sides->works,
                               (const resmon_run *const *)sides->idle, sides->idles, NULL,
                               ret_comparison);
}

static void free_sides(struct sides *sides)
{
    for (size_t i = 0; i < MOST_RUNS; i++) {
        resmon_run_free(sides->work[i]);
        resmon_run_free(sides->idle[i]);
    }
}

static struct sides made_sides(struct spec work, struct spec idle)
{
    return (struct sides){{made(work, NULL)}, {made(idle, NULL)}, 1, 1};
}

/* ---- figures ---------------------------------------------------------------------------- */

static void assert_compared(const resmon_compared *got, const double expected[5], double tolerance)
{
    assert_near(got->work, expected[0], tolerance);
    assert_near(got->idle, expected[1], tolerance);
    assert_near(got->difference, expected[2], tolerance);
    assert_near(got->low, expected[3], tolerance);
    assert_near(got->high, expected[4], tolerance);
}

/* Two rounds: work at 29 and 31 W over 10 s, idling at 19 and 21 W over 20 s, and 5 W of memory.
 * Both variances are 2, of means 1; Welch's sum is 2, with 2^2 / (1/1 + 1/1) = 2 degrees of
 * freedom, of which t is 4.302653; so +- 6.084870 W. */
TEST(figures_by_hand)
{
    struct sides sides = {{made((struct spec){.cpu_w = 29.0, .seconds = 10.0}, NULL),
                           made((struct spec){.cpu_w = 31.0, .seconds = 10.0}, NULL)},
                          {made((struct spec){.cpu_w = 19.0, .seconds = 20.0}, NULL),
                           made((struct spec){.cpu_w = 21.0, .seconds = 20.0}, NULL)},
                          2,
                          2};
    const double watts[] = {35.0, 25.0, 10.0, 10.0 - 6.084870, 10.0 + 6.084870};
    double expected[5];
    resmon_comparison comparison;
    assert_ok(compare(&sides, &comparison));
    assert_compared(&comparison.power_w, watts, 1e-5);
    for (int i = 0; i < 5; i++) {
        expected[i] = watts[i] * 10.0;
    }
    assert_compared(&comparison.energy_j, expected, 1e-4);
    for (int i = 0; i < 5; i++) {
        expected[i] = watts[i] * 10.0 / 3.6e6 * 1.5 * 100.0;
    }
    assert_compared(&comparison.gco2eq, expected, 1e-8);
    /* The reference's rate: kg/s * 8 * 3600 * 365. */
    for (int i = 0; i < 5; i++) {
        expected[i] = expected[i] / 1000.0 / 10.0 * 8 * 3600 * 365;
    }
    assert_compared(&comparison.kgco2eq_year, expected, 1e-4);
    assert_near(comparison.kgco2eq_year.work, 15.33, 1e-9); /* 35 W * 2920 h * 1.5 * 0.1 kg/kWh */
    assert_near(comparison.seconds, 10.0, 1e-9);
    assert_near(comparison.degrees_of_freedom, 2.0, 1e-9);
    assert_near(comparison.modelled_share, 0.0, 0.0);
    assert_int_equal(comparison.provenance, RESMON_PROVENANCE_MEASURED);
    assert_int_equal(comparison.is_significant, 1);
    assert_string_equal(comparison.components, "cpu+ram");
    assert_string_equal(comparison.place, "Somewhere");
    assert_string_equal(comparison.method, "between 2 runs of each");
    assert_string_equal(comparison.remark, "");
    assert_string_equal(
        comparison.statement,
        "The work consumed 100 +- 61 J more than an idle period of the same length (95 %).");
    free_sides(&sides);
}

TEST(options)
{
    struct sides sides = made_sides((struct spec){.cpu_w = 31.0, .seconds = 10.0},
                                    (struct spec){.cpu_w = 21.0, .seconds = 10.0});
    resmon_comparison comparison = {.struct_size = sizeof comparison};
    resmon_comparison_options options = {
        .struct_size = sizeof options, .hours_per_day = 24.0, .days_per_year = 100.0};
    const resmon_run *const *work = (const resmon_run *const *)sides.work;
    const resmon_run *const *idle = (const resmon_run *const *)sides.idle;
    assert_ok(resmon_compare_runs(work, 1, idle, 1, &options, &comparison));
    assert_near(comparison.kgco2eq_year.difference, 10e-3 * 2400.0 * 1.5 * 0.1, 1e-9);
    assert_near(comparison.hours_per_day, 24.0, 0.0);
    options.hours_per_day = 24.5;
    assert_status(RESMON_EINVAL, resmon_compare_runs(work, 1, idle, 1, &options, &comparison));
    options.hours_per_day = (double)NAN;
    assert_status(RESMON_EINVAL, resmon_compare_runs(work, 1, idle, 1, &options, &comparison));
    options.hours_per_day = 0.0;
    options.days_per_year = -1.0;
    assert_status(RESMON_EINVAL, resmon_compare_runs(work, 1, idle, 1, &options, &comparison));
    options.struct_size = 1;
    assert_status(RESMON_EINVAL, resmon_compare_runs(work, 1, idle, 1, &options, &comparison));
    assert_status(RESMON_EINVAL, resmon_compare_runs(work, 1, idle, 1, NULL, NULL));
    assert_status(RESMON_EINVAL, resmon_compare_runs(NULL, 1, idle, 1, NULL, &comparison));
    assert_status(RESMON_EINVAL, resmon_compare_runs(work, 1, idle, 0, NULL, &comparison));
    assert_status(RESMON_EINVAL, resmon_compare_runs(work, 2, idle, 1, NULL, &comparison));
    assert_non_null(strstr(resmon_last_error(), "work run 2 is NULL"));
    free_sides(&sides);
}

/* ---- what the interval promises --------------------------------------------------------- */

struct trial {
    struct spec work, idle;
    size_t runs;
    double drift_w; /* standard deviation of each run as a whole */
};

struct outcome {
    int covered, significant;
};

#define REPETITIONS 400

static struct outcome try(const struct trial *trial)
{
    struct outcome outcome = {0, 0};
    struct random random = {20261121};
    for (int i = 0; i < REPETITIONS; i++) {
        struct sides sides = {.works = trial->runs, .idles = trial->runs};
        resmon_comparison comparison;
        for (size_t run = 0; run < trial->runs; run++) {
            struct spec work = trial->work, idle = trial->idle;
            work.drift_w = trial->drift_w * random_normal(&random);
            idle.drift_w = trial->drift_w * random_normal(&random);
            sides.work[run] = made(work, &random);
            sides.idle[run] = made(idle, &random);
        }
        assert_ok(compare(&sides, &comparison));
        double truth = trial->work.cpu_w - trial->idle.cpu_w;
        outcome.covered += comparison.power_w.low <= truth && truth <= comparison.power_w.high;
        outcome.significant += comparison.is_significant;
        free_sides(&sides);
    }
    return outcome;
}

/* 90 to 99 %, at a difference of 2 W. */
TEST(the_interval_covers_the_truth)
{
    static const struct trial trials[] = {
        /* One run of each, white noise. */
        {{.cpu_w = 22, .noise_w = 5, .seconds = 20},
         {.cpu_w = 20, .noise_w = 3, .seconds = 20},
         1,
         0},
        /* Noise that lasts: 0.95 from one sample to the next are some 2 s of memory. */
        {{.cpu_w = 22, .noise_w = 5, .seconds = 200, .memory = 0.95},
         {.cpu_w = 20, .noise_w = 3, .seconds = 200, .memory = 0.95},
         1,
         0},
        /* Short runs: five stretches of four readings. */
        {{.cpu_w = 22, .noise_w = 5, .seconds = 2},
         {.cpu_w = 20, .noise_w = 3, .seconds = 2.5},
         1,
         0},
        /* A counter that is read at every third sample only. */
        {{.cpu_w = 22, .noise_w = 5, .seconds = 30, .every = 3},
         {.cpu_w = 20, .noise_w = 3, .seconds = 30, .every = 3},
         1,
         0},
        /* Rounds, each on a level of its own. */
        {{.cpu_w = 22, .noise_w = 5, .seconds = 3},
         {.cpu_w = 20, .noise_w = 1, .seconds = 3},
         3,
         1},
        {{.cpu_w = 22, .noise_w = 5, .seconds = 3},
         {.cpu_w = 20, .noise_w = 1, .seconds = 3},
         8,
         2},
    };
    for (size_t i = 0; i < RM_ARRAY_LEN(trials); i++) {
        int covered = try(&trials[i]).covered;
        print_message("trial %zu: %.1f %%\n", i, 100.0 * covered / REPETITIONS);
        assert_in_range(covered, REPETITIONS * 90 / 100, REPETITIONS * 99 / 100);
    }
}

/* About 5 % are called a difference that are none; and of what is there, little is missed. */
TEST(noise_is_called_noise)
{
    struct trial trial = {.work = {.cpu_w = 20, .noise_w = 5, .seconds = 10},
                          .idle = {.cpu_w = 20, .noise_w = 5, .seconds = 10},
                          .runs = 1};
    assert_in_range(try(&trial).significant, REPETITIONS * 1 / 100, REPETITIONS * 10 / 100);
    trial.runs = 4;
    assert_in_range(try(&trial).significant, REPETITIONS * 1 / 100, REPETITIONS * 10 / 100);
    trial.work.cpu_w = 24;
    assert_in_range(try(&trial).significant, REPETITIONS * 95 / 100, REPETITIONS);
}

/* Powers that differ by nothing but rounding, and counters as coarse as they are. */
TEST(no_noise_is_no_certainty)
{
    struct sides sides = made_sides((struct spec){.cpu_w = 20.0 * (1.0 + 1e-15), .seconds = 10.0},
                                    (struct spec){.cpu_w = 20.0, .seconds = 10.0});
    resmon_comparison comparison;
    assert_ok(compare(&sides, &comparison));
    assert_int_equal(comparison.is_significant, 0);
    assert_non_null(strstr(comparison.statement, "The difference of 0"));
    assert_non_null(strstr(comparison.statement, "is within the noise"));
    free_sides(&sides);
    /* One tick of load more in both of the runs of 1 s. */
    struct spec work = {.cpu_w = 20.1, .seconds = 1.0, .cpu_how = RESMON_PROVENANCE_MODELLED};
    struct spec idle = {.cpu_w = 20.0, .seconds = 1.0, .cpu_how = RESMON_PROVENANCE_MODELLED};
    sides = (struct sides){
        {made(work, NULL), made(work, NULL)}, {made(idle, NULL), made(idle, NULL)}, 2, 2};
    assert_ok(compare(&sides, &comparison));
    assert_int_equal(comparison.is_significant, 0);
    free_sides(&sides);
}

/* ---- what is not there ------------------------------------------------------------------ */

TEST(components_that_not_all_know)
{
    struct spec work = {.cpu_w = 30.0, .seconds = 10.0};
    struct spec idle = {.cpu_w = 20.0, .seconds = 10.0, .has_no_ram = true};
    struct sides sides = made_sides(work, idle);
    resmon_comparison comparison;
    assert_ok(compare(&sides, &comparison));
    assert_near(comparison.power_w.work, 30.0, 1e-9);
    assert_string_equal(comparison.components, "cpu");
    assert_string_equal(comparison.remark, "Left out: ram, which is unknown in idle run 1.");
    sides.idle[0]->columns[0].last = (double)NAN;
    assert_status(RESMON_ENOENT, compare(&sides, &comparison));
    assert_non_null(strstr(resmon_last_error(), "Left out: cpu, which is unknown in idle run 1"));
    assert_non_null(strstr(resmon_last_error(), "RESMON_DOMAIN_CPU"));
    free_sides(&sides);
    /* A counter here and a model there: 10 W of difference would be the model's. */
    idle = (struct spec){.cpu_w = 20.0, .seconds = 10.0, .cpu_how = RESMON_PROVENANCE_MODELLED};
    sides = made_sides(work, idle);
    assert_ok(compare(&sides, &comparison));
    assert_string_equal(comparison.components, "ram");
    assert_near(comparison.power_w.difference, 0.0, 1e-12);
    assert_non_null(strstr(comparison.remark, "cpu, which idle run 1 measured in another way"));
    free_sides(&sides);
}

TEST(runs_that_cannot_be_compared)
{
    struct spec good = {.cpu_w = 30.0, .seconds = 10.0};
    struct spec none = {.cpu_w = 30.0, .seconds = 10.0, .has_no_energy = true};
    struct sides sides = made_sides(good, none);
    resmon_comparison comparison;
    assert_status(RESMON_ENOENT, compare(&sides, &comparison));
    assert_non_null(strstr(resmon_last_error(), "idle run 1 has no energy: record it with"));
    free_sides(&sides);
    sides = made_sides(good, good);
    for (int64_t ns = -1; ns < 100000000; ns = ns < 1 ? ns + 1 : ns * 10) {
        sides.work[0]->info.duration_ns = ns;
        assert_status(RESMON_ERANGE, compare(&sides, &comparison));
        assert_non_null(strstr(resmon_last_error(), "work run 1 lasted"));
    }
    free_sides(&sides);
}

TEST(too_few_readings)
{
    struct sides sides = made_sides((struct spec){.cpu_w = 30.0, .seconds = 1.9},
                                    (struct spec){.cpu_w = 20.0, .seconds = 10.0});
    resmon_comparison comparison;
    assert_ok(compare(&sides, &comparison));
    assert_near(comparison.energy_j.difference, 19.0, 1e-6);
    assert_true(isnan(comparison.energy_j.low) && isnan(comparison.kgco2eq_year.high));
    assert_true(isnan(comparison.degrees_of_freedom));
    assert_int_equal(comparison.is_significant, 0);
    assert_string_equal(comparison.method, "");
    assert_string_equal(
        comparison.statement,
        "No interval can be given: the work run has 20 readings over 1.900 s, and "
        "at least 21 over 1 s are needed.  The work consumed 19.00 J more than an idle period of "
        "the same length, which may be noise: run it longer, or more often.");
    /* A summary has no rows at all. */
    sides.work[0]->row_count = 0;
    assert_ok(compare(&sides, &comparison));
    assert_non_null(strstr(comparison.statement, "has 0 readings"));
    free_sides(&sides);
}

/* ---- series ----------------------------------------------------------------------------- */

/* Rows that were merged hold the same energies at fewer times. */
TEST(halved_series)
{
    struct random random = {7};
    struct spec spec = {.cpu_w = 30.0, .noise_w = 4.0, .seconds = 79.9};
    struct sides sides = {{made(spec, &random)}, {NULL}, 1, 1};
    spec.cpu_w = 28.0;
    sides.idle[0] = made(spec, &random);
    resmon_comparison whole, halved;
    assert_ok(compare(&sides, &whole));
    halve(sides.work[0]);
    halve(sides.work[0]);
    halve(sides.idle[0]);
    assert_ok(compare(&sides, &halved));
    assert_int_equal(halved.work_stretches, 10);
    assert_near(halved.energy_j.difference, whole.energy_j.difference, 1e-9);
    assert_near(halved.energy_j.low / whole.energy_j.low, 1.0, 0.3);
    free_sides(&sides);
}

/* Time that runs backwards, energy that shrinks, gaps: what is left is used, or nothing. */
TEST(hostile_series)
{
    struct sides sides = made_sides((struct spec){.cpu_w = 30.0, .seconds = 60.0},
                                    (struct spec){.cpu_w = 20.0, .seconds = 60.0});
    struct resmon_run *run = sides.work[0];
    struct random random = {99};
    resmon_comparison comparison;
    for (int i = 0; i < 2000; i++) {
        static const double odd[] = {0.0, -1e300, 1e300, 5e-324, (double)NAN, (double)INFINITY};
        size_t row = random_below(&random, run->row_count);
        rm_run_series(run, 0, RESMON_SERIES_LAST)[row] = odd[random_below(&random, 6)];
        run->t_last[random_below(&random, run->row_count)] =
            i % 2 == 0 ? INT64_MAX : INT64_MIN + (int64_t)random_below(&random, 1000);
        assert_ok(compare(&sides, &comparison));
        assert_near(comparison.power_w.difference, 10.0, 1e-6);
        assert_true(isnan(comparison.power_w.low) ||
                    comparison.power_w.low <= comparison.power_w.high);
        assert_non_null(memchr(comparison.statement, '\0', sizeof comparison.statement));
    }
    free_sides(&sides);
}

/* Where stretches end, also when half of the run was not read. */
TEST(stretches)
{
    struct resmon_run *run = made((struct spec){.cpu_w = 10.0, .seconds = 100.0}, NULL);
    bool is_used[RM_ENERGY_PARTS] = {true, false};
    struct rm_stretches found = rm_power_divide(run, is_used);
    assert_int_equal(found.readings, 1001);
    assert_int_equal(found.spread.n, 10);
    assert_near(found.spread.seconds, 100.0, 1e-9);
    assert_near(rm_power_mean(&found.spread), 10.0, 1e-9);
    assert_near(rm_power_variance(&found.spread), 0.0, 1e-12);
    for (size_t row = 101; row <= 600; row++) {
        rm_run_series(run, 0, RESMON_SERIES_LAST)[row] = (double)NAN;
    }
    found = rm_power_divide(run, is_used);
    assert_int_equal(found.readings, 501);
    assert_int_equal(found.spread.n, 6);
    assert_near(rm_power_mean(&found.spread), 10.0, 1e-9);
    resmon_run_free(run);
}

/* Rounds of different lengths count by their time, as their energies do. */
TEST(weights)
{
    struct sides sides = {{made((struct spec){.cpu_w = 10.0, .seconds = 30.0}, NULL),
                           made((struct spec){.cpu_w = 20.0, .seconds = 10.0}, NULL)},
                          {made((struct spec){.cpu_w = 5.0, .seconds = 10.0}, NULL)},
                          2,
                          1};
    resmon_comparison comparison;
    assert_ok(compare(&sides, &comparison));
    assert_near(comparison.seconds, 20.0, 1e-9);
    assert_near(comparison.power_w.work, 12.5 + RAM_W, 1e-9);
    assert_near(comparison.energy_j.work, 0.5 * (300.0 + 200.0 + 40.0 * RAM_W), 1e-9);
    assert_int_equal(comparison.work_stretches, 0);
    assert_int_equal(comparison.idle_stretches, 10);
    assert_string_equal(comparison.method,
                        "work between 2 runs; idle within one run, over 10 stretches");
    free_sides(&sides);
}

/* ---- words ------------------------------------------------------------------------------ */

TEST(words)
{
    struct spec work = {.cpu_w = 0.1, .seconds = 10.0, .cpu_how = RESMON_PROVENANCE_MODELLED};
    struct spec idle = {.cpu_w = 50.0, .seconds = 10.0, .cpu_how = RESMON_PROVENANCE_MODELLED};
    idle.host = "n2";
    idle.g_per_kwh = 200.0;
    work.has_no_ram = idle.has_no_ram = true;
    struct sides sides = made_sides(work, idle);
    resmon_comparison comparison;
    char *text = NULL;
    assert_ok(compare(&sides, &comparison));
    assert_near(comparison.modelled_share, 1.0, 0.0);
    assert_int_equal(comparison.provenance, RESMON_PROVENANCE_MODELLED);
    assert_non_null(
        strstr(comparison.statement, "J less than an idle period of the same length (95 %)."));
    assert_non_null(strstr(comparison.statement, "Only the load of the CPUs was measured"));
    assert_non_null(strstr(comparison.remark, "carbon intensity"));
    assert_non_null(strstr(comparison.remark, "host name"));
    assert_ok(resmon_comparison_text(&comparison, &text));
    assert_non_null(strstr(text, "difference (A - B)"));
    assert_non_null(strstr(text, "within one run, over 10 stretches of each"));
    for (const char *line = text; *line != '\0'; line += strcspn(line, "\n") + 1) {
        assert_in_range(strcspn(line, "\n"), 0, 100);
    }
    resmon_text_free(text);
    assert_status(RESMON_EINVAL, resmon_comparison_text(&comparison, NULL));
    assert_status(RESMON_EINVAL, resmon_comparison_text(NULL, &text));
    /* Texts of a caller's own need no end. */
    memset(comparison.statement, 'x', sizeof comparison.statement);
    memset(comparison.remark, 0xff, sizeof comparison.remark);
    memset(comparison.method, '\n', sizeof comparison.method);
    memset(comparison.place, 'p', sizeof comparison.place);
    memset(comparison.components, 'c', sizeof comparison.components);
    assert_ok(resmon_comparison_text(&comparison, &text));
    resmon_text_free(text);
    comparison = (resmon_comparison){.struct_size = sizeof comparison};
    assert_ok(resmon_comparison_text(&comparison, &text));
    resmon_text_free(text);
    free_sides(&sides);
}

TEST(a_busy_machine_is_named)
{
    struct sides sides = made_sides((struct spec){.cpu_w = 30.0, .seconds = 10.0},
                                    (struct spec){.cpu_w = 20.0, .seconds = 10.0});
    resmon_comparison comparison;
    resmon_column percent = {.metric = rm_metric_own_text("node.cpu.percent"),
                             .instance = "",
                             .source = "node_cpu",
                             .n = 2,
                             .mean = 43.4};
    resmon_column columns[3] = {sides.idle[0]->columns[0], sides.idle[0]->columns[1], percent};
    sides.idle[0]->columns = columns;
    sides.idle[0]->column_count = 3;
    assert_ok(compare(&sides, &comparison));
    assert_string_equal(comparison.remark, "The machine was not quiet: its CPUs were 43 % busy "
                                           "while it should have been idle.");
    columns[2].mean = 9.0;
    assert_ok(compare(&sides, &comparison));
    assert_string_equal(comparison.remark, "");
    free_sides(&sides);
}

/* ---- runs that were recorded ------------------------------------------------------------ */

TEST(idling)
{
    static const double wrong[] = {0.0, -1.0, (double)NAN, (double)INFINITY, 604801.0};
    resmon_run *idle = NULL, *work = NULL;
    resmon_run_info info = {.struct_size = sizeof info};
    resmon_comparison comparison = {.struct_size = sizeof comparison};
    resmon_monitor_options options = {
        .struct_size = sizeof options, .interval_ms = 10, .domains = RESMON_DOMAIN_MEMORY};
    for (size_t i = 0; i < RM_ARRAY_LEN(wrong); i++) {
        assert_status(RESMON_EINVAL, resmon_measure_idle(wrong[i], NULL, &idle));
    }
    assert_status(RESMON_EINVAL, resmon_measure_idle(1.0, NULL, NULL));
    assert_ok(resmon_measure_idle(0.15, &options, &idle));
    assert_ok(resmon_run_get_info(idle, &info));
    assert_in_range(info.duration_ns, 150000000, 60000000000);
    assert_ok(resmon_measure_idle(0.15, NULL, &work));
    assert_ok(resmon_compare_runs((const resmon_run *const *)&work, 1,
                                  (const resmon_run *const *)&idle, 1, NULL, &comparison));
    assert_non_null(strstr(comparison.statement, "No interval can be given"));
    resmon_run_free(idle);
    resmon_run_free(work);
    options.interval_ms = UINT64_MAX;
    assert_status(RESMON_ERANGE, resmon_measure_idle(0.15, &options, &idle));
    options.struct_size = 3;
    assert_status(RESMON_EINVAL, resmon_measure_idle(0.15, &options, &idle));
}
