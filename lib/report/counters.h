/* SPDX-License-Identifier: MIT */
/*
 * Owns the part of the summary that is about performance counters of scopes.
 */
#ifndef RM_REPORT_COUNTERS_H
#define RM_REPORT_COUNTERS_H

#include "base/buffer.h"
#include "run/run.h"

/** Appends a table of what each scope counted, and why others were not; nothing without counters.
 */
void rm_report_counters(struct rm_buffer *buffer, const struct resmon_run *run, size_t width);

#endif
