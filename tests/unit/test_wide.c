/* SPDX-License-Identifier: MIT */
/* Numbers of 128 bits: the product by halves against the compiler's, sums and differences against
 * what is known of them. */
#include "test.h"

#include "base/wide.h"

static const uint64_t numbers[] = {0,
                                   1,
                                   2,
                                   3,
                                   10,
                                   UINT32_MAX,
                                   UINT64_C(1) << 32,
                                   (UINT64_C(1) << 32) + 1,
                                   UINT64_C(1) << 63,
                                   UINT64_MAX - 1,
                                   UINT64_MAX,
                                   UINT64_C(0x123456789abcdef0),
                                   UINT64_C(0xfedcba9876543210)};

enum { COUNT = sizeof numbers / sizeof numbers[0] };

static bool are_equal(struct rm_wide a, struct rm_wide b)
{
    return a.low == b.low && a.high == b.high;
}

TEST(products)
{
    for (size_t i = 0; i < COUNT; i++) {
        for (size_t j = 0; j < COUNT; j++) {
            struct rm_wide by_halves = rm_wide_product_by_halves(numbers[i], numbers[j]);
            assert_true(are_equal(rm_wide_product(numbers[i], numbers[j]), by_halves));
            assert_int_equal(by_halves.low, numbers[i] * numbers[j]);
        }
    }
    /* (2^64 - 1)^2 = 2^128 - 2^65 + 1 */
    assert_true(are_equal(rm_wide_product(UINT64_MAX, UINT64_MAX),
                          (struct rm_wide){.low = 1, .high = UINT64_MAX - 1}));
}

TEST(sums_and_differences)
{
    for (size_t i = 0; i < COUNT; i++) {
        for (size_t j = 0; j < COUNT; j++) {
            struct rm_wide a = {numbers[i], numbers[j]}, b = {numbers[j], numbers[i]};
            struct rm_wide sum = rm_wide_add(a, b);
            assert_true(are_equal(rm_wide_add(b, a), sum));
            assert_true(are_equal(rm_wide_subtract(sum, b), a));
        }
    }
    assert_true(are_equal(rm_wide_add((struct rm_wide){UINT64_MAX, 0}, (struct rm_wide){1, 0}),
                          (struct rm_wide){0, 1}));
    assert_true(rm_wide_double((struct rm_wide){3, 2}) == 0x1p65 + 3.0);
}
