/* SPDX-License-Identifier: MIT */
/* results: a monitor in the code, and its results as numbers: of the run, and of each scope. */
#include <stdio.h>
#include <stdlib.h>

#include <resmon/resmon.h>

#define NUMBERS ((size_t)4 << 20)

static double work(void)
{
    RESMON_FUNCTION();
    double sum = 0.0;
    double *numbers = malloc(NUMBERS * sizeof *numbers);
    for (size_t i = 0; numbers != NULL && i < NUMBERS; i++) {
        numbers[i] = (double)(i * 7919 % NUMBERS);
    }
    for (size_t i = 0; numbers != NULL && i < NUMBERS; i++) {
        sum += numbers[i * 104729 % NUMBERS];
    }
    free(numbers);
    return sum;
}

static void print(const resmon_run *run)
{
    resmon_headline headline = {.struct_size = sizeof headline};
    resmon_run_scope scope = {.struct_size = sizeof scope};
    if (resmon_run_get_headline(run, &headline) == RESMON_OK) {
        printf("run: %.3f s, %.3f s of CPU time, peak %.1f MiB\n", headline.wall_s, headline.cpu_s,
               headline.rss_peak_bytes / 1048576.0);
    }
    for (size_t i = 0; resmon_run_get_scope(run, i, &scope) == RESMON_OK; i++) {
        printf("%s: %llu calls, %.3f s, thread CPU %.3f s\n", scope.name,
               (unsigned long long)scope.calls, (double)scope.wall_ns * 1e-9,
               scope.cpu_ns.value * 1e-9);
    }
}

int main(void)
{
    const resmon_monitor_options options = {
        .struct_size = sizeof options,
        .scopes = RESMON_METER_WALL | RESMON_METER_CPU,
    };
    resmon_monitor *monitor = NULL;
    resmon_run *run = NULL;
    if (resmon_monitor_new(&options, &monitor) != RESMON_OK ||
        resmon_monitor_start(monitor) != RESMON_OK) {
        fprintf(stderr, "%s\n", resmon_last_error()); /* the program works without, too */
    }
    printf("sum: %.0f\n", work());
    if (resmon_monitor_stop(monitor) == RESMON_OK &&
        resmon_monitor_snapshot(monitor, &run) == RESMON_OK) {
        print(run);
    }
    resmon_run_free(run);
    resmon_monitor_free(monitor);
    return EXIT_SUCCESS;
}
