/* SPDX-License-Identifier: MIT */
/*
 * A locale whose numbers have a decimal comma: one that is installed, or one that is made.
 */
#ifndef RESMON_TESTS_COMMA_LOCALE_H
#define RESMON_TESTS_COMMA_LOCALE_H

#include "test.h"

#include <locale.h>
#include <stdbool.h>

/* Of a small set of characters: it takes a fifth of the time.  It goes with the test's TMPDIR. */
static bool make_comma_locale(const char *directory)
{
    char command[1024];
    (void)snprintf(
        command, sizeof command,
        "mkdir -p %s && localedef --no-archive -i de_DE -f ISO-8859-1 %s/de_DE >%s/log 2>&1",
        directory, directory, directory);
    return system(command) == 0 && setenv("LOCPATH", directory, 1) == 0 &&
           setlocale(LC_ALL, "de_DE") != NULL;
}

/* All of this process is in it until leave_comma_locale(). */
static void enter_comma_locale(void)
{
    char directory[256];
    const char *place = getenv("TMPDIR");
    (void)snprintf(directory, sizeof directory, "%s/locales", place != NULL ? place : "/tmp");
    if (setlocale(LC_ALL, "de_DE.UTF-8") == NULL && !make_comma_locale(directory)) {
        print_message("skipped: no locale with a decimal comma is installed, and none can be made "
                      "(Debian: locales)\n");
        skip();
    }
    assert_int_equal(localeconv()->decimal_point[0], ',');
}

static void leave_comma_locale(void)
{
    (void)setlocale(LC_ALL, "C");
    (void)unsetenv("LOCPATH");
}

#endif
