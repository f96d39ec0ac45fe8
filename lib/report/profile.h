/* SPDX-License-Identifier: MIT */
/*
 * Owns the text about stacks: hot functions and lines, where threads were at the peak, and what the
 * samples leave open.
 */
#ifndef RM_REPORT_PROFILE_H
#define RM_REPORT_PROFILE_H

#include "base/buffer.h"
#include "report/terms.h"
#include "run/run.h"

/** Appends the stacks' part of the summary; nothing for a run without stacks. */
void rm_report_profile(struct rm_buffer *buffer, const struct resmon_run *run,
                       const struct rm_report_terms *report);

/**
 * Appends the tables by line of a function ("work"; of C++ also without its parameters), or of the
 * hot ones (NULL), those of checkpoints first.  RESMON_ENOENT: the run has neither stacks nor
 * checkpoints, or none with that function.
 */
resmon_status rm_report_lines(struct rm_buffer *buffer, const struct resmon_run *run,
                              const char *function, const struct rm_report_terms *report);

#endif
