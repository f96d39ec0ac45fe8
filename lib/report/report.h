/* SPDX-License-Identifier: MIT */
/*
 * Owns the text of a run: brief, or in full.
 */
#ifndef RM_REPORT_REPORT_H
#define RM_REPORT_REPORT_H

#include "base/buffer.h"
#include "report/terms.h"
#include "run/run.h"

/** Appends the text. */
void rm_report_write(struct rm_buffer *buffer, const struct resmon_run *run,
                     const struct rm_report_terms *terms);

#endif
