/* SPDX-License-Identifier: MIT */
/*
 * Owns stacks in the formats of other tools.  Scopes are the outermost frames, and weights are
 * whole numbers.  Folded stacks have a line for each stack, "main;work;inner 123", which
 * flamegraph.pl and similar tools read.  Profiles for pprof are profile.proto in a gzip file, which
 * go tool pprof, speedscope, Pyroscope and Polar Signals read.
 */
#ifndef RM_EXPORT_STACKS_H
#define RM_EXPORT_STACKS_H

#include "base/buffer.h"
#include "run/run.h"

/** Writes the stacks of one kind (RESMON_STACK_*) to `path` (expanded by the caller): weights in
 * microseconds, or KiB. */
resmon_status rm_folded_save(const struct resmon_run *run, int32_t kind, const char *path);

/** Writes all stacks to `path` (expanded by the caller). */
resmon_status rm_pprof_save(const struct resmon_run *run, const char *path);

/** Appends the profile to a buffer, without compression. */
resmon_status rm_pprof_print(const struct resmon_run *run, struct rm_buffer *buffer);

#endif
