/* SPDX-License-Identifier: MIT */
/*
 * What every cmocka test includes: cmocka with the headers that it forgets, and a few helpers.
 */
#ifndef RESMON_TESTS_TEST_H
#define RESMON_TESTS_TEST_H

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <resmon/resmon.h>

/* The first line of a test that needs real time to be right, or figures of this host: `test all`
 * runs it, `test` says that it does not. */
#define needs_live(why)                                             \
    do {                                                            \
        if (!getenv("RESMON_TEST_LIVE")) {                          \
            print_message("live: %s: needs %s\n", __func__, (why)); \
            skip();                                                 \
        }                                                           \
    } while (0)

/* RESMON_OK, or the text of what went wrong. */
#define assert_ok(call)                                                          \
    do {                                                                         \
        resmon_status assert_ok_status = (call);                                 \
        if (assert_ok_status != RESMON_OK) {                                     \
            fail_msg("%s: %s (%s)", #call, resmon_status_name(assert_ok_status), \
                     resmon_last_error());                                       \
        }                                                                        \
    } while (0)

/* A certain status, with the text in the message when it is another. */
#define assert_status(expected, call)                                                           \
    do {                                                                                        \
        resmon_status assert_status_got = (call);                                               \
        if (assert_status_got != (expected)) {                                                  \
            fail_msg("%s: %s instead of %s (%s)", #call, resmon_status_name(assert_status_got), \
                     resmon_status_name(expected), resmon_last_error());                        \
        }                                                                                       \
    } while (0)

/* |a - b| <= tolerance; NaN equals nothing. */
#define assert_near(a, b, tolerance)                                                          \
    do {                                                                                      \
        double near_a = (a), near_b = (b), near_t = (tolerance);                              \
        if (!(fabs(near_a - near_b) <= near_t)) {                                             \
            fail_msg("%s = %.17g, %s = %.17g: further apart than %g", #a, near_a, #b, near_b, \
                     near_t);                                                                 \
        }                                                                                     \
    } while (0)

#endif
