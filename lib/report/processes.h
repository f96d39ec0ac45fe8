/* SPDX-License-Identifier: MIT */
/*
 * Owns the text about the processes of a run that were seen from outside (option each): one by one,
 * as a tree, or of many by the name of their program.
 */
#ifndef RM_REPORT_PROCESSES_H
#define RM_REPORT_PROCESSES_H

#include <stddef.h>

#include "base/buffer.h"
#include "run/run.h"

/** Appends the table; nothing for a run without such processes. */
void rm_report_processes(struct rm_buffer *buffer, const struct resmon_run *run, size_t width);

#endif
