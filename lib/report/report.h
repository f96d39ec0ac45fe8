/* SPDX-License-Identifier: MIT */
/*
 * Owns the text summary of a run.
 */
#ifndef RM_REPORT_REPORT_H
#define RM_REPORT_REPORT_H

#include "base/buffer.h"
#include "store/run.h"

/** Appends the whole summary. */
void rm_report_write(struct rm_buffer *buffer, const struct resmon_run *run);

#endif
