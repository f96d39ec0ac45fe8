/* SPDX-License-Identifier: MIT */
/*
 * compare/ranks and compare/shift against scipy 1.17 (probabilities without equal values, and the
 * approximation), all orders counted one by one (with equal values), and R's example of
 * wilcox.test(): P = 0.1272 one-sided, shift 0.305 (M. Hollander, D. A. Wolfe: Nonparametric
 * Statistical Methods, 1973, p. 69 f.).
 */
#include "test.h"

#include "base/compiler.h"
#include "compare/shift.h"

static const struct {
    const char *name;
    double one[80];
    size_t one_count;
    double other[80];
    size_t other_count;
    double p, shift, low, high;
} pairs[] = {
    {"R",
     {0.8, 0.83, 1.89, 1.04, 1.45, 1.38, 1.91, 1.64, 0.73, 1.46},
     10,
     {1.15, 0.88, 0.9, 0.74, 1.21},
     5,
     0.254412254412254,
     -0.305,
     -0.76,
     0.15},
    {"3x3",
     {100.00369, 100.896237, 99.177586},
     3,
     {99.328224, 100.635988, 99.02506},
     3,
     0.7,
     -0.260249,
     NAN,
     NAN},
    {"4x4",
     {100.180431, 104.020646, 98.52338, 98.138575},
     4,
     {103.469526, 103.070661, 102.316243, 99.208596},
     4,
     0.485714285714286,
     2.513021,
     -4.81205,
     5.330951},
    {"5x6",
     {99.912245, 102.08591, 95.967356, 98.627153, 94.296332},
     5,
     {98.131387, 96.474795, 101.294727, 98.197661, 102.813793, 102.470253},
     6,
     0.428571428571429,
     2.171247,
     -3.43745,
     6.846437},
    {"8x7",
     {99.439207, 92.449721, 98.383921, 99.854497, 100.339927, 95.409593, 98.56674, 97.064443},
     8,
     {99.573488, 105.182696, 99.577396, 101.902435, 104.65317, 100.249199, 101.664894},
     7,
     0.00590520590520591,
     3.8412045,
     1.010656,
     7.123767},
    {"10x10",
     {100.331392, 100.191345, 96.324833, 100.228421, 104.07647, 95.358566, 102.578148, 100.358062,
      98.075589, 106.00125},
     10,
     {104.286779, 98.402133, 102.223549, 103.730069, 101.433654, 104.048731, 101.800448, 104.001743,
      106.315568, 99.973013},
     10,
     0.143140141592154,
     2.054752,
     -0.358379,
     5.475615},
    {"20x20",
     {100.609416, 98.610077,  100.381805, 96.438416, 98.262095, 99.411412, 102.696292,
      103.435666, 96.029417,  97.616073,  101.94071, 94.022741, 98.61049,  99.708139,
      103.771045, 102.068212, 99.01836,   98.894272, 99.249414, 104.570588},
     20,
     {100.715925, 101.088959, 103.057767, 101.637689, 101.408147, 98.657799,  101.965436,
      100.669256, 105.498383, 103.959266, 101.927569, 104.005143, 100.980391, 105.156379,
      101.983801, 103.750147, 98.12732,   103.04004,  96.935388,  95.894013},
     20,
     0.0490903251893724,
     2.038661,
     0.024726,
     3.430171},
    {"30x45",
     {99.086569,  97.300217,  100.492158, 106.73427,  97.50483,   98.128169, 100.616212, 101.47904,
      99.470782,  99.382209,  102.107389, 101.559723, 96.898973,  99.762456, 100.105861, 96.836546,
      100.779517, 97.426131,  102.9162,   100.578238, 100.267919, 98.226915, 99.644171,  94.006761,
      96.605778,  101.088519, 93.614299,  102.539826, 94.761711,  102.270216},
     30,
     {99.463509,  104.336973, 102.392854, 97.389495,  105.747446, 106.325121, 101.802585,
      101.178251, 101.520399, 99.074543,  105.29576,  100.371324, 101.846429, 99.620111,
      100.121781, 98.166825,  105.771208, 101.537737, 104.897765, 102.039974, 99.916789,
      101.019944, 100.319307, 102.023877, 100.874199, 101.100235, 97.864276,  99.579462,
      106.962173, 99.9863,    98.837719,  103.011979, 106.221817, 97.637927,  101.374434,
      100.103842, 96.716942,  104.20478,  101.929668, 102.214326, 99.743066,  103.364352,
      100.382108, 101.57129,  98.675218},
     45,
     0.0052358890057354,
     1.800888,
     0.533542,
     3.222808},
    {"ties5x5", {8, 13, 9, 11, 10}, 5, {10, 10, 12, 10, 11}, 5, 0.666666666666667, 1, -3, 3},
    {"ties7x6",
     {10, 12, 11, 11, 9, 7, 12},
     7,
     {13, 11, 12, 13, 13, 13},
     6,
     0.013986013986014,
     2,
     1,
     4},
    {"ties9x9",
     {9, 13, 8, 12, 11, 12, 14, 13, 8},
     9,
     {8, 13, 9, 11, 13, 8, 7, 12, 11},
     9,
     0.418552036199095,
     -1,
     -4,
     1},
    {"approx",
     {99,  100, 96,  92,  99,  95,  92,  103, 100, 102, 95,  97,  95,  96,  101,
      96,  102, 102, 110, 93,  104, 100, 100, 93,  98,  104, 100, 100, 99,  106,
      100, 89,  97,  90,  84,  97,  107, 100, 94,  95,  106, 101, 100, 100, 100,
      104, 103, 101, 95,  103, 97,  105, 94,  99,  100, 93,  109, 107, 98,  104},
     60,
     {104, 89,  103, 102, 102, 97,  101, 101, 108, 104, 102, 110, 99,  100, 93,  110, 107, 107,
      105, 103, 103, 101, 101, 102, 110, 105, 102, 99,  99,  110, 105, 102, 100, 96,  102, 106,
      100, 101, 101, 103, 94,  101, 98,  106, 98,  105, 110, 100, 99,  103, 102, 97,  104, 112,
      101, 101, 97,  104, 96,  96,  108, 97,  107, 110, 103, 105, 112, 101, 99,  95},
     70,
     0.000300697927330941,
     3,
     1,
     5},
    {"equal", {3, 3, 3, 3, 3}, 5, {3, 3, 3, 3, 3}, 5, 1, 0, 0, 0},
};

static const struct {
    double values[80];
    size_t count;
    double median, low, high;
} groups[] = {
    {{1.0126, 1.5585, 1.3336, 0.7538, 0.7737}, 5, 1.0126, NAN, NAN},
    {{0.8596, 1.0916, 0.9403, 1.0665, 1.0931, 0.9143}, 6, 1.0034, 0.8596, 1.0931},
    {{0.988, 1.0639, 0.9751, 1.1631, 1.7529, 1.1943, 1.0169, 0.603, 1.1234, 0.5577},
     10,
     1.0404,
     0.603,
     1.1943},
    {{0.6553, 1.2923, 1.236,  0.956,  0.5987, 0.8946, 0.8158, 1.2105, 1.9686, 1.0672,
      0.7915, 0.7039, 0.9833, 0.9483, 0.7079, 1.0355, 0.708,  1.396,  1.3755, 1.3846},
     20,
     0.96965,
     0.7915,
     1.236},
    {{0.8674, 1.1669, 0.9612, 0.8899, 0.9033, 0.6771, 0.6485, 1.2691, 0.9442,
      1.0671, 1.3506, 0.5946, 0.7904, 1.054,  1.1248, 0.893,  1.3617, 1.0652,
      0.6949, 0.7564, 1.2733, 1.1493, 0.5657, 1.4983, 1.1965},
     25,
     0.9612,
     0.8674,
     1.1493},
    {{1.4963, 0.8913, 0.9151, 0.7132, 2.1406, 0.9487, 1.61,   0.8235, 1.0504, 0.6057,
      0.8915, 1.3433, 0.6869, 1.3794, 1.1065, 0.7311, 0.8603, 0.8713, 0.9853, 0.8514,
      0.7802, 0.9127, 0.7349, 0.6792, 0.9857, 1.3033, 0.632,  1.0011, 0.8228, 0.7459,
      1.2918, 0.856,  1.5675, 0.7914, 1.1229, 0.9341, 0.7976, 1.1928, 0.9546, 1.1984,
      0.9859, 0.722,  0.9698, 1.0157, 1.3331, 0.7619, 0.9883, 0.5966, 1.2159, 0.7229,
      0.5816, 0.9824, 1.3933, 0.633,  0.7215, 0.8001, 0.7126, 1.1206, 0.7849, 0.8054},
     60,
     0.9021,
     0.8054,
     0.9857},
};

/* NaN where NaN is wanted. */
static void assert_bound(double found, double wanted)
{
    if (isnan(wanted)) {
        assert_true(isnan(found));
    } else {
        assert_near(found, wanted, 1e-9);
    }
}

static void test_two_groups(void **state)
{
    (void)state;
    struct rm_ranks ranks = {.at_most = NULL};
    for (size_t i = 0; i < RM_ARRAY_LEN(pairs); i++) {
        const struct rm_values one = {pairs[i].one, pairs[i].one_count};
        const struct rm_values other = {pairs[i].other, pairs[i].other_count};
        struct rm_between shift;
        double p, back;
        print_message("%s\n", pairs[i].name);
        assert_ok(rm_ranks_test(&ranks, one, other, &p));
        assert_ok(rm_ranks_test(&ranks, other, one, &back));
        assert_near(p / pairs[i].p, 1.0, 1e-9);
        assert_near(back / pairs[i].p, 1.0, 1e-9);
        assert_ok(rm_shift_of(&ranks, one, other, 0.95, &shift));
        assert_near(shift.value, pairs[i].shift, 1e-9);
        assert_bound(shift.low, pairs[i].low);
        assert_bound(shift.high, pairs[i].high);
    }
    rm_ranks_free(&ranks);
}

static void test_one_group(void **state)
{
    (void)state;
    for (size_t i = 0; i < RM_ARRAY_LEN(groups); i++) {
        const struct rm_values values = {groups[i].values, groups[i].count};
        struct rm_between median;
        assert_ok(rm_median_of(values, 0.95, &median));
        assert_near(median.value, groups[i].median, 1e-9);
        assert_bound(median.low, groups[i].low);
        assert_bound(median.high, groups[i].high);
    }
}

/* The least that groups of each size can have: 2 / (2n over n). */
static void test_least_probabilities(void **state)
{
    (void)state;
    static const double least[] = {1.0, 1.0 / 3, 0.1, 1.0 / 35, 1.0 / 126, 1.0 / 462};
    static const double low[] = {1, 2, 3, 4, 5, 6}, high[] = {11, 12, 13, 14, 15, 16};
    struct rm_ranks ranks = {.at_most = NULL};
    for (size_t n = 1; n <= RM_ARRAY_LEN(least); n++) {
        double p;
        assert_ok(
            rm_ranks_test(&ranks, (struct rm_values){low, n}, (struct rm_values){high, n}, &p));
        assert_near(p, least[n - 1], 1e-12);
    }
    rm_ranks_free(&ranks);
}

static void test_little_or_nothing(void **state)
{
    (void)state;
    const double value = 7.0;
    const struct rm_values none = {NULL, 0}, one = {&value, 1};
    struct rm_ranks ranks = {.at_most = NULL};
    struct rm_between found;
    double p;
    assert_ok(rm_ranks_test(&ranks, none, one, &p));
    assert_near(p, 1.0, 0.0);
    assert_ok(rm_shift_of(&ranks, none, one, 0.95, &found));
    assert_true(isnan(found.value));
    assert_ok(rm_median_of(none, 0.95, &found));
    assert_true(isnan(found.value) && isnan(found.low));
    assert_ok(rm_median_of(one, 0.95, &found));
    assert_true(found.value == 7.0 && isnan(found.low));
    rm_ranks_free(&ranks);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_two_groups),
        cmocka_unit_test(test_one_group),
        cmocka_unit_test(test_least_probabilities),
        cmocka_unit_test(test_little_or_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
