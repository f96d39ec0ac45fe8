/* SPDX-License-Identifier: MIT */
/*
 * Owns stacks as other tools read them: what frames are called, scopes as outermost frames, and
 * weights as whole numbers; folded stacks: a line for each, "main;work;inner 123", as flamegraph.pl
 * and its kin read them; and profiles for pprof: profile.proto in a gzip file, which go tool pprof,
 * speedscope, Pyroscope and Polar Signals read.
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

/** Adds the profile to a buffer, without compression. */
resmon_status rm_pprof_print(const struct resmon_run *run, struct rm_buffer *buffer);

#endif
