/* SPDX-License-Identifier: MIT */
/*
 * report/lines: which files are read as sources, which lines of a long function are shown, and what
 * is refused.  tests/golden has the tables.
 */
#include "report_in_full.h"
#include "test.h"

#include <unistd.h>

#include "base/compiler.h"
#include "made_profile.h"
#include "report/lines.h"

static void assert_has_not(const char *text, const char *part)
{
    if (strstr(text, part) != NULL) {
        fail_msg("%s in %s", part, text);
    }
}

/* A header of the system can be read, but its functions are not the program's. */
TEST(header_of_the_system)
{
    const char *const header = "/usr/include/stdio.h";
    if (access(header, R_OK) != 0) {
        print_message("skipped: there is no %s\n", header);
        skip();
    }
    char *text = NULL, source[128];
    (void)snprintf(source, sizeof source, "%s/train.c", test_directory);
    FILE *file = fopen(source, "w");
    assert_true(file != NULL && fputs("int main(void);\n", file) >= 0 && fclose(file) == 0);
    resmon_run *run = made_profile(source);
    run->profile.places[MADE_SQUARE].file = header;
    assert_ok(report_in_full(run, &text));
    assert_has(text, "Function: work, 740.0 ms");
    assert_has_not(text, "Function: square");
    resmon_text_free(text);
    run->profile.places[MADE_WORK].file = "";
    run->profile.places[MADE_MAIN].file = "";
    assert_ok(report_in_full(run, &text));
    assert_has(text, "Function: square");
    resmon_text_free(text);
    resmon_run_free(run);
    (void)unlink(source);
}

/* Names from outside lead to no file that is not named like a source. */
TEST(not_a_source)
{
    static const char *const files[] = {"/etc/passwd", "/dev/zero", "/etc", "/etc/passwd.c/..", ""};
    for (size_t i = 0; i < RM_ARRAY_LEN(files); i++) {
        char *text = NULL;
        resmon_run *run = made_profile(files[i]);
        assert_ok(resmon_report_lines(run, NULL, &text));
        assert_has_not(text, "root:");
        resmon_text_free(text);
        resmon_run_free(run);
    }
}

TEST(what_is_refused)
{
    char *text = NULL;
    resmon_run *run = made_profile("/nowhere/train.c");
    run->profile.places[MADE_LOAD].function = "load(unsigned long)";
    assert_ok(resmon_report_lines(run, "load", &text));
    resmon_text_free(text);
    text = NULL;
    assert_status(RESMON_ENOENT, resmon_report_lines(run, "lo", &text));
    assert_status(RESMON_EINVAL, resmon_report_lines(NULL, NULL, &text));
    assert_status(RESMON_EINVAL, resmon_report_lines(run, NULL, NULL));
    run->profile = rm_profile_none();
    assert_status(RESMON_ENOENT, resmon_report_lines(run, NULL, &text));
    assert_null(text);
    resmon_run_free(run);
}

/* The largest few, in the order of the source. */
TEST(lines_of_a_long_function)
{
    struct rm_line lines[30];
    const struct rm_line_terms terms = {.table = RM_LINES_TIME,
                                        .most_functions = 1,
                                        .most_lines = 2,
                                        .width = 100,
                                        .is_filled = true};
    struct rm_buffer buffer;
    rm_buffer_init(&buffer, 1 << 20);
    for (uint32_t i = 0; i < 30; i++) {
        lines[i] = (struct rm_line){"f", "a.c", 100 + i, 1, i % 10 * 1e6, 0, 0, RM_NAN, 1, 0, 0, 0};
    }
    assert_int_equal(rm_lines_write(&buffer, lines, 30, &terms), 1);
    assert_has(buffer.text, " 109 ");
    assert_has(buffer.text, " 119 ");
    assert_has_not(buffer.text, " 129 ");
    assert_has_not(buffer.text, " 108 ");
    rm_buffer_clear(&buffer);
    assert_int_equal(rm_lines_write(&buffer, lines, 0, &terms), 0);
    rm_buffer_free(&buffer);
}
