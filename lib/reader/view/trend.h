/* SPDX-License-Identifier: MIT */
/*
 * Owns what is shown of benchmarks in the order of time: a table of series and their changes, or a
 * chart of each.
 */
#ifndef RM_VIEW_TREND_H
#define RM_VIEW_TREND_H

#include "compare/trend.h"
#include "view/view.h"

/** Appends it as text (FULL) or HTML.  RESMON_ENOMEM. */
resmon_status rm_trend_write(struct rm_buffer *out, const struct rm_trend *trend, enum rm_form form,
                             size_t width);

#endif
