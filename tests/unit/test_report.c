/* SPDX-License-Identifier: MIT */
/*
 * report/report: which sources are told as not measured.
 */
#include "test.h"

#include "report/report.h"

static void test_what_was_not_measured(void **state)
{
    struct rm_run_source sources[] = {
        {.name = "sound", .reason = ""},
        {.name = "remarked", .reason = "not all of it"},
        {.name = "denied", .reason = "no permission", .status = RESMON_EACCES},
        {.name = "shaky", .reason = "it broke", .reads = 3, .failures = 1},
        {.name = "no_hardware", .reason = "there is none", .status = RESMON_ENODEV},
    };
    struct resmon_run run = {.state = "finished",
                             .label = "",
                             .sources = sources,
                             .source_count = 5,
                             .profile = rm_profile_none()};
    struct rm_buffer buffer;
    (void)state;
    rm_buffer_init(&buffer, SIZE_MAX);
    rm_report_write(&buffer, &run, NULL);
    const char *text = buffer.text;
    assert_non_null(strstr(text, "Not measured\n"));
    assert_non_null(strstr(text, "remarked       not all of it\n"));
    assert_non_null(strstr(text, "denied         no permission\n"));
    assert_non_null(strstr(text, "shaky          it broke (1 of 3 readings failed)\n"));
    assert_null(strstr(text, "sound"));
    assert_null(strstr(text, "no_hardware"));
    rm_buffer_free(&buffer);
}

/* No heading for nothing: on a machine that only lacks hardware. */
static void test_nothing_is_missed(void **state)
{
    struct rm_run_source sources[] = {
        {.name = "sound", .reason = ""},
        {.name = "no_hardware", .reason = "there is none", .status = RESMON_ENODEV},
    };
    struct resmon_run run = {.state = "finished",
                             .label = "",
                             .sources = sources,
                             .source_count = 2,
                             .profile = rm_profile_none()};
    struct rm_buffer buffer;
    (void)state;
    rm_buffer_init(&buffer, SIZE_MAX);
    rm_report_write(&buffer, &run, NULL);
    assert_null(strstr(buffer.text, "Not measured"));
    rm_buffer_free(&buffer);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_was_not_measured),
        cmocka_unit_test(test_nothing_is_missed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
