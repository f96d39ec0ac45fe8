/* SPDX-License-Identifier: MIT */
/*
 * Writes for prometheus.py what a program with the library writes:
 *
 *     prometheus_writer texts DIRECTORY     texts of a hostile run, of a real one
 *                                           and of one with every metric there is
 *     prometheus_writer live DIRECTORY      observes itself with a file there until stdin ends
 *     prometheus_writer push URL DIRECTORY  observes itself, pushes at the end, and saves the run
 *     prometheus_writer pod URL NAMESPACE POD FROM TO   what a Prometheus knows of a pod
 *     prometheus_writer url BASE JOB [NAME VALUE]...
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <resmon/resmon.h>

#include "metric/metric.h"
#include "net/address.h"
#include "run/record.h"
#include "unit/made_run.h"

static int failed(const char *what)
{
    (void)fprintf(stderr, "%s: %s\n", what, resmon_last_error());
    return 1;
}

static int put_file(const char *directory, const char *name, const char *text)
{
    char path[4096];
    (void)snprintf(path, sizeof path, "%s/%s", directory, name);
    FILE *file = fopen(path, "w");
    return file != NULL && fputs(text, file) >= 0 && fclose(file) == 0 ? 0 : failed(path);
}

static int write_texts(const resmon_run *run, const char *directory, const char *name)
{
    static const resmon_label labels[] = {{"quoted", "a \"b\" \\ \n# EOF\n"}, {"empty", ""}};
    const resmon_prometheus_options options = {
        .struct_size = sizeof options, .labels = labels, .label_count = 2};
    char file[64];
    char *text = NULL;
    if (resmon_prometheus_text(run, &options, &text) != RESMON_OK) {
        return failed("resmon_prometheus_text");
    }
    (void)snprintf(file, sizeof file, "%s.prom", name);
    int status = put_file(directory, file, text);
    resmon_text_free(text);
    return status;
}

static void work(void)
{
    RESMON_SCOPE("work");
    for (int i = 0; i < 3; i++) {
        RESMON_SCOPE("a/b \"c\"");
        volatile double sum = 0.0;
        for (int k = 0; k < 2000000; k++) {
            sum = sum + k;
        }
    }
}

static resmon_run *real_run(const char *directory)
{
    const resmon_monitor_options options = {
        .struct_size = sizeof options, .interval_ms = 5, .rows = 40, .scopes = RESMON_METER_ALL};
    char path[4096];
    resmon_monitor *monitor = NULL;
    resmon_run *run = NULL;
    if (resmon_monitor_new(&options, &monitor) == RESMON_OK &&
        resmon_monitor_start(monitor) == RESMON_OK) {
        for (int i = 0; i < 10; i++) {
            work();
        }
        (void)resmon_monitor_stop(monitor);
        (void)resmon_monitor_snapshot(monitor, &run);
    }
    resmon_monitor_free(monitor);
    (void)snprintf(path, sizeof path, "%s/real.json", directory);
    if (run != NULL && resmon_run_save(run, path) != RESMON_OK) {
        (void)failed(path);
    }
    return run;
}

/* A column for each metric, whatever this machine has. */
static resmon_run *full_run(void)
{
    resmon_run *run = made_run("stopped", 0);
    size_t count = resmon_metric_count();
    resmon_column *columns =
        run != NULL ? rm_arena_alloc(&run->strings, count, sizeof *columns) : NULL;
    if (columns == NULL) {
        resmon_run_free(run);
        return NULL;
    }
    for (size_t i = 0; i < count; i++) {
        const struct rm_metric *metric = rm_metric_row(i);
        columns[i] = (resmon_column){.metric = rm_metric_name(metric),
                                     .unit = rm_metric_unit(metric),
                                     .instance = "",
                                     .source = "up"};
        rm_record_clear(RM_RECORD_statistics, &columns[i]);
        columns[i].last = 1.0;
    }
    run->columns = columns;
    run->column_count = count;
    run->row_count = 0;
    return run;
}

static int texts(const char *directory)
{
    resmon_run *hostile = made_run("stopped", 1100);
    resmon_run *real = real_run(directory);
    resmon_run *full = full_run();
    int status = hostile == NULL || real == NULL || full == NULL ||
                 write_texts(hostile, directory, "hostile") != 0 ||
                 write_texts(real, directory, "real") != 0 ||
                 write_texts(full, directory, "full") != 0;
    resmon_run_free(hostile);
    resmon_run_free(real);
    resmon_run_free(full);
    return status;
}

static int live(const char *directory)
{
    const resmon_prometheus_options options = {
        .struct_size = sizeof options, .directory = directory, .interval_ms = 100};
    resmon_monitor *monitor = NULL;
    if (resmon_monitor_new(NULL, &monitor) != RESMON_OK ||
        resmon_monitor_add_prometheus(monitor, &options) != RESMON_OK ||
        resmon_monitor_start(monitor) != RESMON_OK) {
        return failed("live");
    }
    while (getchar() != EOF) {
    }
    resmon_status status = resmon_monitor_stop(monitor);
    resmon_monitor_free(monitor);
    return status == RESMON_OK ? 0 : failed("stop");
}

static int push(const char *to, const char *directory)
{
    static const resmon_label labels[] = {{"place", "a/b \"c\""}};
    const resmon_pushgateway_options options = {.struct_size = sizeof options,
                                                .url = to,
                                                .labels = labels,
                                                .label_count = 1,
                                                .interval_ms = 50};
    char path[4096];
    resmon_monitor *monitor = NULL;
    const resmon_monitor_options every = {.struct_size = sizeof every, .interval_ms = 10};
    if (resmon_monitor_new(&every, &monitor) != RESMON_OK ||
        resmon_monitor_add_pushgateway(monitor, &options) != RESMON_OK ||
        resmon_monitor_start(monitor) != RESMON_OK) {
        return failed("push");
    }
    for (int i = 0; i < 10; i++) {
        work();
    }
    resmon_status status = resmon_monitor_stop(monitor);
    int result = status == RESMON_OK ? 0 : failed("stop");
    (void)snprintf(path, sizeof path, "%s/pushed.json", directory);
    if (resmon_monitor_save(monitor, path) != RESMON_OK) {
        result = failed(path);
    }
    resmon_monitor_free(monitor);
    return result;
}

static void print_energy(const resmon_pod_energy *energy)
{
    (void)printf("%.17g %.17g %.17g %.17g %.17g %.17g %.17g %.17g\n", energy->total_j,
                 energy->core_j, energy->uncore_j, energy->package_j, energy->dram_j,
                 energy->other_j, energy->gpu_j, energy->mean_w);
}

/* URL NAMESPACE POD */
static int peak(char **arguments)
{
    const resmon_promql_options options = {.struct_size = sizeof options, .url = arguments[0]};
    resmon_pod_peak peak = {.struct_size = sizeof peak};
    if (resmon_promql_pod_peak(&options, arguments[1], arguments[2], 864000, &peak) != RESMON_OK) {
        return failed("peak");
    }
    (void)printf("%.17g %.17g %.17g %.17g\n", peak.cpu_cores, peak.memory_bytes, peak.gpu_percent,
                 peak.gpu_memory_bytes);
    return 0;
}

/* URL NAMESPACE POD FROM TO */
static int pod(char **arguments)
{
    const resmon_promql_options options = {.struct_size = sizeof options, .url = arguments[0]};
    resmon_pod_energy energy = {.struct_size = sizeof energy};
    if (resmon_promql_pod_energy(&options, arguments[1], arguments[2], strtod(arguments[3], NULL),
                                 strtod(arguments[4], NULL), &energy) != RESMON_OK) {
        return failed("pod");
    }
    print_energy(&energy);
    return 0;
}

/* URL NAMESPACE LABEL=VALUE FROM TO */
static int pods(char **arguments)
{
    const resmon_promql_options options = {.struct_size = sizeof options, .url = arguments[0]};
    resmon_pod_energy energy = {.struct_size = sizeof energy};
    if (resmon_promql_pods_energy(&options, arguments[1], arguments[2], strtod(arguments[3], NULL),
                                  strtod(arguments[4], NULL), &energy) != RESMON_OK) {
        return failed("pods");
    }
    print_energy(&energy);
    return 0;
}

static int url(int count, char **arguments)
{
    resmon_label given[RM_MAX_LABELS];
    size_t label_count = 0;
    struct rm_labels labels;
    struct rm_buffer text;
    for (int i = 2; i + 1 < count && label_count < RM_MAX_LABELS; i += 2) {
        given[label_count++] = (resmon_label){arguments[i], arguments[i + 1]};
    }
    if (rm_labels_take(given, label_count, &labels) != RESMON_OK ||
        rm_push_url(arguments[0], arguments[1], &labels, &text) != RESMON_OK) {
        return failed("url");
    }
    (void)puts(text.text);
    rm_buffer_free(&text);
    rm_labels_free(&labels);
    return 0;
}

int main(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], "texts") == 0) {
        return texts(argv[2]);
    }
    if (argc == 3 && strcmp(argv[1], "live") == 0) {
        return live(argv[2]);
    }
    if (argc == 5 && strcmp(argv[1], "peak") == 0) {
        return peak(argv + 2);
    }
    if (argc == 7 && strcmp(argv[1], "pods") == 0) {
        return pods(argv + 2);
    }
    if (argc == 7 && strcmp(argv[1], "pod") == 0) {
        return pod(argv + 2);
    }
    if (argc == 4 && strcmp(argv[1], "push") == 0) {
        return push(argv[2], argv[3]);
    }
    if (argc >= 4 && strcmp(argv[1], "url") == 0) {
        return url(argc - 2, argv + 2);
    }
    return 2;
}
