/* SPDX-License-Identifier: MIT */
/*
 * Owns what is shown of groups of runs: the values of each group (bench.c), a comparison of two
 * groups (diff.c), benchmarks over time (trend.c), and the energy of work compared with an idle
 * machine (comparison.c).
 * Called by api/compare.c and api/baseline.c; the last part by these files among themselves.
 */
#ifndef RM_VIEW_BENCHMARKS_H
#define RM_VIEW_BENCHMARKS_H

#include "compare/comparison.h"
#include "compare/diff.h"
#include "compare/group.h"
#include "compare/trend.h"
#include "view/subject.h"

/** Appends medians with their confidence intervals, the distribution of the runs, and outliers, as
 * text (FULL) or HTML.  RESMON_ENOMEM. */
resmon_status rm_bench_write(struct rm_buffer *out, const struct rm_groups *groups,
                             enum rm_form form, size_t width);

struct rm_diff_view {
    const struct rm_diff *diff;
    const struct resmon_run *before, *after; /* for HTML: a run of each side, or NULL */
    enum rm_form form;                       /* FULL: text */
    size_t width;
    bool is_full; /* with every value of every scope */
};

/** Appends the verdict, its reasons, a table and plots.  RESMON_ENOMEM. */
resmon_status rm_diff_write(struct rm_buffer *out, const struct rm_diff_view *view);

/** Appends JUnit XML: a test case for each value with a rule.  RESMON_ENOMEM. */
resmon_status rm_diff_write_junit(struct rm_buffer *out, const struct rm_diff *diff);

/** Appends series with their change points: a table as text (FULL), charts as HTML.
 * RESMON_ENOMEM. */
resmon_status rm_trend_write(struct rm_buffer *out, const struct rm_trend *trend, enum rm_form form,
                             size_t width);

/** Sets `method` and `statement` of a comparison with an idle machine. */
void rm_comparison_put_in_words(struct rm_comparison *comparison);

/** Appends its table, its method and its statement.  The texts may come from outside.
 * RESMON_ENOMEM. */
resmon_status rm_comparison_write(struct rm_buffer *buffer, const resmon_comparison *comparison);

/* ---- shared by these files ------------------------------------------------------------------- */

/** "train/epoch: wall time"; the path is shortened and escaped. */
const char *rm_figure_name(struct rm_page *page, const char *path, enum rm_figure_id figure);

/** "5 runs, of which 1 failed". */
const char *rm_group_runs_text(struct rm_page *page, const struct rm_group *group);

/** The verdict as a sentence; without rules, the change of the wall time. */
const char *rm_diff_statement(struct rm_page *page, const struct rm_diff *diff);

/** Whether a row is in a table.  `changed` counts the rows of scopes without a rule, from 0. */
bool rm_diff_is_shown(const struct rm_diff_row *row, bool is_full, unsigned *changed);

/** "+18.0 %". */
const char *rm_diff_row_change(struct rm_page *page, const struct rm_diff_row *row);

/** "worse", "not worse", "cannot tell"; "" without a rule.  Static. */
const char *rm_verdict_name(enum rm_verdict verdict);

#endif
