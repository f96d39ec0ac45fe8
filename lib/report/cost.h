/* SPDX-License-Identifier: MIT */
/*
 * Owns the text about what observing cost, and what had no room.
 */
#ifndef RM_REPORT_COST_H
#define RM_REPORT_COST_H

#include "base/buffer.h"
#include "run/run.h"

/** Appends the part of the full report. */
void rm_report_cost(struct rm_buffer *buffer, const struct resmon_run *run);

#endif
