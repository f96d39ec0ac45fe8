/* SPDX-License-Identifier: MIT */
/*
 * Owns profiles for pprof: profile.proto in a gzip file, which go tool pprof, speedscope, Pyroscope
 * and Polar Signals read.
 */
#ifndef RM_EXPORT_PPROF_H
#define RM_EXPORT_PPROF_H

#include "base/buffer.h"
#include "run/run.h"

/** Writes all stacks to `path` (expanded by the caller). */
resmon_status rm_pprof_save(const struct resmon_run *run, const char *path);

/** Adds the profile to a buffer, without compression. */
resmon_status rm_pprof_print(const struct resmon_run *run, struct rm_buffer *buffer);

#endif
