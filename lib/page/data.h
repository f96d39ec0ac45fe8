/* SPDX-License-Identifier: MIT */
/*
 * Owns the page about runs as data (JSON), for whoever draws it otherwise: as PDF, in a notebook.
 * <resmon/report.h> says what is in it.
 */
#ifndef RM_PAGE_DATA_H
#define RM_PAGE_DATA_H

#include "page/set.h"

/** Appends the data.  RESMON_ENOMEM. */
resmon_status rm_page_data(struct rm_buffer *out, const struct rm_page_terms *terms);

#endif
