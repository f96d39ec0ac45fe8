/* SPDX-License-Identifier: MIT */
/*
 * Owns the first lines of the full report: what ran, where, and how it ended.
 */
#ifndef RM_REPORT_HEADING_H
#define RM_REPORT_HEADING_H

#include "base/buffer.h"
#include "run/run.h"

/** Appends these lines. */
void rm_report_heading(struct rm_buffer *buffer, const struct resmon_run *run);

/** Appends "  failed: ValueError: no such column (exit status 1)"; nothing of a run that did not.
 */
void rm_report_failure(struct rm_buffer *buffer, const struct resmon_run *run);

#endif
