/* SPDX-License-Identifier: MIT */
/*
 * Owns the text summary of a run.
 */
#ifndef RM_REPORT_REPORT_H
#define RM_REPORT_REPORT_H

#include "base/buffer.h"
#include "report/lines.h"
#include "store/run.h"

/** Appends the whole summary.  `sources` NULL: without lines of the source. */
void rm_report_write(struct rm_buffer *buffer, const struct resmon_run *run,
                     const struct rm_source_lines *sources);

#endif
