/* SPDX-License-Identifier: MIT */
/*
 * Owns the brief report: what people ask first, in one screen.
 */
#ifndef RM_REPORT_BRIEF_H
#define RM_REPORT_BRIEF_H

#include "base/buffer.h"
#include "report/terms.h"
#include "run/run.h"

/** Appends the report: a line that answers, a row for each figure, a line for each phase, and what
 * is wrong with the figures; or the rows alone (RESMON_REPORT_ROWS). */
void rm_report_brief(struct rm_buffer *buffer, const struct resmon_run *run,
                     const struct rm_report_terms *terms);

#endif
