/* SPDX-License-Identifier: MIT */
/*
 * Owns traces: runs as Chrome's trace event JSON ("Trace Event Format"), as far as Perfetto,
 * chrome://tracing, speedscope and the Firefox profiler agree on it.
 */
#ifndef RM_SINK_TRACE_H
#define RM_SINK_TRACE_H

#include <stdbool.h>

#include <resmon/trace.h>

#include "sink/pen.h"
#include "sink/sink.h"
#include "store/run.h"

/** Writes `count` runs to `path` (expanded by the caller). */
resmon_status rm_trace_save(const struct resmon_run *const *runs, size_t count, const char *path);

resmon_status rm_trace_sink_new(const resmon_trace_options *options, struct rm_sink *ret_sink);

/* ---- inside of the writer -------------------------------------------------------------------- */

/* A process in the trace: a run with its place on the common clock. */
struct rm_trace_process {
    struct rm_pen *pen;
    const struct resmon_run *run;
    int64_t offset_ns; /* of its start */
    uint64_t pid;
    bool *has_begun; /* the list of events: a comma is due */
};

/* Names are cut here, with their escapes. */
#define RM_TRACE_TEXT_BYTES 1024

/** The start of every event: {"ph":"C","pid":1,"tid":2 */
void rm_trace_begin(const struct rm_trace_process *process, const char *phase, uint64_t tid);

/** ,"ts":12.345 */
void rm_trace_put_time(const struct rm_trace_process *process, int64_t t_ns);

/** The metrics that are drawn (sink/trace_counters.c). */
void rm_trace_put_counters(const struct rm_trace_process *process);

#endif
