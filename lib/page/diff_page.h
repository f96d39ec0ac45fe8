/* SPDX-License-Identifier: MIT */
/*
 * Owns the page about a comparison, as one HTML file: the verdict, the changes with their
 * intervals, a dot for each run; and of one run a side, where they are known, charts on one axis
 * and what differs in the stacks.
 */
#ifndef RM_PAGE_DIFF_PAGE_H
#define RM_PAGE_DIFF_PAGE_H

#include "base/buffer.h"
#include "compare/diff.h"
#include "run/run.h"

struct rm_diff_page_terms {
    const struct rm_diff *diff;
    const struct resmon_run *before, *after; /* both or none */
};

/** Appends the file.  RESMON_ENOMEM. */
resmon_status rm_diff_page_put(struct rm_buffer *out, const struct rm_diff_page_terms *terms);

#endif
