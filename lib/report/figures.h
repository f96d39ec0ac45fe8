/* SPDX-License-Identifier: MIT */
/*
 * Owns the table of all figures of a run, and that of its node.
 */
#ifndef RM_REPORT_FIGURES_H
#define RM_REPORT_FIGURES_H

#include "base/buffer.h"
#include "run/run.h"

/** Appends what the view SUMMARY of metric/views.def names, and the figures of the node. */
void rm_report_figures(struct rm_buffer *buffer, const struct resmon_run *run, size_t width);

#endif
