/* SPDX-License-Identifier: MIT */
/*
 * Owns the text about what was not measured, and why.
 */
#ifndef RM_REPORT_MISSING_H
#define RM_REPORT_MISSING_H

#include <stdbool.h>

#include "base/buffer.h"
#include "run/run.h"

/** Appends the part of the full report: all that has no figures on a machine that could have them.
 */
void rm_report_missing(struct rm_buffer *buffer, const struct resmon_run *run);

/**
 * What was asked for and is missing: stacks, counters, exact peaks, and what could not be read
 * though it is always looked at.  The next one from *index on, which moves behind it, as a clause;
 * false: there are no more.
 */
bool rm_report_next_missing(const struct resmon_run *run, size_t *index, char *text, size_t room);

#endif
