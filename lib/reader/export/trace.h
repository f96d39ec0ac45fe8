/* SPDX-License-Identifier: MIT */
/*
 * Owns traces: runs as Chrome's trace event JSON ("Trace Event Format"), as far as Perfetto,
 * chrome://tracing, speedscope and the Firefox profiler agree on it.
 *
 * Traces of several machines are as Perfetto merges them: a tar archive (POSIX.1-1988, ustar) with
 * a trace of each machine, and a manifest that says which machine that is and by how much its trace
 * begins later (perfetto.dev/docs/reference/perfetto-manifest, version 1).
 */
#ifndef RM_EXPORT_TRACE_H
#define RM_EXPORT_TRACE_H

#include <stddef.h>

#include <resmon/trace.h>

#include "base/text.h"
#include "run/run.h"

/** Writes them to `path` (expanded by the caller): one ending in ".tar" is an archive with a trace
 * of each machine. */
resmon_status rm_trace_save(const struct resmon_run *const *runs, size_t count, const char *path);

#endif
