/* SPDX-License-Identifier: MIT */
/*
 * resmon/report.h - a run as text for people.
 */
#ifndef RESMON_REPORT_H
#define RESMON_REPORT_H

#include <resmon/run.h>

RESMON_BEGIN_DECLS

/**
 * The summary of a run: tables of its phases, of the run and of the node, hot functions and lines
 * where stacks were taken (<resmon/stack.h>), lines with checkpoints (RESMON_LINE in
 * <resmon/scope.h>), what could not be measured and why, and what observing cost.  Human units,
 * plain UTF-8 text, most lines at most 100 columns wide. Free `ret_text` with resmon_text_free().
 * RESMON_EINVAL, RESMON_ENOMEM. Thread class: any thread.  Since 0.1.
 */
RESMON_API resmon_status resmon_report_text(const resmon_run *run, char **ret_text);

/**
 * Where CPU time went and memory grew, line by line: tables in the form of line_profiler and
 * memory_profiler, with the source where its file can be read, for one function ("work"; of C++
 * without its parameters, too) or for the hot ones (`function` NULL).  Lines with checkpoints
 * (RESMON_LINE) come first, in tables of their own: these figures are exact, and hits and
 * occurrences are stretches between two checkpoints.  Of stacks, hits and occurrences are samples.
 * "Mem usage" is the process's RSS, which is read at checkpoints only: the highest at the second
 * one.  A line has what it called as well; functions come in the order of what is their own, where
 * what has no source that can be read (memset), or one of the system's headers (std::vector), is
 * its caller's.  Without code: RESMON=lines, or lines=work.  Free `ret_text` with
 * resmon_text_free(). RESMON_ENOENT: the run has neither stacks nor checkpoints, or none of that
 * function; RESMON_EINVAL, RESMON_ENOMEM.  Thread class: any thread.  Since 0.1.
 */
RESMON_API resmon_status resmon_report_lines(const resmon_run *run, const char *function,
                                             char **ret_text);

/** Frees a text; NULL is fine.  Any thread.  Since 0.1. */
RESMON_API void resmon_text_free(char *text);

RESMON_END_DECLS

#endif
