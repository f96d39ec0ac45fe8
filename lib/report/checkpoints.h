/* SPDX-License-Identifier: MIT */
/*
 * Owns the text about checkpoints of lines (RESMON_LINE): what was measured between two of them, in
 * the tables of report/lines.
 */
#ifndef RM_REPORT_CHECKPOINTS_H
#define RM_REPORT_CHECKPOINTS_H

#include "base/buffer.h"
#include "report/lines.h"
#include "report/terms.h"
#include "run/run.h"

/** Appends the summary's tables of checkpoints; nothing for a run without any. */
void rm_report_checkpoints(struct rm_buffer *buffer, const struct resmon_run *run,
                           const struct rm_report_terms *report);

/**
 * Appends those of one function, with the lines between them, or of all (NULL), and returns how
 * many functions with checkpoints that were.
 */
size_t rm_report_checkpoint_lines(struct rm_buffer *buffer, const struct resmon_run *run,
                                  const char *function, const struct rm_report_terms *report);

#endif
