/* SPDX-License-Identifier: MIT */
/*
 * Owns what is shown of a comparison of two groups of runs: a verdict, its reasons, a table, plots.
 */
#ifndef RM_VIEW_DIFF_H
#define RM_VIEW_DIFF_H

#include "compare/diff.h"
#include "view/view.h"

struct rm_diff_view {
    const struct rm_diff *diff;
    const struct resmon_run *before, *after; /* of a page: a run of each side, or NULL */
    enum rm_form form;                       /* FULL: text */
    size_t width;
    bool is_full; /* each figure of each scope */
};

/** Appends it.  RESMON_ENOMEM. */
resmon_status rm_diff_write(struct rm_buffer *out, const struct rm_diff_view *view);

/** Appends it as JUnit's XML: a test case for each value with a rule.  RESMON_ENOMEM. */
resmon_status rm_diff_write_junit(struct rm_buffer *out, const struct rm_diff *diff);

/* ---- in pieces ----------------------------------------------------------------------------- */

/** The verdict as a sentence; without rules, how long it takes now. */
const char *rm_diff_statement(struct rm_page *page, const struct rm_diff *diff);

/** Adds the plot of its changes. */
void rm_diff_add_intervals(struct rm_page *page, const struct rm_diff *diff);

/** Whether a row is in a table.  `changed` counts rows of scopes without a rule, from 0. */
bool rm_diff_is_shown(const struct rm_diff_row *row, bool is_full, unsigned *changed);

/** "train: wall time", "+18.0 %". */
const char *rm_diff_row_name(struct rm_page *page, const struct rm_diff_row *row);
const char *rm_diff_row_change(struct rm_page *page, const struct rm_diff_row *row);

/** "worse", "not worse", "cannot tell"; "" where there was no rule.  Static. */
const char *rm_verdict_name(enum rm_verdict verdict);

#endif
