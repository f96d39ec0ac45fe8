/* SPDX-License-Identifier: MIT */
/*
 * Owns traces: runs as Chrome's trace event JSON ("Trace Event Format"), as far as Perfetto,
 * chrome://tracing, speedscope and the Firefox profiler agree on it.
 */
#ifndef RM_FORMAT_TRACE_H
#define RM_FORMAT_TRACE_H

#include <stddef.h>

#include <resmon/trace.h>

#include "run/run.h"

/** Writes `count` runs to `path` (expanded by the caller). */
resmon_status rm_trace_save(const struct resmon_run *const *runs, size_t count, const char *path);

#endif
