/* SPDX-License-Identifier: MIT */
/*
 * Owns the text about the limit of memory that was nearest: how near, whose, and what came of it.
 */
#ifndef RM_REPORT_MEMORY_LIMIT_H
#define RM_REPORT_MEMORY_LIMIT_H

#include <stdbool.h>

#include "base/buffer.h"
#include "run/run.h"

/** Appends the limit of memory where it matters: of a run that was killed, came near the limit, or
 * had events of it. */
void rm_report_memory_limit(struct rm_buffer *buffer, const struct resmon_run *run);

/** The limit and how much of it was in use, as one clause; false where that section says nothing.
 */
bool rm_report_memory_limit_clause(const struct resmon_run *run, char *text, size_t room);

/** Whether a source's remark is about the limit of memory, and not about what is missing. */
bool rm_report_is_of_limit(const struct resmon_run *run, const resmon_run_source *source);

#endif
