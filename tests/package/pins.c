/* SPDX-License-Identifier: MIT */
/* Numbers of the interface that programs, recordings and other languages have by heart: none of
 * them may ever change, and a public struct only grows at its end.  Compiled, never run. */
#include <resmon/resmon.h>

#include <stddef.h>

#define PIN(name, number) _Static_assert((name) == (number), #name " is pinned")

/* status.h */
PIN(RESMON_OK, 0);
PIN(RESMON_EINVAL, -1);
PIN(RESMON_ESTATE, -2);
PIN(RESMON_ENOMEM, -3);
PIN(RESMON_ENOENT, -4);
PIN(RESMON_EACCES, -5);
PIN(RESMON_EFORMAT, -6);
PIN(RESMON_EIO, -7);
PIN(RESMON_ENOSPC, -8);
PIN(RESMON_EBUSY, -9);
PIN(RESMON_ENOTSUP, -10);
PIN(RESMON_ERANGE, -11);
PIN(RESMON_ESRCH, -12);
PIN(RESMON_EVERSION, -13);
PIN(RESMON_ETIMEDOUT, -14);
PIN(RESMON_ENET, -15);
PIN(RESMON_EREMOTE, -16);
PIN(RESMON_ENODEV, -17);
PIN(RESMON_LOG_WARNING, 1);
PIN(RESMON_LOG_INFO, 2);
PIN(RESMON_LOG_DEBUG, 3);

/* metric.h */
PIN(RESMON_GAUGE, 1);
PIN(RESMON_COUNTER, 2);
PIN(RESMON_LEVEL_PROCESS, 1);
PIN(RESMON_LEVEL_TREE, 2);
PIN(RESMON_LEVEL_CGROUP, 3);
PIN(RESMON_LEVEL_NODE, 4);
PIN(RESMON_LEVEL_DEVICE, 5);
PIN(RESMON_LEVEL_JOB, 6);
PIN(RESMON_VIEW_OVER_20, 10);
PIN(RESMON_VIEW_OVER_40, 11);
PIN(RESMON_VIEW_OVER_80, 12);
PIN(RESMON_VIEW_OVER_100, 13);
PIN(RESMON_VIEW_CPU_HOURS, 14);
PIN(RESMON_VIEW_UNUSED_CPU_HOURS, 15);
PIN(RESMON_VALUE_BYTES, 32);

/* monitor.h */
PIN(RESMON_DOMAIN_PROCESS, 1);
PIN(RESMON_DOMAIN_TREE, 2);
PIN(RESMON_DOMAIN_CGROUP, 4);
PIN(RESMON_DOMAIN_CPU, 8);
PIN(RESMON_DOMAIN_MEMORY, 16);
PIN(RESMON_DOMAIN_PSI, 32);
PIN(RESMON_DOMAIN_DISK, 64);
PIN(RESMON_DOMAIN_NET, 128);
PIN(RESMON_DOMAIN_ENERGY, 256);
PIN(RESMON_DOMAIN_GPU, 512);
PIN(RESMON_FLAG_SMAPS, 1);
PIN(RESMON_FLAG_NO_SCOPES, 2);
PIN(RESMON_FLAG_IDLE_NONE, 4);
PIN(RESMON_FLAG_IDLE_ALLOCATED, 8);
PIN(RESMON_FLAG_EACH, 16);
PIN(RESMON_METER_WALL, 1);
PIN(RESMON_METER_CPU, 2);
PIN(RESMON_METER_RSS, 4);
PIN(RESMON_METER_IO, 8);
PIN(RESMON_METER_PCPU, 32);
PIN(RESMON_METER_PERF, 16);

/* run.h */
PIN(RESMON_PROVENANCE_NONE, 0);
PIN(RESMON_PROVENANCE_MEASURED, 1);
PIN(RESMON_PROVENANCE_SAMPLED, 2);
PIN(RESMON_PROVENANCE_MODELLED, 3);
PIN(RESMON_PROVENANCE_SHARED, 4);
PIN(RESMON_SERIES_LAST, 0);
PIN(RESMON_SERIES_MIN, 1);
PIN(RESMON_SERIES_MAX, 2);
PIN(RESMON_SERIES_MEAN, 3);
PIN(RESMON_SERIES_VALUE, 4);

/* end.h */
PIN(RESMON_END_UNKNOWN, 0);
PIN(RESMON_END_RUNNING, 1);
PIN(RESMON_END_FINISHED, 2);
PIN(RESMON_END_FAILED, 3);
PIN(RESMON_END_INTERRUPTED, 4);
PIN(RESMON_END_KILLED, 5);

/* stack.h */
PIN(RESMON_STACKS_CPU, 1);
PIN(RESMON_STACKS_MEMORY, 2);
PIN(RESMON_STACKS_PEAK, 4);
PIN(RESMON_STACK_CPU, 0);
PIN(RESMON_STACK_MEMORY, 1);
PIN(RESMON_STACK_FILE, 2);
PIN(RESMON_STACK_RESIDENT, 3);
PIN(RESMON_STACK_LOSS_RING_FULL, 0);
PIN(RESMON_STACK_LOSS_NO_ROOM, 1);
PIN(RESMON_STACK_LOSS_TOO_DEEP, 2);
PIN(RESMON_STACK_LOSS_NOT_UNWOUND, 3);
PIN(RESMON_STACK_LOSS_BLOCKED, 4);
PIN(RESMON_STACK_LOSS_THREADS, 5);
PIN(RESMON_STACK_LOSS_MODULES, 6);
PIN(RESMON_FRAMES_PYTHON, 1);
PIN(RESMON_FRAMES_NATIVE, 2);
PIN(RESMON_STACKS_FOLDED, 1);
PIN(RESMON_STACKS_PPROF, 2);

/* carbon.h */
PIN(RESMON_CARBON_BASIS_GIVEN, 1);
PIN(RESMON_CARBON_BASIS_CLOUD, 2);
PIN(RESMON_CARBON_BASIS_REGION, 3);
PIN(RESMON_CARBON_BASIS_COUNTRY, 4);
PIN(RESMON_CARBON_BASIS_WORLD, 5);
PIN(RESMON_CARBON_CODECARBON, 1);
PIN(RESMON_CARBON_NO_SITE, 2);
PIN(RESMON_CARBON_ZERO, 4);

/* compare.h */
PIN(RESMON_VERDICT_NONE, 0);
PIN(RESMON_VERDICT_NOT_WORSE, 1);
PIN(RESMON_VERDICT_CANNOT_TELL, 2);
PIN(RESMON_VERDICT_WORSE, 3);

/* doctor.h */
PIN(RESMON_DOCTOR_READY, 1);
PIN(RESMON_DOCTOR_NOT_READABLE, 2);
PIN(RESMON_DOCTOR_ABSENT, 3);
PIN(RESMON_DOCTOR_GARBLED, 4);
PIN(RESMON_DOCTOR_FILE_ALL, 0);
PIN(RESMON_DOCTOR_FILE_SYSUSERS, 1);
PIN(RESMON_DOCTOR_FILE_UDEV, 2);
PIN(RESMON_DOCTOR_FILE_TMPFILES, 3);
PIN(RESMON_DOCTOR_FILE_SYSCTL, 4);

/* mlflow.h */
PIN(RESMON_MLFLOW_SERIES, 1);
PIN(RESMON_MLFLOW_NO_ARTIFACT, 2);
PIN(RESMON_MLFLOW_NO_SPOOL, 4);
PIN(RESMON_MLFLOW_FINISH, 8);
PIN(RESMON_MLFLOW_INSECURE_TLS, 16);
PIN(RESMON_MLFLOW_SPOOL_ONLY, 32);
PIN(RESMON_MLFLOW_MODEL_METRICS, 64);

/* prometheus.h */
PIN(RESMON_PROMETHEUS_KEEP, 1);
PIN(RESMON_PROMETHEUS_NO_NODE, 2);
PIN(RESMON_PROMETHEUS_NO_JOB, 4);
PIN(RESMON_PROMETHEUS_NO_PID, 8);
PIN(RESMON_PUSHGATEWAY_INSECURE_TLS, 1);
PIN(RESMON_OTLP_INSECURE_TLS, 1);
PIN(RESMON_HTTP_INSECURE_TLS, 1);

/* promql.h */
PIN(RESMON_PROMQL_INSECURE_TLS, 1);

/* scope.h */
PIN(RESMON_INSIDE, 1);

/* report.h */
PIN(RESMON_REPORT_BRIEF, 0);
PIN(RESMON_REPORT_FULL, 1);
PIN(RESMON_REPORT_WIDTH, 100);
PIN(RESMON_REPORT_LEAST_WIDTH, 60);
PIN(RESMON_TABLE_TEXT, 0);
PIN(RESMON_TABLE_JSON, 1);
PIN(RESMON_TABLE_MARKDOWN, 2);
PIN(RESMON_TABLE_HTML, 3);
PIN(RESMON_PAGE_HTML, 0);
PIN(RESMON_PAGE_MARKDOWN, 1);
PIN(RESMON_PAGE_DATA, 2);
PIN(RESMON_PAGE_FIGURES, 1);
PIN(RESMON_PAGE_CHARTS, 2);
PIN(RESMON_PAGE_TABLES, 4);

/* sink.h */
PIN(RESMON_SINK_REMOTE, 1);
PIN(RESMON_PART_SERIES, 1);
PIN(RESMON_PART_SUMMARY, 2);
PIN(RESMON_PART_SCOPES, 4);
PIN(RESMON_PART_TAGS, 16);
PIN(RESMON_PART_EVENTS, 32);
PIN(RESMON_PART_STACKS, 64);
PIN(RESMON_JSON_FINAL_ONLY, 1);
PIN(RESMON_CSV_WHOLE_RUN, 1);
PIN(RESMON_EMISSIONS_PROCESS, 1);

#define AT(type, member, offset) \
    _Static_assert(offsetof(type, member) == (offset), #type "." #member " is pinned")

/* Where pointers have 64 bits, as on all platforms that are supported. */
AT(resmon_monitor_options, scopes, 48);
AT(resmon_monitor_options, stacks, 152);
AT(resmon_monitor_options, scope_counters, 184);
AT(resmon_run_info, state, 8);
AT(resmon_run_info, handlers_ns, 128);
AT(resmon_run_info, dropped_lines, 240);
AT(resmon_run_end, text, 8);
AT(resmon_run_end, exit_status, 20);
AT(resmon_run_end, signal_number, 24);
AT(resmon_run_fact_entry, group, 8);
AT(resmon_run_fact_entry, value, 24);
AT(resmon_run_fact_entry, is_number, 32);
AT(resmon_run_tag, t_ns, 8);
AT(resmon_run_tag, label, 16);
AT(resmon_run_source, name, 8);
AT(resmon_run_source, cost_ns, 40);
AT(resmon_run_source, provenance, 68);
AT(resmon_column, metric, 8);
AT(resmon_column, mean, 80);
AT(resmon_column, level, 164);
AT(resmon_estimate, value, 0);
AT(resmon_estimate, low, 8);
AT(resmon_estimate, high, 16);
AT(resmon_run_scope, name, 8);
AT(resmon_run_scope, pcpu_process_ns, 224);
AT(resmon_run_scope, energy_provenance, 500);
AT(resmon_run_counter, name, 8);
AT(resmon_run_counter, reason, 24);
AT(resmon_run_counter, status, 32);
AT(resmon_run_line, file, 8);
AT(resmon_run_line, wall_ns, 40);
AT(resmon_run_line, rss_max_bytes, 64);
AT(resmon_run_event, name, 8);
AT(resmon_run_event, start_ns, 32);
AT(resmon_run_event, is_open, 56);
AT(resmon_energy_part, name, 8);
AT(resmon_energy_part, node_j, 24);
AT(resmon_energy_part, provenance, 40);
AT(resmon_energy, node_j, 8);
AT(resmon_energy, g_per_kwh, 72);
AT(resmon_energy, year, 128);
AT(resmon_run_stack, scope, 8);
AT(resmon_run_stack, samples, 32);
AT(resmon_run_stack, error, 96);
AT(resmon_run_frame, function, 8);
AT(resmon_run_frame, line, 32);
AT(resmon_run_frame, module_offset, 56);
AT(resmon_run_stack_info, reason, 8);
AT(resmon_run_stack_info, error, 56);
AT(resmon_run_stack_info, status, 96);
AT(resmon_run_peak_stack, t_ns, 8);
AT(resmon_run_peak_stack, scope, 48);
AT(resmon_run_peak_stack, life_rss_bytes, 88);
AT(resmon_stacks_options, format, 24);
AT(resmon_stacks_options, kind, 28);
