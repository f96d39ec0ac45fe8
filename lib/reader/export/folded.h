/* SPDX-License-Identifier: MIT */
/*
 * Owns folded stacks: a line for each, "main;work;inner 123", as flamegraph.pl and its kin read
 * them.
 */
#ifndef RM_EXPORT_FOLDED_H
#define RM_EXPORT_FOLDED_H

#include "run/run.h"

/** Writes the stacks of one kind (RESMON_STACK_*) to `path` (expanded by the caller): weights in
 * microseconds, or KiB. */
resmon_status rm_folded_save(const struct resmon_run *run, int32_t kind, const char *path);

#endif
