/* SPDX-License-Identifier: MIT */
/*
 * store/sketch: every quantile is within 1 % of the sample that it stands for.
 */
#include "test.h"

#include "random.h"
#include "store/sketch.h"

/* A prime: no k/100 of it is a whole number, so that the nearest rank is beyond doubt. */
#define SAMPLES 9973

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y ? 1 : 0;
}

static struct rm_sketch *new_sketch(void)
{
    struct rm_sketch *sketch = calloc(1, sizeof *sketch);
    assert_non_null(sketch);
    return sketch;
}

/* What counts as 0 stands for 0. */
static double as_counted(double value)
{
    return value < 0x1p-20 ? 0.0 : value;
}

static void check_quantiles(const char *name, double *samples)
{
    struct rm_sketch *sketch = new_sketch();
    for (size_t i = 0; i < SAMPLES; i++) {
        rm_sketch_add(sketch, samples[i]);
    }
    qsort(samples, SAMPLES, sizeof *samples, ascending);
    for (size_t percent = 1; percent <= 99; percent++) {
        size_t rank = (percent * SAMPLES + 99) / 100; /* nearest rank, from 1 */
        double exact = as_counted(samples[rank - 1]);
        double found =
            rm_sketch_quantile(sketch, NULL, 0, (double)percent / 100.0, -INFINITY, INFINITY);
        if (!(fabs(found - exact) <= 0.01 * exact)) {
            fail_msg("%s: quantile %zu %%: %.17g, exactly %.17g", name, percent, found, exact);
        }
    }
    free(sketch);
}

/* ---- distributions -------------------------------------------------------------------------- */

struct shape {
    const char *name;
    double (*draw)(struct random *random, double scale);
};

static double lognormal(struct random *random, double scale)
{
    return scale * exp(2.0 * random_normal(random));
}

static double uniform(struct random *random, double scale)
{
    return scale * random_unit(random);
}

static double constant(struct random *random, double scale)
{
    (void)random;
    return scale;
}

static double zeros(struct random *random, double scale)
{
    (void)random;
    return 0.0 * scale;
}

static double mostly_zeros(struct random *random, double scale)
{
    return random_below(random, 10) != 0 ? 0.0 : scale * random_unit(random);
}

static double twelve_decades(struct random *random, double scale)
{
    (void)scale;
    return pow(10.0, 12.0 * random_unit(random));
}

static double two_far_levels(struct random *random, double scale)
{
    return random_below(random, 2) == 0 ? 1e-3 * scale : 1e9 + random_unit(random);
}

static double percentages(struct random *random, double scale)
{
    (void)scale;
    return random_below(random, 4) == 0 ? 100.0 : floor(random_unit(random) * 1000.0) / 10.0;
}

static double around_powers_of_two(struct random *random, double scale)
{
    (void)scale;
    double power = ldexp(1.0, (int)random_below(random, 60) - 15);
    static const double factors[] = {1.0, 1.0 - 0x1p-53, 1.0 + 0x1p-52, 1.5};
    return power * factors[random_below(random, 4)];
}

static double both_signs(struct random *random, double scale)
{
    return scale * (random_unit(random) - 0.5);
}

TEST(quantiles_of_any_distribution_are_within_one_percent)
{
    static const struct shape shapes[] = {
        {"lognormal", lognormal},
        {"uniform", uniform},
        {"constant", constant},
        {"zeros", zeros},
        {"mostly zeros", mostly_zeros},
        {"twelve decades", twelve_decades},
        {"two far levels", two_far_levels},
        {"percentages", percentages},
        {"around powers of two", around_powers_of_two},
        {"both signs", both_signs},
    };
    double *samples = malloc(SAMPLES * sizeof *samples);
    assert_non_null(samples);
    struct random random = {20250101};
    for (size_t s = 0; s < sizeof shapes / sizeof shapes[0]; s++) {
        for (int round = 0; round < 12; round++) {
            double scale = pow(10.0, 14.0 * random_unit(&random) - 4.0);
            for (size_t i = 0; i < SAMPLES; i++) {
                samples[i] = shapes[s].draw(&random, scale);
                if (samples[i] >= 0x1p47) {
                    samples[i] = 0x1p46; /* past the range is another test */
                }
            }
            check_quantiles(shapes[s].name, samples);
        }
    }
    free(samples);
}

/* ---- bins ----------------------------------------------------------------------------------- */

/* The value that one sample alone is shown as. */
static double shown(double value)
{
    struct rm_sketch *sketch = new_sketch();
    rm_sketch_add(sketch, value);
    double result = rm_sketch_quantile(sketch, NULL, 0, 0.5, -INFINITY, INFINITY);
    free(sketch);
    return result;
}

/*
 * Bin k of an octave holds m with k <= 38 (4 m - m^2) / 3 < k + 1, that is 1 + m from low to high =
 * 3 - sqrt(4 - 3 s) at s = k/38 and (k + 1)/38.  Shown is their harmonic mean, which is (high -
 * low) / (high + low) from either end.  The widest bin is the first: 0.98 %.
 */
TEST(the_widest_bin_is_within_one_percent_on_both_sides)
{
    double widest = 0.0;
    for (int k = 0; k < RM_SKETCH_OCTAVE_BINS; k++) {
        double low = 3.0 - sqrt(4.0 - 3.0 * k / RM_SKETCH_OCTAVE_BINS);
        double high = 3.0 - sqrt(4.0 - 3.0 * (k + 1) / RM_SKETCH_OCTAVE_BINS);
        double error = (high - low) / (high + low);
        widest = error > widest ? error : widest;
        /* What the code does with the ends is what the formula says; 1e-9: away from the edge. */
        double first = low * (1.0 + 1e-9), last = high * (1.0 - 1e-9);
        assert_near(shown(first) / first - 1.0, error, 1e-6);
        assert_near(1.0 - shown(last) / last, error, 1e-6);
        assert_near(shown(first), shown(last), 0.0);
    }
    assert_near(widest, 0.00982, 0.00002);
}

TEST(a_dense_sweep_of_an_octave_stays_within_one_percent)
{
    struct rm_sketch *sketch = new_sketch();
    for (int octave = RM_SKETCH_LOW_OCTAVE; octave < RM_SKETCH_HIGH_OCTAVE; octave += 11) {
        for (int i = 0; i < 2000; i++) {
            double value = ldexp(1.0 + i / 2000.0, octave);
            rm_sketch_add(sketch, value);
            assert_near(rm_sketch_quantile(sketch, NULL, 0, 0.0, -INFINITY, INFINITY), value,
                        0.00983 * value);
            memset(sketch, 0, sizeof *sketch);
        }
    }
    free(sketch);
}

TEST(what_is_out_of_range_counts_as_its_end)
{
    static const double nothing[] = {0.0,     -0.0,   -1.0,    -1e300,
                                     -1e-300, 1e-300, 0x1p-21, 0x1p-20 * (1.0 - 0x1p-52)};
    for (size_t i = 0; i < sizeof nothing / sizeof nothing[0]; i++) {
        assert_true(shown(nothing[i]) == 0.0);
    }
    assert_near(shown(0x1p-20), 0x1p-20, 0.01 * 0x1p-20);
    assert_near(shown(0x1p47), 0x1p47, 0.02 * 0x1p47);
    assert_near(shown(1e300), 0x1p47, 0.02 * 0x1p47);
}

TEST(nothing_counted_has_no_quantile)
{
    struct rm_sketch *sketch = new_sketch();
    assert_true(isnan(rm_sketch_quantile(sketch, NULL, 0, 0.5, -INFINITY, INFINITY)));
    free(sketch);
}

TEST(the_ends_are_the_least_and_the_greatest)
{
    struct rm_sketch *sketch = new_sketch();
    for (int i = 1; i <= 100; i++) {
        rm_sketch_add(sketch, i);
    }
    assert_near(rm_sketch_quantile(sketch, NULL, 0, 0.0, -INFINITY, INFINITY), 1.0, 0.01);
    assert_near(rm_sketch_quantile(sketch, NULL, 0, 1.0, -INFINITY, INFINITY), 100.0, 1.0);
    free(sketch);
}

TEST(a_full_bin_halves_all_and_keeps_the_proportions)
{
    struct rm_sketch *sketch = new_sketch();
    rm_sketch_add(sketch, 1000.0);
    for (size_t i = 0; i < RM_SKETCH_BINS; i++) {
        if (sketch->bins[i] == 1) {
            sketch->bins[i] = UINT32_MAX - 1;
        }
    }
    sketch->bins[0] = UINT32_MAX / 2; /* a third of all is 0 */
    rm_sketch_add(sketch, 1000.0);
    assert_int_equal(sketch->bins[0], UINT32_MAX / 4);
    uint64_t total = 0;
    for (size_t i = 0; i < RM_SKETCH_BINS; i++) {
        total += sketch->bins[i];
    }
    assert_int_equal(total, (uint64_t)UINT32_MAX / 4 + UINT32_MAX / 2);
    assert_true(rm_sketch_quantile(sketch, NULL, 0, 0.33, -INFINITY, INFINITY) == 0.0);
    assert_near(rm_sketch_quantile(sketch, NULL, 0, 0.34, -INFINITY, INFINITY), 1000.0, 10.0);
    free(sketch);
}

/* However many of the values wait beside the sketch, in whatever order. */
TEST(values_that_wait_are_as_those_counted)
{
    struct random random = {21};
    for (size_t waiting = 0; waiting <= RM_SKETCH_MOST_MORE; waiting++) {
        struct rm_sketch *all = new_sketch(), *rest = new_sketch();
        double more[RM_SKETCH_MOST_MORE], low = INFINITY, high = -INFINITY;
        for (size_t i = 0; i < 40; i++) {
            double value = i % 5 == 0 ? 0.0 : lognormal(&random, 1e3);
            low = fmin(low, value);
            high = fmax(high, value);
            rm_sketch_add(all, value);
            if (i < waiting) {
                more[i] = value;
            } else {
                rm_sketch_add(rest, value);
            }
        }
        for (int percent = 0; percent <= 100; percent++) {
            double q = percent / 100.0;
            assert_true(rm_sketch_quantile(all, NULL, 0, q, low, high) ==
                        rm_sketch_quantile(rest, more, waiting, q, low, high));
        }
        free(all);
        free(rest);
    }
}

TEST(no_sketch_is_an_empty_one)
{
    const double more[] = {100.0, 1.0, 10.0};
    assert_near(rm_sketch_quantile(NULL, more, 3, 0.5, 1.0, 100.0), 10.0, 0.1);
    assert_true(isnan(rm_sketch_quantile(NULL, NULL, 0, 0.5, 1.0, 100.0)));
}
