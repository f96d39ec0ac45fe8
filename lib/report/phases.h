/* SPDX-License-Identifier: MIT */
/*
 * Owns the tables of phases: scopes by path, and by name.
 */
#ifndef RM_REPORT_PHASES_H
#define RM_REPORT_PHASES_H

#include "base/buffer.h"
#include "run/run.h"

/** Appends both tables in full; nothing of a run without scopes. */
void rm_report_phases(struct rm_buffer *buffer, const struct resmon_run *run, size_t width);

/** Appends a line for each scope, with what is asked for first; of many, those that took longest.
 */
void rm_report_phases_briefly(struct rm_buffer *buffer, const struct resmon_run *run, size_t width);

#endif
