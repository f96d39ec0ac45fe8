/* SPDX-License-Identifier: MIT */
/*
 * report/report: which sources are told as not measured, and events by their names.
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

/* Events that the options name, by their names. */
static void test_events_of_the_user(void **state)
{
    struct rm_run_column columns[] = {
        {.metric = "perf.event", .instance = "page-faults", .kind = RESMON_COUNTER},
        {.metric = "perf.event", .instance = "INST_RETIRED:ANY_P", .kind = RESMON_COUNTER},
        {.metric = "perf.event", .instance = "task-clock:u", .kind = RESMON_COUNTER},
        {.metric = "perf.event", .instance = "never-read", .kind = RESMON_COUNTER},
    };
    for (size_t i = 0; i < RM_ARRAY_LEN(columns); i++) {
        columns[i].stats = (struct rm_run_statistics){
            .n = i < 3 ? 5 : 0, .mean = 10, .p95 = 20, .max = 30, .last = 4000 + (double)i};
    }
    struct resmon_run run = {.state = "finished",
                             .label = "",
                             .columns = columns,
                             .column_count = RM_ARRAY_LEN(columns),
                             .profile = rm_profile_none()};
    struct rm_buffer buffer;
    (void)state;
    rm_buffer_init(&buffer, SIZE_MAX);
    rm_report_write(&buffer, &run, NULL);
    const char *text = buffer.text;
    assert_non_null(strstr(text, "\n  event page-faults         10/s  20/s  30/s   4000\n"));
    assert_non_null(strstr(text, "\n  event INST_RETIRED:ANY_P  10/s  20/s  30/s   4001\n"));
    assert_non_null(strstr(text, "\n  event task-clock:u (ns)   10/s  20/s  30/s   4002\n"));
    assert_null(strstr(text, "never-read"));
    rm_buffer_free(&buffer);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_was_not_measured),
        cmocka_unit_test(test_nothing_is_missed),
        cmocka_unit_test(test_events_of_the_user),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
