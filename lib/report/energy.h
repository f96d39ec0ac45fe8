/* SPDX-License-Identifier: MIT */
/*
 * Owns the text about energy: sums, parts, how they are known, and what they cost.
 */
#ifndef RM_REPORT_ENERGY_H
#define RM_REPORT_ENERGY_H

#include "base/buffer.h"
#include "run/run.h"

/** Appends the part of the full report; nothing of a run without energy. */
void rm_report_energy(struct rm_buffer *buffer, const struct resmon_run *run);

#endif
