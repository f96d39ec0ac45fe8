/* SPDX-License-Identifier: MIT */
/*
 * What every test in C includes: cmocka with the headers that it forgets, TEST, and a few helpers.
 */
#ifndef RESMON_TESTS_TEST_H
#define RESMON_TESTS_TEST_H

#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include <cmocka.h>

#include <resmon/resmon.h>

#include "files.h"

/* A test is TEST(name) { ... } and nothing else: main.c finds it.  Members of struct CMUnitTest may
   follow the name: a fixture (.setup_func, .teardown_func). */
#define TEST(test_name, ...)                                                                   \
    static void test_##test_name(void **state);                                                \
    static const struct test registered_##test_name = {                                        \
        {.name = #test_name, .test_func = test_##test_name, __VA_ARGS__}, __FILE__, __LINE__}; \
    static const struct test *const entry_##test_name                                          \
        __attribute__((used, section("resmon_tests"))) = &registered_##test_name;              \
    static void test_##test_name(void **state __attribute__((unused)))

struct test {
    struct CMUnitTest unit;
    const char *path;
    int line; /* tests of a file run in this order */
};

/* A fixture of a test or of a file; 0 if all is well. */
#define FIXTURE(fixture_name) static inline int fixture_name(void **state __attribute__((unused)))

/* What the tests of a file have in common: at its end, TEST_FILE(.set_up = ..., ...). */
#define TEST_FILE(...)                                                       \
    static const struct test_file shared_by_tests = {__FILE__, __VA_ARGS__}; \
    static const struct test_file *const entry_of_file                       \
        __attribute__((used, section("resmon_files"))) = &shared_by_tests

struct test_file {
    const char *path;
    const char *skipped;                       /* why this build has none of them */
    const char *(*missing)(void);              /* why they cannot run here; NULL: they can */
    CMFixtureFunction set_up, tear_down;       /* before the first test, after the last */
    CMFixtureFunction before_each, after_each; /* test that has no fixture of its own */
    int (*program)(char **words);              /* what else it is: exec_this_file() */
};

/* Becomes the program of this file, with a word or two; returns where it cannot. */
void exec_this_file(const char *word, const char *second);

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

static inline void assert_has(const char *text, const char *part)
{
    if (strstr(text, part) == NULL) {
        fail_msg("there is no '%s' in:\n%.4000s", part, text);
    }
}

/* Waits for the child, which has to end so. */
static inline void assert_exits(pid_t child, int exit_status)
{
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != exit_status) {
        fail_msg("the child ended with %#x instead of exit status %d", (unsigned)status,
                 exit_status);
    }
}

/* Runs it in a thread of its own, to its end. */
static inline void in_thread(void *(*run)(void *), void *context)
{
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, run, context), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
}

#endif
