/* SPDX-License-Identifier: MIT */
/*
 * Owns profiles for speedscope.app: its own JSON, a "sampled" profile for each kind of stacks.
 */
#ifndef RM_FORMAT_SPEEDSCOPE_H
#define RM_FORMAT_SPEEDSCOPE_H

#include "run/run.h"

/** Writes all stacks to `path` (expanded by the caller). */
resmon_status rm_speedscope_save(const struct resmon_run *run, const char *path);

#endif
