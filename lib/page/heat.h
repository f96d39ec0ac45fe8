/* SPDX-License-Identifier: MIT */
/*
 * Owns the heat maps of a merged run as HTML: a line of the picture for each node, time to the
 * right, and how much as colour.  A picture needs no script.
 */
#ifndef RM_PAGE_HEAT_H
#define RM_PAGE_HEAT_H

#include "base/buffer.h"
#include "page/subject.h"

/** Appends a map for each group of the view JOB (metric/views.def) in which anything was measured;
 * nothing for a run without nodes. */
void rm_heat_put(struct rm_buffer *out, const struct rm_subject *subject);

#endif
