/* SPDX-License-Identifier: MIT */
/*
 * resmon/prometheus.h - runs for Prometheus: a file for node_exporter while the program runs, text
 * for a program that serves its own /metrics, and the history of a finished run for back-filling.
 *
 * Names are made from the table of metrics by one rule: "resmon_", the words of the dotted name
 * joined by '_' but for those that name the unit, the base unit in plural, and "_total" for a
 * counter.  A percentage becomes a ratio: the value is divided by 100.  A unit of 1 has no word.
 *
 *     proc.mem.rss        B  gauge    resmon_proc_mem_rss_bytes
 *     proc.cpu.time       s  counter  resmon_proc_cpu_time_seconds_total
 *     proc.io.read_bytes  B  counter  resmon_proc_io_read_bytes_total
 *     proc.cpu.percent    %  gauge    resmon_proc_cpu_ratio
 *     proc.fault.major    1  counter  resmon_proc_fault_major_total
 *
 * Counters are growth since the start of the run.  The instance of a metric is the label "device",
 * or "mountpoint" for file systems.  Metrics that the table of this library does not know (in a run
 * loaded from a newer one's document) are left out.  Beside the metrics there are:
 *
 *     resmon_scope_calls_total, _wall_seconds_total, _cpu_seconds_total (of the
 *     process and its children), _thread_cpu_seconds_total, _rss_peak_bytes, _open,
 *     _io_read_bytes_total, _io_write_bytes_total, _io_read_chars_bytes_total,
 *     _io_write_chars_bytes_total {scope="index/read"}
 *         The path of the scope; '/' and '\' in a name become "\/" and "\\".  At most 1000 paths,
 *         parents before children; resmon_scope_paths_omitted says how many there are beyond.
 *         While a run lasts, CPU time and I/O that are only estimated (see resmon_run_scope) are
 *         left out: an estimate may go down, and a counter may not.  So are counts of events that
 *         are scaled.
 *     resmon_scope_energy_joules_total {scope="index/read"}
 *     resmon_scope_events_total, and of those in seconds resmon_scope_event_seconds_total
 *     {scope="index/read",event="instructions"}
 *         Performance counters of scopes, by their names (scope_counters in <resmon/monitor.h>).
 *     resmon_run_duration_seconds, resmon_run_start_time_seconds, resmon_samples_total,
 *     resmon_late_samples_total, resmon_sampler_cpu_seconds_total,
 *     resmon_sampler_wall_seconds_total, resmon_scopes_overhead_seconds, resmon_memory_bytes,
 *     resmon_dropped_total {what="rows"}, resmon_build_info {version="0.1.0"}
 *     resmon_source_up {source="proc_mem"}: 0 or 1; resmon_source_failures_total
 *
 * What is not known is absent, never 0 or NaN; so is a gauge whose source cannot be read (any
 * more).
 *
 * Of a job's processes on one host, one gives the host's own figures (node and devices), the others
 * those of their process, tree and control group; so that sums over processes stay right.
 *
 * Every sample carries the labels "node" (the job's name of the node, or the host name), "job_id"
 * and "rank" (in a batch job) and "pid", and those that the options give.
 */
#ifndef RESMON_PROMETHEUS_H
#define RESMON_PROMETHEUS_H

#include <stddef.h>
#include <stdint.h>

#include <resmon/monitor.h>
#include <resmon/run.h>
#include <resmon/status.h>

RESMON_BEGIN_DECLS

/**
 * A label.  The name is a letter, then letters, digits and '_', at most 63 bytes; not "device",
 * "event", "le", "mountpoint", "quantile", "scope", "source", "version" or "what".  The value is
 * any text of at most 1023 bytes; invalid UTF-8 and control characters but '\n' become '?'.  Since
 * 0.1.
 */
typedef struct resmon_prometheus_label {
    const char *name;
    const char *value;
} resmon_prometheus_label;

/* Flags of resmon_prometheus_options. */
#define RESMON_PROMETHEUS_KEEP    UINT64_C(1) /**< leave the file where it is at stop */
#define RESMON_PROMETHEUS_NO_NODE UINT64_C(2) /**< no label "node" */
#define RESMON_PROMETHEUS_NO_JOB  UINT64_C(4) /**< no labels "job_id" and "rank" */
#define RESMON_PROMETHEUS_NO_PID  UINT64_C(8) /**< no label "pid" */

/**
 * Set struct_size to sizeof(resmon_prometheus_options) and the rest to zero; zero means the default
 * named below.  Strings are copied.  Since 0.1.
 */
typedef struct resmon_prometheus_options {
    size_t struct_size;
    uint64_t flags;                        /**< RESMON_PROMETHEUS_* */
    const resmon_prometheus_label *labels; /**< on every sample; one called "node", "job_id", "rank"
                                     or "pid" takes the place of the library's */
    size_t label_count;                    /**< at most 32 */
    const char *directory; /**< resmon_monitor_add_prometheus() only: where to write */
    uint64_t interval_ms;  /**< resmon_monitor_add_prometheus() only: between writes, 100 ...
                              86400000;  default 15000 */
} resmon_prometheus_options;

/**
 * The run in the text format 0.0.4 that Prometheus scrapes
 * ("Content-Type: text/plain; version=0.0.4"): the last value of gauges, the total of counters, no
 * timestamps.  `options` NULL means all defaults.  Free `ret_text` with resmon_text_free() of
 * <resmon/report.h>.
 * RESMON_EINVAL, RESMON_ERANGE: an option is wrong, the text says which; RESMON_ENOMEM.
 * Thread class: any thread.  Since 0.1.
 */
RESMON_API resmon_status resmon_prometheus_text(const resmon_run *run,
                                                const resmon_prometheus_options *options,
                                                char **ret_text);

/**
 * Keeps DIRECTORY/resmon_[JOB_]PID_NODE.prom up to date for the textfile collector of node_exporter
 * (its --collector.textfile.directory), before start: written as text 0.0.4, whole or not at all,
 * after a second and then every interval_ms, with the permissions that the umask leaves;
 * node_exporter must be able to read it.  What cannot be written is absent until the next time.
 *
 * At stop the file is removed, as it would be scraped for ever otherwise, unless flags has
 * RESMON_PROMETHEUS_KEEP: then it stays, with the final values, until somebody removes it.  It
 * stays too when the program is killed: node_textfile_mtime_seconds tells such files from fresh
 * ones.
 *
 * RESMON_EINVAL, RESMON_ERANGE: an option is wrong, the text says which; RESMON_ENOENT,
 * RESMON_EACCES: the directory is missing or not ours to write to; RESMON_ESTATE after start,
 * RESMON_ENOSPC after 32 sinks, RESMON_ENOMEM.
 * Thread class: one thread at a time per monitor.  Since 0.1.
 */
RESMON_API resmon_status resmon_monitor_add_prometheus(resmon_monitor *monitor,
                                                       const resmon_prometheus_options *options);

#define RESMON_PUSHGATEWAY_INSECURE_TLS                       \
    UINT64_C(1) /**< the server's certificate is not verified \
                 */

/** Where and how to push.  Strings are copied.  Since 0.1. */
typedef struct resmon_pushgateway_options {
    size_t struct_size;
    uint64_t flags;
    const char *url; /**< "http://host:9091"; user:password@ before the host is used and
                          shown nowhere */
    const char *job; /**< the label "job" of the group; default "resmon" */
    const resmon_prometheus_label *labels; /**< more of the group; in front of the library's own:
                                     "node", and in a job "job_id" and "rank" */
    size_t label_count;                    /**< at most 32 */
    uint64_t interval_ms; /**< between pushes while it runs, 1 ... 86400000; default 0: only
                               at stop */
    uint64_t timeout_ms;  /**< of one request, 1 ... 86400000; default 30000 */
    const char *ca_path;  /**< file or directory of trusted certificates; default: the
                               system's */
} resmon_pushgateway_options;

/**
 * Puts the figures to a Pushgateway, as text 0.0.4, at stop (the final ones) and every interval_ms.
 * A push replaces its group as a whole.  Groups stay until somebody deletes them: two programs of
 * the same node that are in no job need labels of their own.
 * RESMON_EINVAL, RESMON_ERANGE: an option is wrong, the text says which; RESMON_ENOTSUP: this build
 * has no libcurl, or it cannot be loaded; and as resmon_monitor_add_sink().
 * Thread class: one thread at a time per monitor.  Since 0.1.
 */
RESMON_API resmon_status resmon_monitor_add_pushgateway(resmon_monitor *monitor,
                                                        const resmon_pushgateway_options *options);

/**
 * Writes the whole run with timestamps as OpenMetrics 1.0, atomically as resmon_run_save() does
 * (patterns in the path, and errors, as there).  Each row of the table is a point at its end:
 * the mean of a gauge, the total of a counter; scopes and figures of the run stand at its end.
 * To put a run into the data directory of a Prometheus:
 *
 *     promtool tsdb create-blocks-from openmetrics run.om DIRECTORY
 *
 * Times are exact to the nanosecond; Prometheus keeps milliseconds, and the first of several points
 * in one.
 * Thread class: any thread.  Since 0.1.
 */
RESMON_API resmon_status resmon_run_save_openmetrics(const resmon_run *run, const char *path);

/** A file of that form at the end of a run.  Since 0.1. */
typedef struct resmon_openmetrics_options {
    size_t struct_size;
    const char *path; /**< as in resmon_run_save() */
} resmon_openmetrics_options;

/** Saves the run so at stop; failures as resmon_monitor_add_csv() in <resmon/monitor.h>.
 * Thread class: one thread at a time per monitor.  Since 0.1. */
RESMON_API resmon_status resmon_monitor_add_openmetrics(resmon_monitor *monitor,
                                                        const resmon_openmetrics_options *options);

RESMON_END_DECLS

#endif
