/* SPDX-License-Identifier: MIT */
/*
 * For tests in a time that is made (base/made_time.h): set-up and tear-down of each.
 */
#ifndef RESMON_TESTS_MADE_TIME_H
#define RESMON_TESTS_MADE_TIME_H

#include "base/clock.h"
#include "base/condition.h"
#include "base/made_time.h"

#define MADE_TIME_BEGIN (INT64_C(1764115200) * RM_NS_PER_S) /* 2025-11-26 */

static inline int made_time_begin(void **state)
{
    (void)state;
    rm_made_time_begin(MADE_TIME_BEGIN);
    return 0;
}

static inline int made_time_end(void **state)
{
    (void)state;
    rm_made_time_end();
    return 0;
}

#define in_made_time(test) cmocka_unit_test_setup_teardown(test, made_time_begin, made_time_end)

#endif
