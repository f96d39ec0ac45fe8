/* SPDX-License-Identifier: MIT */
/*
 * resmon/report.h - a run as text for people.
 */
#ifndef RESMON_REPORT_H
#define RESMON_REPORT_H

#include <resmon/run.h>

RESMON_BEGIN_DECLS

/**
 * The summary of a run: tables of its phases, of the run and of the node, what could not be
 * measured and why, and what observing cost.  Human units, plain UTF-8 text, most lines at most 100
 * columns wide. Free `ret_text` with resmon_text_free().  RESMON_EINVAL, RESMON_ENOMEM. Thread
 * class: any thread.  Since 0.1.
 */
RESMON_API resmon_status resmon_report_text(const resmon_run *run, char **ret_text);

/** Frees a text; NULL is fine.  Any thread.  Since 0.1. */
RESMON_API void resmon_text_free(char *text);

RESMON_END_DECLS

#endif
