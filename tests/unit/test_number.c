/* SPDX-License-Identifier: MIT */
/*
 * base/number: the same text as printf's, for numbers of every size, and exact.
 */
#include "test.h"

#include <inttypes.h>
#include <stdbool.h>

#include "base/number.h"
#include "random.h"

#define TRIES 200000

/* By the C library: 15 digits where these name the number, else 17; whole numbers in full. */
static void print_reference(char text[64], double number)
{
    bool is_whole = fabs(number) < 9007199254740992.0 && number == floor(number);
    (void)snprintf(text, 64, is_whole ? "%.0f" : "%.15g", number);
    if (strtod(text, NULL) != number) {
        (void)snprintf(text, 64, "%.17g", number);
    }
    if (strcmp(text, "-0") == 0) {
        (void)snprintf(text, 64, "0");
    }
}

static void check_double(double number)
{
    char expected[64];
    char text[RM_NUMBER_BYTES];
    print_reference(expected, number);
    size_t length = rm_number_double(text, number);
    if (length != strlen(text) || strcmp(text, expected) != 0 || strtod(text, NULL) != number) {
        fail_msg("%a: '%s' instead of '%s'", number, text, expected);
    }
}

static double from_bits(uint64_t bits)
{
    double number;
    memcpy(&number, &bits, sizeof number);
    return number;
}

static void test_doubles_of_all_sizes(void **state)
{
    struct random random = {1};
    (void)state;
    for (int i = 0; i < TRIES; i++) {
        double any = from_bits(random_u64(&random));
        if (isfinite(any)) {
            check_double(any);
        }
        /* Where samples are. */
        uint64_t exponent = 1023 - 16 + random_below(&random, 70);
        check_double(from_bits(exponent << 52 | random_u64(&random) >> 12));
        check_double(-(double)random_below(&random, 1000000000) / 1000.0);
    }
}

static void test_doubles_beside_powers_of_ten_and_two(void **state)
{
    (void)state;
    for (int power = -8; power < 25; power++) {
        char text[16];
        (void)snprintf(text, sizeof text, "1e%d", power);
        double exact = strtod(text, NULL);
        double number = exact;
        for (int i = 0; i < 4; i++) {
            number = nextafter(number, 0.0);
            check_double(number);
        }
        for (int i = 0; i < 8; i++) {
            number = nextafter(number, INFINITY);
            check_double(number);
            check_double(-number);
        }
    }
    for (int power = -20; power < 70; power++) {
        check_double(nextafter(ldexp(1.0, power), 0.0));
        check_double(ldexp(1.0, power));
        check_double(nextafter(ldexp(1.0, power), INFINITY));
    }
}

static void test_what_is_no_number_has_no_text(void **state)
{
    char text[RM_NUMBER_BYTES] = "x";
    (void)state;
    assert_int_equal(rm_number_double(text, (double)NAN), 0);
    assert_string_equal(text, "");
    assert_int_equal(rm_number_double(text, (double)INFINITY), 0);
    assert_int_equal(rm_number_double(text, -(double)INFINITY), 0);
}

static void test_whole_numbers(void **state)
{
    struct random random = {2};
    char expected[64];
    char text[RM_NUMBER_BYTES];
    (void)state;
    for (int i = 0; i < TRIES; i++) {
        uint64_t number = i == 0 ? UINT64_MAX : random_u64(&random) >> random_below(&random, 64);
        (void)snprintf(expected, sizeof expected, "%" PRIu64, number);
        assert_int_equal(rm_number_u64(text, number), strlen(expected));
        assert_string_equal(text, expected);
        (void)snprintf(expected, sizeof expected, "%" PRId64, (int64_t)number);
        assert_int_equal(rm_number_i64(text, (int64_t)number), strlen(expected));
        assert_string_equal(text, expected);
    }
    assert_int_equal(rm_number_u64(text, 0), 1);
    assert_string_equal(text, "0");
    (void)rm_number_i64(text, INT64_MIN);
    assert_string_equal(text, "-9223372036854775808");
}

static void test_fixed_places(void **state)
{
    struct random random = {3};
    char expected[64];
    char text[RM_NUMBER_BYTES];
    (void)state;
    for (int i = 0; i < TRIES; i++) {
        uint64_t number = random_u64(&random) >> (1 + random_below(&random, 63));
        (void)snprintf(expected, sizeof expected, "-%" PRIu64 ".%09" PRIu64, number / 1000000000,
                       number % 1000000000);
        (void)rm_number_fixed(text, (int64_t)number, 9);
        assert_string_equal(text, expected + 1);
        if (number > 0) {
            (void)rm_number_fixed(text, -(int64_t)number, 9);
            assert_string_equal(text, expected);
        }
    }
    (void)rm_number_fixed(text, 1500, 3);
    assert_string_equal(text, "1.500");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_doubles_of_all_sizes),
        cmocka_unit_test(test_doubles_beside_powers_of_ten_and_two),
        cmocka_unit_test(test_what_is_no_number_has_no_text),
        cmocka_unit_test(test_whole_numbers),
        cmocka_unit_test(test_fixed_places),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
