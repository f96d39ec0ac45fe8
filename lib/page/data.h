/* SPDX-License-Identifier: MIT */
/*
 * Owns the page about runs as data (JSON), for whoever draws it otherwise: as PDF, in a notebook.
 * <resmon/report.h> says what is in it.
 */
#ifndef RM_PAGE_DATA_H
#define RM_PAGE_DATA_H

#include "base/buffer.h"
#include "report/lines.h"
#include "run/run.h"

/** Appends the data; `title` NULL: what was run, and where; `parts`: RESMON_PAGE_*
 * (0: all).  RESMON_ENOMEM. */
resmon_status rm_page_data(struct rm_buffer *out, const struct resmon_run *const *runs,
                           size_t count, const char *title, uint64_t parts,
                           const struct rm_source_lines *sources);

#endif
