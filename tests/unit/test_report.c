/* SPDX-License-Identifier: MIT */
/*
 * report/report: figures of phases, sources told as not measured, and events by their names.
 */
#include "test.h"

#include <resmon/report.h>

#include "metric/metric.h"
#include "report/report.h"

static const struct rm_report_terms in_full = {.width = 1000, .detail = RESMON_REPORT_FULL};

TEST(what_was_not_measured)
{
    resmon_run_source sources[] = {
        {.name = "sound", .reason = ""},
        {.name = "remarked", .reason = "not all of it"},
        {.name = "denied", .reason = "no permission", .status = RESMON_EACCES},
        {.name = "shaky", .reason = "it broke", .reads = 3, .failures = 1},
        {.name = "no_hardware", .reason = "there is none", .status = RESMON_ENODEV},
    };
    struct resmon_run run = {.info.state = "finished",
                             .info.label = "",
                             .sources = sources,
                             .source_count = 5,
                             .profile = rm_profile_none()};
    struct rm_buffer buffer;
    rm_buffer_init(&buffer, SIZE_MAX);
    rm_report_write(&buffer, &run, &in_full);
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
TEST(nothing_is_missed)
{
    resmon_run_source sources[] = {
        {.name = "sound", .reason = ""},
        {.name = "no_hardware", .reason = "there is none", .status = RESMON_ENODEV},
    };
    struct resmon_run run = {.info.state = "finished",
                             .info.label = "",
                             .sources = sources,
                             .source_count = 2,
                             .profile = rm_profile_none()};
    struct rm_buffer buffer;
    rm_buffer_init(&buffer, SIZE_MAX);
    rm_report_write(&buffer, &run, &in_full);
    assert_null(strstr(buffer.text, "Not measured"));
    rm_buffer_free(&buffer);
}

/* What is said to be the highest RSS of the run: the kernel's mark where it rose meanwhile. */
TEST(the_highest_rss)
{
    static const double mib = 1048576.0;
    static const struct {
        double sampled, first, last;
        const char *text;
    } cases[] = {
        {100, 40, 160, "160.0 MiB\n"},     /* between two samples */
        {100, 40, 100, "100.0 MiB\n"},     /* at one */
        {100, 160, 160, ">= 100.0 MiB\n"}, /* it was higher before the run */
        {160, 160, 160, "160.0 MiB\n"},
    };
    for (size_t i = 0; i < RM_ARRAY_LEN(cases); i++) {
        resmon_column columns[] = {
            {.metric = rm_metric_own_text("proc.mem.rss"), .instance = "", .kind = RESMON_GAUGE},
            {.metric = rm_metric_own_text("proc.mem.peak_rss"),
             .instance = "",
             .kind = RESMON_GAUGE},
        };
        columns[0].n = 9;
        columns[0].max = cases[i].sampled * mib;
        columns[1].n = 9;
        columns[1].first = cases[i].first * mib;
        columns[1].last = cases[i].last * mib;
        columns[1].max = cases[i].last * mib;
        struct resmon_run run = {.info.state = "finished",
                                 .info.label = "",
                                 .columns = columns,
                                 .column_count = RM_ARRAY_LEN(columns),
                                 .profile = rm_profile_none()};
        struct rm_buffer buffer;
        rm_buffer_init(&buffer, SIZE_MAX);
        rm_report_write(&buffer, &run, &in_full);
        const char *row = strstr(buffer.text, "memory of the process (RSS)");
        assert_non_null(row);
        const char *end = strchr(row, '\n') + 1;
        size_t length = strlen(cases[i].text);
        if ((size_t)(end - row) < length || memcmp(end - length, cases[i].text, length) != 0) {
            fail_msg("%.*s", (int)(end - row), row);
        }
        rm_buffer_free(&buffer);
    }
}

/* What threads cost, together and by kind, and that samples came less often than asked for. */
TEST(the_cost_of_observing)
{
    struct rm_fact facts[] = {
        {.group = "settings", .key = "max_overhead", .value = "0.01", .kind = RM_FACT_NUMBER},
        {.group = "settings", .key = "interval_ms", .value = "1", .kind = RM_FACT_NUMBER},
    };
    struct resmon_run run = {.info.state = "finished",
                             .info.label = "",
                             .info.duration_ns = 10000000000,
                             .info.samples = 1001,
                             .facts = facts,
                             .fact_count = RM_ARRAY_LEN(facts),
                             .profile = rm_profile_none()};
    struct rm_buffer buffer;
    run.info.sampler_cpu_ns = 80080000;
    run.info.skipped_samples = 9000;
    run.info.delivery_cpu_ns = 5000000;
    run.info.handlers_ns = 2000000;
    rm_run_sum_costs(&run.info);
    rm_buffer_init(&buffer, SIZE_MAX);
    rm_report_write(&buffer, &run, &in_full);
    assert_non_null(strstr(buffer.text, "  threads   87.08 ms of CPU time (0.871 % of one CPU): "
                                        "sampling 80.08 ms, delivery 5.000 ms, handlers of stacks "
                                        "2.000 ms\n"));
    assert_non_null(strstr(buffer.text, "  sampling  80.00 us of CPU time a sample;"));
    assert_non_null(strstr(buffer.text,
                           "  pace      requested every 1.000 ms, taken every 10.00 ms "
                           "on average, to stay below 1.0 % of one CPU"));
    rm_buffer_free(&buffer);
}

/* A limit that was far away is nothing to tell; of a killed run it is always told, and whose. */
TEST(memory_limit)
{
    resmon_run_source source = {.name = "cgroup_mem",
                                .reason = "limit, percent and events of the group /outer"};
    resmon_column columns[] = {
        {.metric = rm_metric_own_text("cg.mem.limit"), .instance = "", .kind = RESMON_GAUGE},
        {.metric = rm_metric_own_text("cg.mem.percent"), .instance = "", .kind = RESMON_GAUGE},
        {.metric = rm_metric_own_text("cg.mem.events.max"), .instance = "", .kind = RESMON_COUNTER},
        {.metric = rm_metric_own_text("cg.mem.events.oom_kill"),
         .instance = "",
         .kind = RESMON_COUNTER},
    };
    columns[0].n = 5;
    columns[0].last = 512.0 * 1048576;
    columns[1].n = 5;
    columns[1].last = 83.0;
    columns[1].max = 85.0;
    columns[2].n = 5;
    columns[3].n = 5;
    struct resmon_run run = {.info.state = "stopped",
                             .info.label = "",
                             .sources = &source,
                             .source_count = 1,
                             .columns = columns,
                             .column_count = RM_ARRAY_LEN(columns),
                             .profile = rm_profile_none()};
    struct rm_buffer buffer;
    rm_buffer_init(&buffer, SIZE_MAX);
    rm_report_write(&buffer, &run, &in_full);
    assert_null(strstr(buffer.text, "memory limit"));
    assert_null(strstr(buffer.text, "Not measured"));
    rm_buffer_free(&buffer);
    run.info.state = "interrupted";
    columns[1].max = 98.0;
    columns[1].last = 98.0;
    columns[2].last = 6901.0;
    columns[3].last = 1.0;
    rm_buffer_init(&buffer, SIZE_MAX);
    rm_report_write(&buffer, &run, &in_full);
    assert_non_null(strstr(buffer.text,
                           "\nmemory limit of the cgroup: 512.0 MiB; times at the limit "
                           "(max, failcnt): 6901; processes killed for lack of it (oom_kill): 1; "
                           "at most 98.0 % used, 98.0 % at the last sample\n  limit, percent and "
                           "events of the group "
                           "/outer\n"));
    rm_buffer_free(&buffer);
}

/* What is estimated is marked, and what may be off by more than itself is not shown; the process's
 * CPU time comes first, and each note is there for somebody. */
TEST(figures_of_phases)
{
    resmon_run_scope scopes[] = {
        {.name = "sure",
         .calls = 10,
         .cpu_calls = 10,
         .cpu_ns = {1e9, 1e9, 1e9},
         .cpu_provenance = RESMON_PROVENANCE_MEASURED,
         .pcpu_calls = 10,
         .pcpu_ns = {2e9, 2e9, 2e9},
         .pcpu_provenance = RESMON_PROVENANCE_MEASURED},
        {.name = "about",
         .calls = 10,
         .cpu_calls = 4,
         .cpu_ns = {3e9, 2e9, 4.9e9},
         .cpu_provenance = RESMON_PROVENANCE_SAMPLED,
         .pcpu_calls = 4,
         .pcpu_ns = {4e9, 1e9, 6e9},
         .pcpu_provenance = RESMON_PROVENANCE_SAMPLED},
        {.name = "vague",
         .calls = 10,
         .cpu_calls = 4,
         .cpu_ns = {5e9, 2e9, RM_NAN},
         .cpu_provenance = RESMON_PROVENANCE_SAMPLED,
         .pcpu_calls = 10,
         .pcpu_ns = {6e9, 6e9, 6e9},
         .pcpu_provenance = RESMON_PROVENANCE_SAMPLED},
    };
    resmon_run_source source = {.name = "", .reason = ""};
    struct resmon_run run = {.info.state = "finished",
                             .info.label = "",
                             .sources = &source,
                             .scopes = scopes,
                             .scope_count = RM_ARRAY_LEN(scopes),
                             .profile = rm_profile_none()};
    struct rm_buffer buffer;
    for (size_t i = 0; i < RM_ARRAY_LEN(scopes); i++) {
        scopes[i].parent = -1;
        scopes[i].energy_j = RM_NAN;
    }
    rm_buffer_init(&buffer, SIZE_MAX);
    rm_report_write(&buffer, &run, &in_full);
    const char *text = buffer.text;
    assert_non_null(strstr(text, "longest       CPU  thread CPU\n"));
    assert_non_null(strstr(text, " 2.000 s     1.000 s\n"));
    assert_non_null(strstr(text, "        -    ~3.000 s\n")); /* 1 to 6: wider than 4 */
    assert_non_null(strstr(text, "~6.000 s           -\n"));
    assert_non_null(strstr(text, "-: unknown, the error may exceed"));
    assert_non_null(strstr(text, "children were alive when it began or ended"));
    rm_buffer_free(&buffer);
    run.scope_count = 1;
    rm_buffer_init(&buffer, SIZE_MAX);
    rm_report_write(&buffer, &run, &in_full);
    assert_null(strstr(buffer.text, "the error may exceed"));
    assert_null(strstr(buffer.text, "children lived"));
    rm_buffer_free(&buffer);
}

/* Events that the options name, by their names. */
TEST(events_of_the_user)
{
    resmon_column columns[] = {
        {.metric = "perf.event", .instance = "page-faults", .kind = RESMON_COUNTER},
        {.metric = "perf.event", .instance = "INST_RETIRED:ANY_P", .kind = RESMON_COUNTER},
        {.metric = "perf.event", .instance = "task-clock:u", .kind = RESMON_COUNTER},
        {.metric = "perf.event", .instance = "never-read", .kind = RESMON_COUNTER},
    };
    for (size_t i = 0; i < RM_ARRAY_LEN(columns); i++) {
        columns[i].n = i < 3 ? 5 : 0;
        columns[i].mean = 10;
        columns[i].p95 = 20;
        columns[i].max = 30;
        columns[i].last = 4000 + (double)i;
    }
    struct resmon_run run = {.info.state = "finished",
                             .info.label = "",
                             .columns = columns,
                             .column_count = RM_ARRAY_LEN(columns),
                             .profile = rm_profile_none()};
    struct rm_buffer buffer;
    rm_buffer_init(&buffer, SIZE_MAX);
    rm_report_write(&buffer, &run, &in_full);
    const char *text = buffer.text;
    assert_non_null(strstr(text, "\n  event page-faults         10/s  20/s  30/s   4000\n"));
    assert_non_null(strstr(text, "\n  event INST_RETIRED:ANY_P  10/s  20/s  30/s   4001\n"));
    assert_non_null(strstr(text, "\n  event task-clock:u (ns)   10/s  20/s  30/s   4002\n"));
    assert_null(strstr(text, "never-read"));
    rm_buffer_free(&buffer);
}
