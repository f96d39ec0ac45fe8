/* SPDX-License-Identifier: MIT */
/*
 * base/number: the same text as printf's, or a shorter one of the same number, for edges and for
 * many random numbers, in every locale.
 */
#include "test.h"

#include <float.h>
#include <inttypes.h>

#include "base/number.h"
#include "comma_locale.h"
#include "random.h"

static double of_bits(uint64_t bits)
{
    double number;
    memcpy(&number, &bits, sizeof number);
    return number;
}

/* ---- whole numbers -------------------------------------------------------------------------- */

static void check_whole(uint64_t number)
{
    char text[RM_NUMBER_BYTES];
    char expected[RM_NUMBER_BYTES];
    int length = snprintf(expected, sizeof expected, "%" PRIu64, number);
    assert_int_equal(rm_number_u64(text, number), length);
    assert_string_equal(text, expected);
    length = snprintf(expected, sizeof expected, "%" PRId64, (int64_t)number);
    assert_int_equal(rm_number_i64(text, (int64_t)number), length);
    assert_string_equal(text, expected);
}

TEST(whole_numbers)
{
    struct random random = {7};
    uint64_t power = 1;
    for (int i = 0; i < 20; i++, power *= 10) {
        check_whole(power - 1);
        check_whole(power);
        check_whole(0 - power);
    }
    for (int i = 0; i < 64; i++) {
        check_whole((UINT64_C(1) << i) - 1);
        check_whole(UINT64_C(1) << i);
    }
    check_whole(UINT64_MAX);
    for (int i = 0; i < 100000; i++) {
        check_whole(random_u64(&random) >> random_below(&random, 64));
    }
}

/* By hand: the digits, filled up with zeros, with a point in their midst. */
static void check_fixed(int64_t number, int places)
{
    char digits[64];
    char expected[64];
    char text[RM_NUMBER_BYTES];
    uint64_t size = number < 0 ? 0 - (uint64_t)number : (uint64_t)number;
    int length = snprintf(digits, sizeof digits, "%0*" PRIu64, places + 1, size);
    (void)snprintf(expected, sizeof expected, "%s%.*s%s%s", number < 0 ? "-" : "", length - places,
                   digits, places > 0 ? "." : "", digits + length - places);
    assert_int_equal(rm_number_fixed(text, number, places), strlen(expected));
    assert_string_equal(text, expected);
}

TEST(decimal_fractions)
{
    static const int64_t edges[] = {0, 1, -1, 9, 10, 999, -1000, 1500, INT64_MAX, INT64_MIN};
    struct random random = {11};
    for (int places = 0; places <= 18; places++) {
        for (size_t i = 0; i < sizeof edges / sizeof *edges; i++) {
            check_fixed(edges[i], places);
        }
        for (int i = 0; i < 5000; i++) {
            check_fixed((int64_t)(random_u64(&random) >> random_below(&random, 64)), places);
        }
    }
}

/* ---- doubles -------------------------------------------------------------------------------- */

/* A text of the same number: whole ones below 2^53 and 17 digits always are. */
static void print_as_printf(char expected[64], double number)
{
    if (fabs(number) < 9007199254740992.0 && number == floor(number)) {
        (void)snprintf(expected, 64, "%.0f", number == 0.0 ? 0.0 : number);
        return;
    }
    (void)snprintf(expected, 64, "%.15g", number);
    if (strtod(expected, NULL) != number) {
        (void)snprintf(expected, 64, "%.17g", number);
    }
}

/* Checks that rm_number_parse() reads the whole text, and the double that strtod() reads. */
static void check_read(const char *text)
{
    double number = NAN, expected = strtod(text, NULL);
    size_t length = rm_number_parse(text, strlen(text), &number);
    if (length != strlen(text) || memcmp(&number, &expected, sizeof number) != 0) {
        fail_msg("'%s': %a instead of %a, %zu bytes", text, number, expected, length);
    }
}

/* In the locale "C", where printf and strtod can be asked. */
static void check_double(double number)
{
    char text[RM_NUMBER_BYTES];
    char expected[64];
    if (!isfinite(number)) {
        return;
    }
    size_t length = rm_number_double(text, number);
    print_as_printf(expected, number);
    if (length != strlen(text) || strcmp(text, expected) != 0) {
        fail_msg("%a: '%s' instead of '%s'", number, text, expected);
    }
    check_read(text);
}

static void check_with_neighbours(double number)
{
    check_double(number);
    check_double(-number);
    check_double(nextafter(number, INFINITY));
    check_double(nextafter(number, -INFINITY));
}

TEST(doubles_at_edges)
{
    for (int e = -323; e <= 308; e++) {
        char text[16];
        (void)snprintf(text, sizeof text, "1e%d", e);
        double power = strtod(text, NULL);
        check_with_neighbours(power);
        check_with_neighbours(power * 0.5);
        check_with_neighbours(power * 9.9999999999999989);
    }
    for (int e = -1074; e < 1024; e++) {
        check_with_neighbours(ldexp(1.0, e));
    }
    static const double others[] = {0.0,
                                    DBL_MAX,
                                    DBL_MIN,
                                    DBL_EPSILON,
                                    0.1,
                                    0.3,
                                    1.0 / 3.0,
                                    2.0 / 3.0,
                                    1e15,
                                    999999999999999.0,
                                    99999999999999.95,
                                    9007199254740993.0,
                                    1e-4,
                                    9.9999999999999e-5,
                                    0.5,
                                    2.5,
                                    1.5e300,
                                    4.35,
                                    5e-324,
                                    123456789012345.65};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        check_with_neighbours(others[i]);
    }
}

/* The middle between two numbers of 15 digits: rounded as printf does. */
TEST(halves)
{
    struct random random = {13};
    for (int i = 0; i < 100000; i++) {
        double whole = (double)(random_u64(&random) >> (14 + random_below(&random, 50)));
        check_double(ldexp(whole * 2.0 + 1.0, -(int)random_below(&random, 12) - 1));
    }
}

TEST(random_doubles)
{
    struct random random = {17};
    for (int i = 0; i < 200000; i++) {
        check_double(of_bits(random_u64(&random)));
        /* Of the size that is measured, with few digits and with many. */
        double exponent = (double)random_below(&random, 20) - 5.0;
        check_double(random_unit(&random) * pow(10.0, exponent));
        check_double((double)random_below(&random, 100000000) / pow(10.0, (double)(i % 9)));
    }
}

TEST(what_is_not_finite_is_nothing)
{
    static const double none[] = {(double)NAN, (double)INFINITY, -(double)INFINITY};
    for (size_t i = 0; i < 3; i++) {
        char text[RM_NUMBER_BYTES] = "?";
        assert_int_equal(rm_number_double(text, none[i]), 0);
        assert_string_equal(text, "");
    }
}

/* ---- locales -------------------------------------------------------------------------------- */

/* Many digits, and halves between two doubles: both need more than a double's own precision. */
TEST(numbers_as_others_write_them)
{
    static const char *const texts[] = {
        "0",
        "-0",
        "0.0",
        "-0.0e5",
        "1E5",
        "1e+5",
        "1e-5",
        "123456789012345678",
        "0.1234567890123456789",
        "9007199254740993",
        "9007199254740992.5",
        "9007199254740993e-3",
        "18446744073709551615",
        "18446744073709551616",
        "5e-324",
        "2.4703282292062327e-324",
        "2.4703282292062328e-324",
        "1.7976931348623157e308",
        "1.7976931348623159e308",
        "1e400",
        "-1e400",
        "1e-400",
        "1e99999999999",
        "0.000000000000000000000000000001",
        "100000000000000000000000000000000",
        "0e99999999999",
        "0.30000000000000004",
        "6.62607015e-34",
        "1234567890.123456789012345678901234567890",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        check_read(texts[i]);
    }
    struct random random = {7};
    for (int i = 0; i < 300000; i++) {
        char text[64];
        uint64_t digits = random_u64(&random) >> random_below(&random, 64);
        int places = (int)random_below(&random, 20);
        int exponent = (int)random_below(&random, 80) - 40;
        (void)snprintf(text, sizeof text, "%" PRIu64 "e%d", digits, exponent);
        check_read(text);
        (void)snprintf(text, sizeof text, "%" PRIu64 ".%0*u", digits, places + 1, 7U);
        check_read(text);
    }
}

TEST(what_is_no_number)
{
    static const struct {
        const char *text;
        size_t length;
    } rows[] = {
        {"", 0},     {"-", 0},
        {"+1", 0},   {".5", 0},
        {"01", 0},   {"-01", 0},
        {"x", 0},    {"NaN", 0},
        {"e5", 0},   {"1.", 1},
        {"1.x", 1},  {"1e", 1},
        {"1e+", 1},  {"1ex", 1},
        {"1,2", 1},  {"12]", 2},
        {"0x10", 1}, {"1234567890123456789012345678901234567890123456789012345678901234", 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        double number;
        assert_int_equal(rm_number_parse(rows[i].text, strlen(rows[i].text), &number),
                         rows[i].length);
    }
}

TEST(a_point_in_every_locale)
{
    static char texts[20000][RM_NUMBER_BYTES];
    const size_t count = sizeof texts / sizeof texts[0];
    struct random random = {19}, again = {19};
    for (size_t i = 0; i < count; i++) {
        (void)rm_number_double(texts[i], of_bits(random_u64(&random)));
    }
    enter_comma_locale();
    for (size_t i = 0; i < count; i++) {
        char here[RM_NUMBER_BYTES];
        (void)rm_number_double(here, of_bits(random_u64(&again)));
        assert_string_equal(here, texts[i]);
        double number;
        size_t length = strlen(here);
        assert_int_equal(rm_number_parse(here, length, &number), length);
        assert_true(length == 0 || rm_number_double(here, number) == length);
        assert_string_equal(here, texts[i]);
    }
    leave_comma_locale();
}
