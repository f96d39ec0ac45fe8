/* SPDX-License-Identifier: MIT */
/*
 * Owns the page about how figures went from one benchmark to the next, as one HTML file without
 * scripts: a chart for each series, with its changes marked.
 */
#ifndef RM_PAGE_TREND_PAGE_H
#define RM_PAGE_TREND_PAGE_H

#include "base/buffer.h"
#include "compare/trend.h"

/** Appends the file.  RESMON_ENOMEM. */
resmon_status rm_trend_page_put(struct rm_buffer *out, const struct rm_trend *trend);

#endif
