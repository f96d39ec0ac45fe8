/* SPDX-License-Identifier: MIT */
/*
 * For tests in a time that is made (base/clock.h): set-up and tear-down of each.
 */
#ifndef RESMON_TESTS_MADE_TIME_H
#define RESMON_TESTS_MADE_TIME_H

#include "base/clock.h"
#include "base/thread.h"
#include "test.h"

#define MADE_TIME_BEGIN (INT64_C(1764115200) * RM_NS_PER_S) /* 2025-11-26 */

FIXTURE(made_time_begin)
{
    rm_made_time_begin(MADE_TIME_BEGIN);
    return 0;
}

FIXTURE(made_time_end)
{
    rm_made_time_end();
    return 0;
}

/* TEST(name, IN_MADE_TIME) { ... } */
#define IN_MADE_TIME .setup_func = made_time_begin, .teardown_func = made_time_end

#endif
