/* SPDX-License-Identifier: MIT */
/*
 * Owns traces: runs as Chrome's trace event JSON ("Trace Event Format"), as far as Perfetto,
 * chrome://tracing, speedscope and the Firefox profiler agree on it.
 */
#ifndef RM_EXPORT_TRACE_H
#define RM_EXPORT_TRACE_H

#include <stddef.h>

#include <resmon/trace.h>

#include "base/output.h"
#include "run/run.h"

/** When the first of them began, which is 0 in their trace; 0: it is not known. */
int64_t rm_trace_epoch(const struct resmon_run *const *runs, size_t count);

/** Writes one trace of `count` runs. */
resmon_status rm_trace_write(const struct rm_output *output, const struct resmon_run *const *runs,
                             size_t count);

/** Writes them to `path` (expanded by the caller): one ending in ".tar" is an archive with a trace
 * of each machine, by export/trace_archive.h. */
resmon_status rm_trace_save(const struct resmon_run *const *runs, size_t count, const char *path);

#endif
