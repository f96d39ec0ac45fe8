/* SPDX-License-Identifier: MIT */
/*
 * Owns traces of several machines as Perfetto merges them: a tar archive (POSIX.1-1988, ustar) with
 * a trace of each machine, and a manifest that says which machine that is and by how much its trace
 * begins later (perfetto.dev/docs/reference/perfetto-manifest, version 1).
 */
#ifndef RM_EXPORT_TRACE_ARCHIVE_H
#define RM_EXPORT_TRACE_ARCHIVE_H

#include <stddef.h>

#include "base/output.h"
#include "run/run.h"

/** Writes the archive; runs of one node are in one trace. */
resmon_status rm_trace_archive_write(const struct rm_output *output,
                                     const struct resmon_run *const *runs, size_t count);

#endif
