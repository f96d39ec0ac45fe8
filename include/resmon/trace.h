/* SPDX-License-Identifier: MIT */
/*
 * resmon/trace.h - runs as a trace: who was in which scope when, beside what the process and its
 * machine were doing.
 *
 * A path that ends in ".tar" is an archive with a trace for each node and a manifest, which
 * Perfetto shows as so many machines on one time (version 1 of the manifest; Perfetto 58 and
 * later).
 *
 * The file is Chrome's trace event JSON, which Perfetto (ui.perfetto.dev), chrome://tracing,
 * speedscope and the Firefox profiler open.  Scopes are slices of their threads; for them the
 * monitor must keep events (events in <resmon/monitor.h>; 4096 with resmon_monitor_add_trace()).
 * Tags are instants of the process, metrics are counters.
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
 * Writes one or several runs (processes, nodes) to one trace, atomically as resmon_run_save(),
 * whose `path` and failures it shares.  Times are on one clock, the real time of each machine: zero
 * is the earliest start of the runs, which stands in "otherData" as "start_realtime_ns".  Runs
 * whose processes have the same id get ids that no process has.  RESMON_EINVAL when `count` is 0.
 * Thread class: any thread.  Since 0.1.
 */
RESMON_API resmon_status resmon_trace_save(const resmon_run *const *runs, size_t count,
                                           const char *path);

/** A trace of a monitor's run.  Since 0.1. */
typedef struct resmon_trace_options {
    size_t struct_size;
    const char *path;     /**< as in resmon_run_save(); made absolute when added */
    uint64_t interval_ms; /**< the trace so far is written this often, 1 ... 86400000; default 0:
                               only at stop */
} resmon_trace_options;

/**
 * Adds a trace to what is written of a monitor's run, before its start.  RESMON_EINVAL,
 * RESMON_ENOENT, RESMON_EACCES: the path cannot be written to; else as resmon_monitor_add_sink().
 * Thread class: one thread at a time per monitor.  Since 0.1.
 */
RESMON_API resmon_status resmon_monitor_add_trace(resmon_monitor *monitor,
                                                  const resmon_trace_options *options);

RESMON_END_DECLS

#endif
