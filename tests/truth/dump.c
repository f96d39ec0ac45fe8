/* SPDX-License-Identifier: MIT */
/*
 * truth_dump PID: observes a process and, for each line on its standard input, takes a sample and
 * prints it:
 *   metric[instance] value     counters: growth since the start; "-": not read
 *   ! source reason            what is not available
 *   .                          end of the sample
 * Public API only; driven by truth_psutil.py.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <resmon/resmon.h>

static void print_columns(const resmon_run *run)
{
    size_t rows = resmon_run_row_count(run);
    for (size_t c = 0; c < resmon_run_column_count(run) && rows > 0; c++) {
        resmon_column column = {.struct_size = sizeof column};
        const double *last = resmon_run_series(run, c, RESMON_SERIES_LAST);
        if (resmon_run_get_column(run, c, &column) != RESMON_OK || last == NULL) {
            continue;
        }
        (void)printf(column.instance[0] != '\0' ? "%s[%s] " : "%s%s ", column.metric,
                     column.instance);
        if (isnan(last[rows - 1])) {
            (void)printf("-\n");
        } else {
            (void)printf("%.17g\n", last[rows - 1]);
        }
    }
}

static void print_failures(const resmon_run *run)
{
    for (size_t s = 0; s < resmon_run_source_count(run); s++) {
        resmon_run_source source = {.struct_size = sizeof source};
        if (resmon_run_get_source(run, s, &source) == RESMON_OK && source.status != RESMON_OK) {
            (void)printf("! %s %s\n", source.name, source.reason);
        }
    }
}

static int print_sample(resmon_monitor *monitor)
{
    resmon_run *run;
    if (resmon_monitor_sample_now(monitor) != RESMON_OK ||
        resmon_monitor_snapshot(monitor, &run) != RESMON_OK) {
        return 1;
    }
    print_columns(run);
    print_failures(run);
    (void)printf(".\n");
    (void)fflush(stdout);
    resmon_run_free(run);
    return 0;
}

static int fail(const char *what)
{
    (void)fprintf(stderr, "truth_dump: %s: %s\n", what, resmon_last_error());
    return 1;
}

int main(int argc, char **argv)
{
    char line[64];
    resmon_monitor *monitor;
    if (argc != 2) {
        (void)fprintf(stderr, "usage: truth_dump PID < one line per sample\n");
        return 2;
    }
    resmon_monitor_options options = {
        .struct_size = sizeof options,
        .interval_ms = 86400000, /* samples are taken on request only */
        .max_overhead = 1.0,     /* of all sources, every time */
        .flags = RESMON_FLAG_SMAPS,
        .pid = strtoll(argv[1], NULL, 10),
    };
    if (resmon_monitor_new(&options, &monitor) != RESMON_OK) {
        return fail("new");
    }
    int code = resmon_monitor_start(monitor) == RESMON_OK ? 0 : fail("start");
    while (code == 0 && fgets(line, sizeof line, stdin) != NULL) {
        code = print_sample(monitor) == 0 ? 0 : fail("sample");
    }
    resmon_monitor_free(monitor);
    return code;
}
