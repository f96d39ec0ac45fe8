/* SPDX-License-Identifier: MIT */
/*
 * Owns traces: runs in Chrome's trace event format (JSON), limited to the features that Perfetto,
 * chrome://tracing, speedscope and the Firefox profiler share.
 *
 * Traces of several machines are a tar archive (POSIX.1-1988, ustar) that Perfetto merges.  It
 * contains a trace of each machine, and a manifest with the machine of each trace and its offset in
 * time (perfetto.dev/docs/reference/perfetto-manifest, version 1).
 */
#ifndef RM_EXPORT_TRACE_H
#define RM_EXPORT_TRACE_H

#include <stddef.h>

#include <resmon/trace.h>

#include "base/text.h"
#include "run/run.h"

/** Writes the runs to `path` (expanded by the caller).  A path that ends in ".tar" gets an archive
 * with a trace of each machine. */
resmon_status rm_trace_save(const struct resmon_run *const *runs, size_t count, const char *path);

#endif
