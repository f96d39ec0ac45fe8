/* SPDX-License-Identifier: MIT */
/*
 * resmon/trace.h - runs as a trace: scopes of each thread over time, with the metrics.  In
 * libresmon-reader.
 *
 *     const resmon_trace_options options = {
 *         .struct_size = sizeof options,
 *         .path = "trace.json",
 *     };
 *     resmon_monitor_add_trace(monitor, &options);
 *
 * The file is Chrome's trace event JSON, which Perfetto (ui.perfetto.dev), chrome://tracing,
 * speedscope and the Firefox profiler open.  Scopes are slices of their threads, tags are instants
 * of the process, metrics are counters.  Slices require that the monitor keeps events (`events` in
 * <resmon/monitor.h>; 4096 with resmon_monitor_add_trace()).
 *
 * If the path ends in ".tar", the file is an archive with a trace for each node and a manifest.
 * Perfetto shows the nodes as machines on one time axis (manifest version 1; Perfetto 58 and
 * later).
 */
#ifndef RESMON_TRACE_H
#define RESMON_TRACE_H

#include <stddef.h>
#include <stdint.h>

#include <resmon/monitor.h>
#include <resmon/run.h>
#include <resmon/status.h>

RESMON_BEGIN_DECLS

/**
 * Writes one or several runs (processes, nodes) to one trace, atomically.
 * All times are on one clock, the real time of each machine.  Zero is the earliest start of the
 * runs; "otherData" contains it as "start_realtime_ns".  If processes of several runs have the same
 * id, they get ids that no process has.
 * RESMON_EINVAL: `runs`, one of the runs or `path` is NULL, or `count` is 0; `path` and other
 * errors as resmon_run_save().
 * Thread class: any thread.  Since 0.1.
 */
RESMON_API resmon_status resmon_trace_save(const resmon_run *const *runs, size_t count,
                                           const char *path);

/** Options of a trace of a monitor's run.  Since 0.1. */
typedef struct resmon_trace_options {
    size_t struct_size;
    const char *path;     /**< as in resmon_run_save(); made absolute when added */
    uint64_t interval_ms; /**< how often the trace so far is written, 1 ... 86400000; default 0:
                               only at stop */
} resmon_trace_options;

/**
 * Adds a trace of the monitor's run as a sink, before the monitor starts.
 * RESMON_EINVAL, RESMON_ENOENT, RESMON_EACCES: the path cannot be written to; other errors as
 * resmon_monitor_add_sink().
 * Thread class: one thread at a time per monitor.  Since 0.1.
 */
RESMON_API resmon_status resmon_monitor_add_trace(resmon_monitor *monitor,
                                                  const resmon_trace_options *options);

RESMON_END_DECLS

#endif
