/* SPDX-License-Identifier: MIT */
/*
 * Owns the plot of a comparison as HTML: of each figure the change in percent, where it lies, and
 * what its rule allows (a forest plot).  It needs no script.
 */
#ifndef RM_PAGE_INTERVALS_H
#define RM_PAGE_INTERVALS_H

#include "base/buffer.h"
#include "compare/diff.h"
#include "page/page.h"

/** The rows that a brief comparison shows; nothing where no change can be told in percent. */
void rm_intervals_put(struct rm_buffer *out, struct rm_page *page, const struct rm_diff *diff);

/** "worse", "unsure", "fine"; "" without a rule: how a verdict looks. */
const char *rm_intervals_class(enum rm_verdict verdict);

#endif
