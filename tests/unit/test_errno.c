/* SPDX-License-Identifier: MIT */
/*
 * No public function changes errno: all of them, called where all goes well, where faults are
 * injected, and where a filter lets hardly any system call through.  The headers are read, so that
 * a new function is in the table or the test fails.
 */
#define _GNU_SOURCE /* MAP_ANONYMOUS */
#include "runs.h"

#include <dirent.h>
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fault.h"
#include "sanitizer.h"

#define UNUSUAL 4242

/* What the functions are called with; made before anything fails. */
static struct {
    resmon_monitor *monitor; /* runs, with every meter, scope events and lines */
    resmon_monitor *other;   /* made and freed on the way */
    resmon_run *run;
    resmon_run *made;
    resmon_doctor *doctor, *made_doctor;
    resmon_job *job, *made_job;
    resmon_hostlist *hosts, *made_hosts;
    resmon_comparison comparison;
    resmon_bench *bench, *made_bench;
    resmon_diff *diff, *made_diff;
    resmon_trend *trend, *made_trend;
    resmon_merge *merge, *made_merge;
    resmon_site *site;
    resmon_timed timed;
    resmon_task *task;
    uint64_t scope, inner, watch;
    char *text;
    char *document;
    char path[7][128];
} it;

#define OUT(type) (&(type){.struct_size = sizeof(type)})
#define URI       "http://127.0.0.1:9" /* nobody listens */

static void free_text(void)
{
    resmon_text_free(it.text);
    it.text = NULL;
}

static void free_made(void)
{
    resmon_run_free(it.made);
    it.made = NULL;
}

static int32_t receive(void *context, const resmon_run *run)
{
    (void)context, (void)run;
    return RESMON_OK;
}

static int32_t do_nothing(void *context)
{
    (void)context;
    return RESMON_OK;
}

static resmon_site here = {.name = "here", .file = __FILE__, .function = "test", .line = 1};
static resmon_site inner = {.name = "inner", .file = __FILE__, .function = "test", .line = 2};
static resmon_line_site line = {__FILE__, "test", 3, 0, 0};

/* ---- every function ------------------------------------------------------------------------- */

#define RUN_ROWS(R)                                                                                \
    R(resmon_run_get_info, (void)resmon_run_get_info(it.run, OUT(resmon_run_info)))                \
    R(resmon_run_fact, (void)resmon_run_fact(it.run, "run", "name"))                               \
    R(resmon_run_fact_count, (void)resmon_run_fact_count(it.run))                                  \
    R(resmon_run_get_fact, (void)resmon_run_get_fact(it.run, 0, OUT(resmon_run_fact_entry)))       \
    R(resmon_run_tag_count, (void)resmon_run_tag_count(it.run))                                    \
    R(resmon_run_get_tag, (void)resmon_run_get_tag(it.run, 0, OUT(resmon_run_tag)))                \
    R(resmon_run_source_count, (void)resmon_run_source_count(it.run))                              \
    R(resmon_run_get_source, (void)resmon_run_get_source(it.run, 0, OUT(resmon_run_source)))       \
    R(resmon_run_scope_count, (void)resmon_run_scope_count(it.run))                                \
    R(resmon_run_get_scope, (void)resmon_run_get_scope(it.run, 0, OUT(resmon_run_scope)))          \
    R(resmon_run_line_count, (void)resmon_run_line_count(it.run))                                  \
    R(resmon_run_get_line, (void)resmon_run_get_line(it.run, 0, OUT(resmon_run_line)))             \
    R(resmon_run_counter_count, (void)resmon_run_counter_count(it.run))                            \
    R(resmon_run_get_counter, (void)resmon_run_get_counter(it.run, 0, OUT(resmon_run_counter)))    \
    R(resmon_run_scope_name_count, (void)resmon_run_scope_name_count(it.run))                      \
    R(resmon_run_get_scope_name,                                                                   \
      (void)resmon_run_get_scope_name(it.run, 0, OUT(resmon_run_scope)))                           \
    R(resmon_run_event_count, (void)resmon_run_event_count(it.run))                                \
    R(resmon_run_get_event, (void)resmon_run_get_event(it.run, 0, OUT(resmon_run_event)))          \
    R(resmon_run_stack_count, (void)resmon_run_stack_count(it.run))                                \
    R(resmon_run_get_stack, (void)resmon_run_get_stack(it.run, 0, OUT(resmon_run_stack)))          \
    R(resmon_run_get_frame, (void)resmon_run_get_frame(it.run, 0, 0, OUT(resmon_run_frame)))       \
    R(resmon_run_get_stack_info,                                                                   \
      (void)resmon_run_get_stack_info(it.run, 0, OUT(resmon_run_stack_info)))                      \
    R(resmon_stack_interval,                                                                       \
      (void)resmon_stack_interval(1.0, 0.5, 2.0, &(double){0}, &(double){0}))                      \
    R(resmon_run_keep_frames, (void)resmon_run_keep_frames(it.run, 3))                             \
    R(resmon_name_source, (void)resmon_name_source("/cell.py", "In [1]", "1"))                     \
    R(resmon_run_stack_loss, (void)resmon_run_stack_loss(it.run, 0, &(uint64_t){0}))               \
    R(resmon_run_peak_stack_count, (void)resmon_run_peak_stack_count(it.run))                      \
    R(resmon_run_get_peak_stack,                                                                   \
      (void)resmon_run_get_peak_stack(it.run, 0, OUT(resmon_run_peak_stack)))                      \
    R(resmon_run_get_peak_frame,                                                                   \
      (void)resmon_run_get_peak_frame(it.run, 0, 0, OUT(resmon_run_frame)))                        \
    R(resmon_run_get_energy, (void)resmon_run_get_energy(it.run, OUT(resmon_energy)))              \
    R(resmon_run_energy_part_count, (void)resmon_run_energy_part_count(it.run))                    \
    R(resmon_run_get_energy_part,                                                                  \
      (void)resmon_run_get_energy_part(it.run, 0, OUT(resmon_energy_part)))                        \
    R(resmon_run_node_figure, (void)resmon_run_node_figure(it.run, 0))                             \
    R(resmon_run_column_count, (void)resmon_run_column_count(it.run))                              \
    R(resmon_run_row_count, (void)resmon_run_row_count(it.run))                                    \
    R(resmon_run_get_column, (void)resmon_run_get_column(it.run, 0, OUT(resmon_column)))           \
    R(resmon_run_find_column,                                                                      \
      (void)resmon_run_find_column(it.run, "proc.mem.rss", NULL, &(size_t){0}))                    \
    R(resmon_run_series, (void)resmon_run_series(it.run, 0, RESMON_SERIES_LAST))                   \
    R(resmon_run_row_first_ns, (void)resmon_run_row_first_ns(it.run))                              \
    R(resmon_run_row_last_ns, (void)resmon_run_row_last_ns(it.run))                                \
    R(resmon_run_row_samples, (void)resmon_run_row_samples(it.run))                                \
    R(resmon_run_save, (void)resmon_run_save(it.run, it.path[0]))                                  \
    R(resmon_run_save_csv, (void)resmon_run_save_csv(it.run, it.path[1]))                          \
    R(resmon_run_save_folded, (void)resmon_run_save_folded(it.run, RESMON_STACK_CPU, it.path[2]))  \
    R(resmon_run_save_pprof, (void)resmon_run_save_pprof(it.run, it.path[2]))                      \
    R(resmon_trace_save, (void)resmon_trace_save((const resmon_run *[]){it.run}, 1, it.path[2]))   \
    R(resmon_run_append_emissions, {                                                               \
        resmon_emissions_options options = {sizeof options, it.path[3], 0};                        \
        (void)resmon_run_append_emissions(it.run, &options);                                       \
    })                                                                                             \
    R(resmon_run_push_mlflow, {                                                                    \
        resmon_mlflow_options options = {.struct_size = sizeof options,                            \
                                         .tracking_uri = URI,                                      \
                                         .timeout_ms = 20,                                         \
                                         .budget_ms = 20};                                         \
        (void)resmon_run_push_mlflow(it.run, &options);                                            \
    })                                                                                             \
    R(resmon_run_push_mlflow_text,                                                                 \
      (void)resmon_run_push_mlflow_text(it.run, "tracking_uri=" URI ",timeout=20ms,budget=20ms"))  \
    R(resmon_run_mlflow_requests, {                                                                \
        char *text = NULL;                                                                         \
        (void)resmon_run_mlflow_requests(it.run, "tracking_uri=" URI, &text);                      \
        resmon_text_free(text);                                                                    \
    })                                                                                             \
    R(resmon_run_export_arrow, {                                                                   \
        struct ArrowArrayStream stream = {0};                                                      \
        (void)resmon_run_export_arrow(it.run, RESMON_SERIES_LAST, &stream);                        \
        if (stream.release != NULL) {                                                              \
            stream.release(&stream);                                                               \
        }                                                                                          \
    })                                                                                             \
    R(resmon_run_document, (void)resmon_run_document(it.run, &it.text))                            \
    R(resmon_text_free, free_text())                                                               \
    R(resmon_prometheus_text, (void)resmon_prometheus_text(it.run, NULL, &it.text); free_text())   \
    R(resmon_run_get_headline, (void)resmon_run_get_headline(it.run, OUT(resmon_headline)))        \
    R(resmon_table_name, (void)resmon_table_name(0))                                               \
    R(resmon_report_table, (void)resmon_report_table(it.run, "scopes", NULL, &it.text);            \
      free_text())                                                                                 \
    R(resmon_report_text, (void)resmon_report_text(it.run, NULL, &it.text); free_text())           \
    R(resmon_report_lines, (void)resmon_report_lines(it.run, NULL, &it.text); free_text())         \
    R(resmon_report_page,                                                                          \
      (void)resmon_report_page((const resmon_run *[]){it.run}, 1, NULL, &it.text);                 \
      free_text())                                                                                 \
    R(resmon_report_save,                                                                          \
      (void)resmon_report_save((const resmon_run *[]){it.run}, 1, NULL, it.path[2]))               \
    R(resmon_run_parse, (void)resmon_run_parse(it.document, strlen(it.document), &it.made))        \
    R(resmon_run_free, free_made())                                                                \
    R(resmon_run_load, (void)resmon_run_load(it.path[0], &it.made); free_made())                   \
    R(resmon_compare_runs,                                                                         \
      (void)resmon_compare_runs((const resmon_run *[]){it.run}, 1, (const resmon_run *[]){it.run}, \
                                1, NULL, OUT(resmon_comparison)))                                  \
    R(resmon_comparison_text, (void)resmon_comparison_text(&it.comparison, &it.text); free_text())

#define COMPARE_ROWS(R)                                                                        \
    R(resmon_bench_new, (void)resmon_bench_new(&it.made_bench))                                \
    R(                                                                                         \
        resmon_bench_add,                                                                      \
        if (it.made_bench != NULL) { (void)resmon_bench_add(it.made_bench, "a", it.run); })    \
    R(                                                                                         \
        resmon_bench_add_usage, if (it.made_bench != NULL) {                                   \
            const resmon_run_usage usage = {.struct_size = sizeof usage, .user_s = 1.0};       \
            (void)resmon_bench_add_usage(it.made_bench, "a", &usage, NULL);                    \
        })                                                                                     \
    R(                                                                                         \
        resmon_bench_run, if (it.made_bench != NULL) {                                         \
            const resmon_bench_options options = {sizeof options, 2, 1, 0, 0};                 \
            (void)resmon_bench_run(it.made_bench, "b", do_nothing, NULL, &options);            \
        })                                                                                     \
    R(resmon_bench_free, resmon_bench_free(it.made_bench); it.made_bench = NULL)               \
    R(                                                                                         \
        resmon_bench_load, if (resmon_bench_load(it.path[6], &it.made_bench) == RESMON_OK) {   \
            resmon_bench_free(it.made_bench);                                                  \
        } it.made_bench = NULL)                                                                \
    R(resmon_bench_count, (void)resmon_bench_count(it.bench))                                  \
    R(resmon_bench_name, (void)resmon_bench_name(it.bench, 0))                                 \
    R(resmon_bench_run_count, (void)resmon_bench_run_count(it.bench, 0))                       \
    R(resmon_bench_text, (void)resmon_bench_text(it.bench, "json", &it.text); free_text())     \
    R(resmon_diff_make, (void)resmon_diff_make(it.bench, 0, it.bench, 0, NULL, &it.made_diff)) \
    R(resmon_diff_free, resmon_diff_free(it.made_diff); it.made_diff = NULL)                   \
    R(resmon_diff_set_runs, (void)resmon_diff_set_runs(it.diff, NULL, NULL))                   \
    R(resmon_diff_verdict, (void)resmon_diff_verdict(it.diff))                                 \
    R(resmon_diff_count, (void)resmon_diff_count(it.diff))                                     \
    R(resmon_diff_get, (void)resmon_diff_get(it.diff, 0, OUT(resmon_diff_row)))                \
    R(resmon_diff_text, (void)resmon_diff_text(it.diff, "text", 100, 1, &it.text); free_text())

#define TREND_ROWS(R)                                                            \
    R(resmon_trend_new, (void)resmon_trend_new(&it.made_trend))                  \
    R(resmon_trend_free, resmon_trend_free(it.made_trend); it.made_trend = NULL) \
    R(resmon_trend_add, (void)resmon_trend_add(it.trend, "a", it.bench))         \
    R(resmon_trend_text, (void)resmon_trend_text(it.trend, "text", 100, &it.text); free_text())

#define LIBRARY_ROWS(R)                                                                           \
    R(resmon_version, (void)resmon_version())                                                     \
    R(resmon_status_name, (void)resmon_status_name(RESMON_EIO))                                   \
    R(resmon_strerror, (void)resmon_strerror(RESMON_EIO))                                         \
    R(resmon_end_name, (void)resmon_end_name(RESMON_END_KILLED))                                  \
    R(resmon_provenance_name, (void)resmon_provenance_name(RESMON_PROVENANCE_SHARED))             \
    R(resmon_last_error, (void)resmon_last_error())                                               \
    R(resmon_set_log, resmon_set_log(NULL, NULL, 0))                                              \
    R(resmon_metric_count, (void)resmon_metric_count())                                           \
    R(resmon_metric_at, (void)resmon_metric_at(0, OUT(resmon_metric)))                            \
    R(resmon_metric_find, (void)resmon_metric_find("proc.mem.rss", OUT(resmon_metric)))           \
    R(resmon_view_count, (void)resmon_view_count())                                               \
    R(resmon_view_at, (void)resmon_view_at(0, OUT(resmon_view)))                                  \
    R(resmon_parse_value, (void)resmon_parse_value("s", "10ms", &(double){0}))                    \
    R(resmon_format_value, {                                                                      \
        char text[RESMON_VALUE_BYTES];                                                            \
        (void)resmon_format_value("B", 1.0, text, sizeof text);                                   \
    })                                                                                            \
    R(resmon_node_figure_count, (void)resmon_node_figure_count())                                 \
    R(resmon_node_figure_name, (void)resmon_node_figure_name(0))                                  \
    R(resmon_carbon_find, (void)resmon_carbon_find(NULL, OUT(resmon_carbon_intensity)))           \
    R(resmon_carbon_convert, (void)resmon_carbon_convert(1.0, NULL, OUT(resmon_carbon_cost)))     \
    R(resmon_job_detect, (void)resmon_job_detect(&it.made_job))                                   \
    R(resmon_job_free, resmon_job_free(it.made_job); it.made_job = NULL)                          \
    R(resmon_job_get_info, (void)resmon_job_get_info(it.job, OUT(resmon_job_info)))               \
    R(resmon_job_host_count, (void)resmon_job_host_count(it.job))                                 \
    R(resmon_job_host, (void)resmon_job_host(it.job, 0))                                          \
    R(resmon_job_cgroup, (void)resmon_job_cgroup("7", &it.text); free_text())                     \
    R(resmon_job_is_shared_variable, (void)resmon_job_is_shared_variable("PBS_JOBID"))            \
    R(resmon_hostlist_expand, (void)resmon_hostlist_expand("n[1-3]", &it.made_hosts))             \
    R(resmon_hostlist_free, resmon_hostlist_free(it.made_hosts); it.made_hosts = NULL)            \
    R(resmon_hostlist_count, (void)resmon_hostlist_count(it.hosts))                               \
    R(resmon_hostlist_name, (void)resmon_hostlist_name(it.hosts, 0))                              \
    R(resmon_doctor_examine, (void)resmon_doctor_examine(NULL, &it.made_doctor))                  \
    R(resmon_doctor_free, resmon_doctor_free(it.made_doctor); it.made_doctor = NULL)              \
    R(resmon_doctor_entry_count, (void)resmon_doctor_entry_count(it.doctor))                      \
    R(resmon_doctor_get_entry,                                                                    \
      (void)resmon_doctor_get_entry(it.doctor, 0, OUT(resmon_doctor_entry)))                      \
    R(resmon_doctor_document, (void)resmon_doctor_document(it.doctor, &it.text); free_text())     \
    R(resmon_doctor_report, (void)resmon_doctor_report(it.doctor, &it.text); free_text())         \
    R(resmon_doctor_rule, (void)resmon_doctor_rule(it.doctor, RESMON_DOCTOR_FILE_UDEV, &it.text); \
      free_text())                                                                                \
    R(resmon_promql_value, {                                                                      \
        resmon_promql_options options = {                                                         \
            .struct_size = sizeof options, .url = URI, .timeout_ms = 20};                         \
        (void)resmon_promql_value(&options, "up", 0.0, &(double){0});                             \
    })                                                                                            \
    R(resmon_promql_pod_peak, {                                                                   \
        resmon_promql_options options = {                                                         \
            .struct_size = sizeof options, .url = URI, .timeout_ms = 20};                         \
        (void)resmon_promql_pod_peak(&options, "a", "b", 60.0, OUT(resmon_pod_peak));             \
    })                                                                                            \
    R(resmon_promql_pod_energy, {                                                                 \
        resmon_promql_options options = {                                                         \
            .struct_size = sizeof options, .url = URI, .timeout_ms = 20};                         \
        (void)resmon_promql_pod_energy(&options, "a", "b", 0.0, 1.0, OUT(resmon_pod_energy));     \
    })                                                                                            \
    R(resmon_promql_pods_energy, {                                                                \
        resmon_promql_options options = {                                                         \
            .struct_size = sizeof options, .url = URI, .timeout_ms = 20};                         \
        (void)resmon_promql_pods_energy(&options, "a", "b=c", 0.0, 1.0, OUT(resmon_pod_energy));  \
    })                                                                                            \
    R(resmon_site_intern, (void)resmon_site_intern("a name", &it.site))                           \
    R(resmon_site_intern_at, (void)resmon_site_intern_at("a name", "f.c", "f", 1, &it.site))

#define END_ROWS(R)                                                                          \
    R(resmon_run_get_end, (void)resmon_run_get_end(it.run, OUT(resmon_run_end)))             \
    R(resmon_run_get_usage, (void)resmon_run_get_usage(it.run, OUT(resmon_run_usage)))       \
    R(resmon_monitor_set_begin, {                                                            \
        const resmon_run_usage usage = {.struct_size = sizeof usage, .user_s = 1.0};         \
        (void)resmon_monitor_set_begin(it.monitor, 1, &usage);                               \
    })                                                                                       \
    R(resmon_monitor_set_usage, {                                                            \
        const resmon_run_usage usage = {.struct_size = sizeof usage, .user_s = 1.0};         \
        (void)resmon_monitor_set_usage(it.monitor, &usage);                                  \
    })                                                                                       \
    R(resmon_monitor_set_end, {                                                              \
        const resmon_run_end end = {.struct_size = sizeof end, .reason = RESMON_END_FAILED}; \
        (void)resmon_monitor_set_end(it.monitor, &end);                                      \
    })                                                                                       \
    R(resmon_monitor_stop_at_exit, (void)resmon_monitor_stop_at_exit(NULL))                  \
    R(resmon_program_set_end, {                                                              \
        const resmon_run_end end = {.struct_size = sizeof end, .reason = RESMON_END_FAILED}; \
        (void)resmon_program_set_end(&end);                                                  \
    })                                                                                       \
    R(resmon_program_end_on_signals, (void)resmon_program_end_on_signals())                  \
    R(resmon_program_finish, (void)resmon_program_finish(0))

/* An own site, new at each walk: the first visit of a path is the slow one. */
#define SCOPE_ROWS(R)                                                                      \
    R(resmon_scope_begin, it.scope = resmon_scope_begin(&here);                            \
      it.inner = resmon_scope_begin(&inner); resmon_scope_end(resmon_scope_begin(&inner))) \
    R(resmon_line, resmon_line(&line); resmon_line(&line))                                 \
    R(resmon_scope_fail, resmon_scope_fail(it.inner); resmon_scope_fail(it.scope))         \
    R(resmon_scope_resumed, resmon_scope_resumed(it.inner))                                \
    R(resmon_scope_end, resmon_scope_end(it.inner); resmon_scope_end(it.scope);            \
      resmon_scope_end(it.scope))                                                          \
    R(resmon_scope_here, (void)resmon_scope_here())                                        \
    R(resmon_scope_begin_named, resmon_scope_end(resmon_scope_begin_named("named", 5)))    \
    R(resmon_scope_begin_under, it.scope = resmon_scope_begin(&here);                      \
      resmon_scope_end(resmon_scope_begin_under(&inner, resmon_scope_here(), 0));          \
      resmon_scope_end(it.scope))                                                          \
    R(resmon_task_begin, (void)resmon_task_begin(&here, 0, 0, &it.task))                   \
    R(resmon_task_here, (void)resmon_task_here(it.task))                                   \
    R(resmon_task_fail, resmon_task_fail(it.task))                                         \
    R(resmon_task_end, resmon_task_end(it.task); it.task = NULL)                           \
    R(resmon_timed_watch,                                                                  \
      resmon_timed_watch(&here, RESMON_METER_RSS | RESMON_METER_WALL, &it.timed);          \
      resmon_timed_end(&it.timed))                                                         \
    R(resmon_timed_begin,                                                                  \
      resmon_timed_begin(&here, RESMON_METER_RSS | RESMON_METER_WALL, &it.timed))          \
    R(resmon_timed_end, resmon_timed_end(&it.timed))                                       \
    R(resmon_timed_take, resmon_timed_begin(&here, RESMON_METER_RSS, &it.timed);           \
      (void)resmon_timed_take(&it.timed, OUT(resmon_watched)))                             \
    R(resmon_watch_begin, (void)resmon_watch_begin(RESMON_METER_ALL, &it.watch))           \
    R(resmon_watch_lap, (void)resmon_watch_lap(it.watch, OUT(resmon_watched)))             \
    R(resmon_watch_end, (void)resmon_watch_end(it.watch, OUT(resmon_watched)))

/* `other` is stopped before it has sent anything: its sinks are those of files. */
#define MONITOR_ROWS(R)                                                                           \
    R(resmon_monitor_tag, (void)resmon_monitor_tag(it.monitor, "tag"))                            \
    R(resmon_monitor_set_label, (void)resmon_monitor_set_label(it.monitor, "label"))              \
    R(resmon_monitor_sample_now, (void)resmon_monitor_sample_now(it.monitor))                     \
    R(resmon_monitor_snapshot, (void)resmon_monitor_snapshot(it.monitor, &it.made); free_made())  \
    R(resmon_monitor_summary, (void)resmon_monitor_summary(it.monitor, &it.made); free_made())    \
    R(resmon_monitor_scopes, (void)resmon_monitor_scopes(it.monitor, &it.made); free_made())      \
    R(resmon_monitor_sources, (void)resmon_monitor_sources(it.monitor, &it.made); free_made())    \
    R(resmon_monitor_remarks, (void)resmon_monitor_remarks(it.monitor, &it.text); free_text())    \
    R(resmon_load_reader, (void)resmon_load_reader())                                             \
    R(resmon_monitor_save, (void)resmon_monitor_save(it.monitor, it.path[4]))                     \
    R(resmon_monitor_new, {                                                                       \
        resmon_monitor_options options = {.struct_size = sizeof options,                          \
                                          .domains = RESMON_DOMAIN_PROCESS,                       \
                                          .interval_ms = 3600000,                                 \
                                          .flags = RESMON_FLAG_NO_SCOPES};                        \
        (void)resmon_monitor_new(&options, &it.other);                                            \
    })                                                                                            \
    R(resmon_monitor_new_text, {                                                                  \
        resmon_monitor *made = NULL;                                                              \
        (void)resmon_monitor_new_text("scopes=none,csv=x", &made);                                \
        resmon_monitor_free(made);                                                                \
    })                                                                                            \
    R(resmon_monitor_add, (void)resmon_monitor_add(it.other, "trace", it.path[5]))                \
    R(resmon_option_count, (void)resmon_option_count())                                           \
    R(resmon_option_at, (void)resmon_option_at(0, OUT(resmon_option)))                            \
    R(resmon_option_bits, (void)resmon_option_bits("scopes", "cpu", &(uint64_t){0}))              \
    R(resmon_option_text, (void)resmon_option_text(&it.text); free_text())                        \
    R(resmon_monitor_join, (void)resmon_monitor_join(it.other, "/nonexistent/run.rec"))           \
    R(resmon_merge_new, (void)resmon_merge_new(&it.made_merge))                                   \
    R(resmon_merge_free, resmon_merge_free(it.made_merge); it.made_merge = NULL)                  \
    R(resmon_merge_add, (void)resmon_merge_add(it.merge, it.run))                                 \
    R(resmon_merge_run, (void)resmon_merge_run(it.merge, &it.made); free_made())                  \
    R(resmon_job_text, (void)resmon_job_text(it.run, "seff", &it.text); free_text())              \
    R(resmon_run_node_count, (void)resmon_run_node_count(it.run))                                 \
    R(resmon_run_get_node, (void)resmon_run_get_node(it.run, 0, OUT(resmon_run_node)))            \
    R(resmon_run_rank_count, (void)resmon_run_rank_count(it.run))                                 \
    R(resmon_run_get_rank, (void)resmon_run_get_rank(it.run, 0, OUT(resmon_run_rank)))            \
    R(resmon_run_get_scope_spread,                                                                \
      (void)resmon_run_get_scope_spread(it.run, 0, OUT(resmon_scope_spread)))                     \
    R(resmon_run_scope_walls, (void)resmon_run_scope_walls(it.run, 0))                            \
    R(resmon_run_process_count, (void)resmon_run_process_count(it.run))                           \
    R(resmon_run_get_process, (void)resmon_run_get_process(it.run, 0, OUT(resmon_run_process)))   \
    R(resmon_sink_kind_count, (void)resmon_sink_kind_count())                                     \
    R(resmon_sink_kind_at, (void)resmon_sink_kind_at(0, OUT(resmon_sink_kind)))                   \
    R(resmon_sink_kind_of_file,                                                                   \
      (void)resmon_sink_kind_of_file("/x/run.csv", OUT(resmon_sink_kind)))                        \
    R(resmon_run_export, (void)resmon_run_export(it.run, "json", "/nonexistent/run.json"))        \
    R(resmon_monitor_add_sink, {                                                                  \
        resmon_sink_ops ops = {.struct_size = sizeof ops, .name = "ours", .start = receive};      \
        (void)resmon_monitor_add_sink(it.other, &ops, NULL);                                      \
    })                                                                                            \
    R(resmon_monitor_add_json, {                                                                  \
        resmon_json_options options = {.struct_size = sizeof options, .path = it.path[5]};        \
        (void)resmon_monitor_add_json(it.other, &options);                                        \
    })                                                                                            \
    R(resmon_monitor_add_csv, {                                                                   \
        resmon_csv_options options = {.struct_size = sizeof options, .path = it.path[1]};         \
        (void)resmon_monitor_add_csv(it.other, &options);                                         \
    })                                                                                            \
    R(resmon_monitor_add_emissions, {                                                             \
        resmon_emissions_options options = {.struct_size = sizeof options, .path = it.path[3]};   \
        (void)resmon_monitor_add_emissions(it.other, &options);                                   \
    })                                                                                            \
    R(resmon_monitor_add_trace, {                                                                 \
        resmon_trace_options options = {.struct_size = sizeof options, .path = it.path[2]};       \
        (void)resmon_monitor_add_trace(it.other, &options);                                       \
    })                                                                                            \
    R(resmon_monitor_add_stacks, {                                                                \
        resmon_stacks_options options = {                                                         \
            .struct_size = sizeof options, .path = it.path[2], .format = RESMON_STACKS_FOLDED};   \
        (void)resmon_monitor_add_stacks(it.other, &options);                                      \
    })                                                                                            \
    R(resmon_monitor_add_prometheus, {                                                            \
        resmon_prometheus_options options = {.struct_size = sizeof options,                       \
                                             .directory = test_directory};                        \
        (void)resmon_monitor_add_prometheus(it.other, &options);                                  \
    })                                                                                            \
    R(resmon_monitor_add_pushgateway, {                                                           \
        resmon_pushgateway_options options = {.struct_size = sizeof options, .url = "no url"};    \
        (void)resmon_monitor_add_pushgateway(it.other, &options);                                 \
    })                                                                                            \
    R(resmon_set_http, (void)resmon_set_http(NULL, NULL))                                         \
    R(resmon_http_reply_add, (void)resmon_http_reply_add(NULL, "", 0))                            \
    R(resmon_monitor_add_otlp, {                                                                  \
        resmon_otlp_options options = {.struct_size = sizeof options, .endpoint = "no"};          \
        (void)resmon_monitor_add_otlp(it.other, &options);                                        \
    })                                                                                            \
    R(resmon_monitor_add_mlflow, {                                                                \
        resmon_mlflow_options options = {.struct_size = sizeof options, .tracking_uri = "no"};    \
        (void)resmon_monitor_add_mlflow(it.other, &options);                                      \
    })                                                                                            \
    R(resmon_monitor_sink_count, (void)resmon_monitor_sink_count(it.other))                       \
    R(resmon_monitor_get_sink, (void)resmon_monitor_get_sink(it.other, 0, OUT(resmon_sink_info))) \
    R(resmon_monitor_start, (void)resmon_monitor_start(it.other))                                 \
    R(resmon_monitor_stop, (void)resmon_monitor_stop(it.other))                                   \
    R(resmon_monitor_free, resmon_monitor_free(it.other); it.other = NULL)                        \
    R(resmon_measure_idle, (void)resmon_measure_idle(0.01, NULL, &it.made); free_made())

#define ALL_ROWS(R) \
    LIBRARY_ROWS(R) \
    RUN_ROWS(R) COMPARE_ROWS(R) TREND_ROWS(R) SCOPE_ROWS(R) MONITOR_ROWS(R) END_ROWS(R)

#define FUNCTION(name, ...)       \
    static void call_##name(void) \
    {                             \
        __VA_ARGS__;              \
    }
ALL_ROWS(FUNCTION)

#define ROW(name_, ...) {#name_, call_##name_},
static const struct row {
    const char *name;
    void (*call)(void);
} rows[] = {ALL_ROWS(ROW)};

#define ROWS (sizeof rows / sizeof rows[0])

/* ---- the table is whole --------------------------------------------------------------------- */

static bool is_in_table(const char *name, size_t length)
{
    for (size_t i = 0; i < ROWS; i++) {
        if (strlen(rows[i].name) == length && strncmp(rows[i].name, name, length) == 0) {
            return true;
        }
    }
    return false;
}

/* "RESMON_API int resmon_name(": the name, where a line declares a function. */
static const char *declared_in(const char *text, size_t *ret_length)
{
    const char *name = strstr(text, "resmon_");
    while (strncmp(text, "RESMON_API ", 11) == 0 && name != NULL) {
        *ret_length = strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_");
        if (name[*ret_length] == '(') {
            return name;
        }
        name = strstr(name + *ret_length, "resmon_");
    }
    return NULL;
}

static size_t look_into(const char *path)
{
    char text[512];
    size_t count = 0;
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    while (fgets(text, sizeof text, file) != NULL) {
        size_t length;
        const char *name = declared_in(text, &length);
        if (name != NULL && !is_in_table(name, length)) {
            fail_msg("%.*s of %s is not in the table of this test: give it a row, and a guard "
                     "(base/status.h) if it can make a system call",
                     (int)length, name, path);
        }
        count += name != NULL ? 1 : 0;
    }
    (void)fclose(file);
    return count;
}

TEST(every_function_has_a_row)
{
    size_t count = 0;
    DIR *headers = opendir(RESMON_HEADERS);
    assert_non_null(headers);
    for (const struct dirent *entry; (entry = readdir(headers)) != NULL;) {
        char path[512];
        (void)snprintf(path, sizeof path, "%s/%s", RESMON_HEADERS, entry->d_name);
        count += entry->d_name[0] != '.' ? look_into(path) : 0;
    }
    (void)closedir(headers);
    assert_int_equal(count, ROWS);
}

/* ---- walking -------------------------------------------------------------------------------- */

static void set_up(void)
{
    const resmon_monitor_options options = {
        .struct_size = sizeof options,
        .domains = RESMON_DOMAIN_PROCESS,
        .interval_ms = 3600000,
        .scopes = RESMON_METER_WALL | RESMON_METER_CPU | RESMON_METER_RSS | RESMON_METER_IO,
        .events = 64,
    };
    for (size_t i = 0; i < 7; i++) {
        (void)snprintf(it.path[i], sizeof it.path[i], "%s/file%zu", test_directory, i);
    }
    it.comparison.struct_size = sizeof it.comparison;
    assert_ok(resmon_monitor_new(&options, &it.monitor));
    assert_ok(resmon_monitor_start(it.monitor));
    assert_ok(resmon_monitor_snapshot(it.monitor, &it.run));
    assert_ok(resmon_job_detect(&it.job));
    assert_ok(resmon_hostlist_expand("n[1-3]", &it.hosts));
    assert_ok(resmon_doctor_examine(NULL, &it.doctor));
    assert_ok(resmon_bench_new(&it.bench));
    assert_ok(resmon_bench_add(it.bench, "a", it.run));
    assert_ok(resmon_diff_make(it.bench, 0, it.bench, 0, NULL, &it.diff));
    assert_ok(resmon_trend_new(&it.trend));
    assert_ok(resmon_merge_new(&it.merge));
    assert_ok(resmon_bench_text(it.bench, "json", &it.text));
    FILE *file = fopen(it.path[6], "w");
    assert_true(file != NULL && fputs(it.text, file) != EOF && fclose(file) == 0);
    free_text();
    if (resmon_run_document(it.run, &it.document) != RESMON_OK) {
        it.document = strdup("no document without cJSON");
    }
}

/* Shared with the process that walks, which may have no other way to speak. */
static struct {
    size_t at;  /* the row that is being called */
    size_t bad; /* of those that changed errno: one */
    int count;  /* how many did */
    int error;  /* to what */
} * walked;

static void walk(void)
{
    for (size_t i = 0; i < ROWS; i++) {
        walked->at = i;
        errno = UNUSUAL;
        rows[i].call();
        if (errno != UNUSUAL) {
            walked->error = errno;
            walked->bad = i;
            walked->count++;
        }
    }
}

static void check_walk(void (*body)(void))
{
    int status;
    memset(walked, 0, sizeof *walked);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        (void)signal(SIGSEGV, SIG_DFL); /* cmocka's handler has no place here */
        (void)signal(SIGABRT, SIG_DFL);
        body();
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    if (walked->count > 0) {
        fail_msg("%d functions changed errno, %s for one to %d (%s)", walked->count,
                 rows[walked->bad].name, walked->error, strerror(walked->error));
    }
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
        fail_msg("the walk ended with %#x in %s", (unsigned)status, rows[walked->at].name);
    }
}

static void walk_twice(void)
{
    set_up();
    walk();
    walk(); /* all is known now, and goes another way */
}

TEST(where_all_goes_well)
{
    check_walk(walk_twice);
}

static void *walk_in_thread(void *unused)
{
    walk();
    return unused;
}

/* A thread that ends gives back what it had of the scopes. */
static void walk_in_threads(void)
{
    pthread_t thread;
    set_up();
    for (int i = 0; i < 2; i++) {
        (void)pthread_create(&thread, NULL, walk_in_thread, NULL);
        (void)pthread_join(thread, NULL);
    }
}

TEST(in_another_thread)
{
    check_walk(walk_in_threads);
}

/* ---- with faults ---------------------------------------------------------------------------- */

static int fault_kind;

static void walk_with_faults(void)
{
    set_up();
    for (size_t i = 0; i < ROWS; i++) {
        for (int64_t k = 0; k < 3; k++) {
            rm_fault_arm(fault_kind, k);
            walked->at = i;
            errno = UNUSUAL;
            rows[i].call();
            if (errno != UNUSUAL) {
                walked->error = errno;
                walked->bad = i;
                walked->count++;
            }
            rm_fault_arm(fault_kind, -1);
        }
    }
}

TEST(with_injected_faults)
{
    for (fault_kind = 0; fault_kind < RM_FAULT_KINDS; fault_kind++) {
        check_walk(walk_with_faults);
    }
}

/* ---- with failing system calls -------------------------------------------------------------- */

#define ALLOW(call)                                        \
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_##call, 0, 1), \
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)

/* Of this thread: waiting, ending and memory go on (what malloc() makes of a brk() that is refused
 * is not ours); everything else fails. */
static bool forbid_system_calls(void)
{
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        ALLOW(futex),
        ALLOW(exit),
        ALLOW(exit_group),
        ALLOW(munmap),
        ALLOW(madvise),
        ALLOW(mmap),
        ALLOW(mremap),
        ALLOW(mprotect),
        ALLOW(brk),
        ALLOW(sched_yield),
        ALLOW(nanosleep),
        ALLOW(clock_nanosleep),
        ALLOW(rt_sigprocmask),
        ALLOW(rt_sigreturn),
        ALLOW(getpid),
        ALLOW(gettid),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
    };
    const struct sock_fprog program = {sizeof filter / sizeof filter[0], filter};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) == 0;
}

static void walk_with_filter(void)
{
    set_up();
    if (!forbid_system_calls()) {
        _exit(77);
    }
    walk();
    walk();
}

TEST(with_failing_system_calls)
{
    int status;
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        _exit(forbid_system_calls() ? 0 : 77);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    if (status != 0 || HAS_ADDRESS_SANITIZER || HAS_THREAD_SANITIZER) {
        print_message("skipped: no filter of system calls here, or a sanitizer that needs some\n");
        skip();
    }
    check_walk(walk_with_filter);
}

FIXTURE(make_directory)
{
    walked = mmap(NULL, sizeof *walked, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return walked != MAP_FAILED && chdir(test_directory) == 0 ? 0 : -1;
}

TEST_FILE(.set_up = make_directory);
