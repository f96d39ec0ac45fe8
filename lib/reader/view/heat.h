/* SPDX-License-Identifier: MIT */
/*
 * Owns the heat maps of a merged run as HTML: a line of the picture for each node, time to the
 * right, and how much as colour.  A picture needs no script.
 */
#ifndef RM_VIEW_HEAT_H
#define RM_VIEW_HEAT_H

#include "base/buffer.h"
#include "view/subject.h"

/** Draws a map for each group of the view JOB (metric/views.def) in which anything was measured, of
 * a struct rm_subject. */
void rm_heat_draw(struct rm_buffer *out, const struct rm_page_block *block);

#endif
