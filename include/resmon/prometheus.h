/* SPDX-License-Identifier: MIT */
/*
 * resmon/prometheus.h - runs for Prometheus: files for node_exporter, text for a /metrics endpoint,
 * and pushes to a Pushgateway.
 *
 *     resmon_prometheus_options options = {.struct_size = sizeof options};
 *     options.directory = "/var/lib/node_exporter";
 *     resmon_monitor_add_prometheus(monitor, &options);
 *
 * Names of metrics follow one rule: "resmon_", the words of the dotted name without words that name
 * the unit, the base unit in plural, and "_total" for a counter, all joined by '_'.  A percentage
 * becomes a ratio (value / 100).  The unit 1 adds no word.
 *
 *     proc.mem.rss        B  gauge    resmon_proc_mem_rss_bytes
 *     proc.cpu.time       s  counter  resmon_proc_cpu_time_seconds_total
 *     proc.io.read_bytes  B  counter  resmon_proc_io_read_bytes_total
 *     proc.cpu.percent    %  gauge    resmon_proc_cpu_ratio
 *     proc.fault.major    1  counter  resmon_proc_fault_major_total
 *
 * Counters are growth since the start of the run.  The instance of a metric is the label "device",
 * or "mountpoint" for file systems.  Metrics that this version of the library does not know (in a
 * document of a newer version) are left out.
 *
 * Other names are:
 *
 * - resmon_scope_calls_total, _wall_seconds_total, _cpu_seconds_total (of the process and its
 *   children), _thread_cpu_seconds_total, _rss_peak_bytes, _open, _io_read_bytes_total,
 *   _io_write_bytes_total, _io_read_chars_bytes_total, _io_write_chars_bytes_total
 *   {scope="index/read"}.  The label is the path of the scope; '/' and '\' in a name become "\/"
 *   and "\\".  At most 1000 paths, parents before children; resmon_scope_paths_omitted is the
 *   number of further paths.  During a run, estimated CPU time and I/O (see resmon_run_scope) and
 *   scaled counts of events are left out: an estimate may decrease, a counter must not.
 * - resmon_scope_energy_joules_total {scope="index/read"}
 * - resmon_scope_events_total, and resmon_scope_event_seconds_total for events in seconds
 *   {scope="index/read",event="instructions"}: performance counters of scopes, by name
 *   (scope_counters in <resmon/monitor.h>).
 * - resmon_run_duration_seconds, resmon_run_start_time_seconds, resmon_samples_total,
 *   resmon_late_samples_total, resmon_sampler_cpu_seconds_total,
 *   resmon_sampler_wall_seconds_total, resmon_scopes_overhead_seconds, resmon_memory_bytes,
 *   resmon_dropped_total {what="rows"}, resmon_build_info {version="0.1.0"}
 * - resmon_source_up {source="proc_mem"}: 0 or 1; resmon_source_failures_total
 *
 * An unknown value is absent, never 0 or NaN.  A gauge whose source is not readable (any more) is
 * absent, too.
 *
 * One process of a job per host reports the metrics of the host (node and devices).  The others
 * report their process, tree and cgroup only, so that sums over processes are correct.
 *
 * Every sample has the labels "node" and "pid", in a batch job also "job_id" and "rank", the labels
 * of the options, and those of the run (labels in <resmon/monitor.h>; '.' becomes '_', and a name
 * that has another meaning here gets "label_" in front).  "node" is the job's name of the node, or
 * the host name.
 *
 * The name of a label of the options is a letter, then letters, digits and '_', at most 63 bytes.
 * Reserved names: "device", "event", "le", "mountpoint", "quantile", "scope", "source", "version",
 * "what".  The value is any text of at most 1023 bytes; invalid UTF-8 and control characters except
 * '\n' become '?'.
 */
#ifndef RESMON_PROMETHEUS_H
#define RESMON_PROMETHEUS_H

#include <stddef.h>
#include <stdint.h>

#include <resmon/monitor.h>
#include <resmon/run.h>
#include <resmon/status.h>

RESMON_BEGIN_DECLS

/* Flags of resmon_prometheus_options. */
#define RESMON_PROMETHEUS_KEEP    UINT64_C(1) /**< keep the file at stop */
#define RESMON_PROMETHEUS_NO_NODE UINT64_C(2) /**< no label "node" */
#define RESMON_PROMETHEUS_NO_JOB  UINT64_C(4) /**< no labels "job_id" and "rank" */
#define RESMON_PROMETHEUS_NO_PID  UINT64_C(8) /**< no label "pid" */

/**
 * Options of resmon_prometheus_text() and resmon_monitor_add_prometheus().  Set struct_size to
 * sizeof(resmon_prometheus_options) and the rest to zero; zero means the default.  Strings are
 * copied.  Since 0.1.
 */
typedef struct resmon_prometheus_options {
    size_t struct_size;
    uint64_t flags;             /**< RESMON_PROMETHEUS_* */
    const resmon_label *labels; /**< added to every sample (names: see above); "node", "job_id",
                                   "rank" or "pid" replaces the library's label */
    size_t label_count;         /**< at most 32 */
    const char *directory;      /**< resmon_monitor_add_prometheus() only: directory of the file */
    uint64_t interval_ms; /**< resmon_monitor_add_prometheus() only: time between writes, 100 ...
                               86400000; default 15000 */
} resmon_prometheus_options;

/**
 * Renders a run in Prometheus' text format 0.0.4, without timestamps.
 * Gauges have their last value, counters their total.  The content type is "text/plain;
 * version=0.0.4".  `options` NULL: all defaults.  Free `ret_text` with resmon_text_free() of
 * <resmon/report.h>.
 * RESMON_EINVAL, RESMON_ERANGE: an argument is NULL or an option is invalid, see the error text;
 * RESMON_ENOMEM.
 * Thread class: any thread.  Since 0.1.
 */
RESMON_API resmon_status resmon_prometheus_text(const resmon_run *run,
                                                const resmon_prometheus_options *options,
                                                char **ret_text);

/**
 * Adds a file for the textfile collector of node_exporter to the monitor, before start.
 * The file is DIRECTORY/resmon_[JOB_]PID_NODE.prom; DIRECTORY is node_exporter's
 * --collector.textfile.directory.  It is written atomically as text 0.0.4, after one second and
 * then every interval_ms.  Its permissions depend on the umask; node_exporter must be able to read
 * it.  If a write fails, the file is absent until the next write.
 *
 * The file is removed at stop, because node_exporter would export it forever.  With
 * RESMON_PROMETHEUS_KEEP it stays, with the final values, until it is deleted.  It also stays
 * when the program is killed: node_textfile_mtime_seconds tells old files from current ones.
 *
 * RESMON_EINVAL, RESMON_ERANGE: an option is invalid, see the error text; RESMON_ENOENT,
 * RESMON_EACCES: the directory does not exist or is not writable; RESMON_ESTATE: after start;
 * RESMON_ENOSPC: more than 32 sinks; RESMON_ENOMEM.
 * Thread class: one thread at a time per monitor.  Since 0.1.
 */
RESMON_API resmon_status resmon_monitor_add_prometheus(resmon_monitor *monitor,
                                                       const resmon_prometheus_options *options);

/** Do not verify the server's certificate. */
#define RESMON_PUSHGATEWAY_INSECURE_TLS UINT64_C(1)

/** Options of resmon_monitor_add_pushgateway().  Strings are copied.  Since 0.1. */
typedef struct resmon_pushgateway_options {
    size_t struct_size;
    uint64_t flags;  /**< RESMON_PUSHGATEWAY_* */
    const char *url; /**< "http://host:9091"; user:password@ before the host is used and never
                          shown */
    const char *job; /**< label "job" of the group; default "resmon" */
    const resmon_label *labels; /**< further labels of the group; they precede the
                                                library's own: "node", and in a job "job_id" and
                                                "rank" */
    size_t label_count;         /**< at most 32 */
    uint64_t interval_ms; /**< time between pushes during the run, 1 ... 86400000; default 0: only
                               at stop */
    uint64_t timeout_ms;  /**< limit of one request, 1 ... 86400000; default 30000 */
    const char *ca_path;  /**< file or directory of trusted certificates; default: those of the
                               system */
} resmon_pushgateway_options;

/**
 * Adds pushes to a Pushgateway to the monitor, as text 0.0.4: every interval_ms, and at stop.
 * A push replaces its whole group.  Groups stay until they are deleted.  Two programs on the
 * same node without a job need different labels.
 * RESMON_EINVAL, RESMON_ERANGE: an option is invalid, see the error text; RESMON_ENOTSUP: this
 * build has no libcurl, or it cannot be loaded; and the errors of resmon_monitor_add_sink().
 * Thread class: one thread at a time per monitor.  Since 0.1.
 */
RESMON_API resmon_status resmon_monitor_add_pushgateway(resmon_monitor *monitor,
                                                        const resmon_pushgateway_options *options);

RESMON_END_DECLS

#endif
