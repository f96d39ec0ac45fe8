/* SPDX-License-Identifier: MIT */
/*
 * Owns drawings that need no script: axes with round numbers; dots of runs, forest plots and heat
 * maps (plots.c); flame graphs (flame.c).  A drawing is a block of kind RM_BLOCK_DRAWING, whose
 * function writes it as HTML.
 */
#ifndef RM_VIEW_PLOTS_H
#define RM_VIEW_PLOTS_H

#include "compare/diff.h"
#include "compare/group.h"
#include "view/subject.h"

/* ---- axes ------------------------------------------------------------------------------------ */

#define RM_AXIS_TICKS 12

struct rm_axis {
    double low, high;
    double ticks[RM_AXIS_TICKS];
    size_t tick_count;
};

/** An axis that holds both values, with a margin; false: they are not finite. */
bool rm_axis_open(struct rm_axis *axis, double low, double high, const char *unit);

/** The position of a value in percent of the axis; values outside are at its ends. */
double rm_axis_percent(const struct rm_axis *axis, double value);

/* ---- groups of runs -------------------------------------------------------------------------- */

struct rm_dots_row {
    const char *label;
    const struct rm_group_row *row; /* NULL: no value is known */
    int colour;
};

/** Adds a plot of a value of several groups on one axis: a dot for each run, with the median and
 * its confidence interval.  Nothing is drawn if no run has the value.  `rows` are copied. */
void rm_page_add_dots(struct rm_page *page, const char *title, const char *unit,
                      const struct rm_dots_row *rows, size_t count);

/** Adds a forest plot of the rows that a brief comparison shows: each change in percent, its
 * confidence interval, and the limit of its rule.  Nothing is drawn if no change has a percentage.
 */
void rm_page_add_intervals(struct rm_page *page, const struct rm_diff *diff);

/** The class of a verdict: "worse", "unsure", "fine"; "" without a rule. */
const char *rm_verdict_class(enum rm_verdict verdict);

/* ---- heat maps ------------------------------------------------------------------------------- */

/** Draws the heat maps of a merged run (a struct rm_subject): a line for each node, time to the
 * right, values as colors; one map for each group of the view JOB (metric/views.def) that has
 * values. */
void rm_heat_draw(struct rm_buffer *out, const void *subject);

/* ---- flame graphs ---------------------------------------------------------------------------- */

#define RM_FLAME_SIDES 2

enum rm_box_kind { RM_BOX_ALL, RM_BOX_SCOPE, RM_BOX_PROGRAM, RM_BOX_LIBRARY, RM_BOX_UNNAMED };

/* A function in one call path; its callees are the boxes below it. */
struct rm_box {
    const char *name;
    enum rm_box_kind kind;
    uint32_t depth;                /* the outermost function has 1 */
    double weight[RM_FLAME_SIDES]; /* by run */
    uint64_t samples[RM_FLAME_SIDES];
    double start, share; /* position and width, 0 ... 1 */
};

struct rm_boxes {
    struct rm_box *items; /* by depth, and from left to right; the first is the root */
    size_t count;
};

struct rm_flame {
    struct rm_page *page;
    size_t kind;
    struct rm_boxes boxes;
    bool is_of_two; /* runs: the width of a box is the sum of both */
};

/** The flame graph of one kind of stacks.  Boxes narrower than a thousandth are left out, and of
 * more than `most`, the narrowest and innermost; no box is kept without its parent.  NULL without
 * samples. */
const struct rm_flame *rm_flame_of(const struct rm_subject *subject, size_t kind, size_t most);

/** The flame graph of the difference of two runs.  NULL unless both have samples. */
const struct rm_flame *rm_flame_of_two(const struct rm_subject *before,
                                       const struct rm_subject *after, size_t kind, size_t most);

/** Draws a flame graph (a struct rm_flame).  The page's script zooms into a box on a click. */
void rm_flame_draw(struct rm_buffer *out, const void *flame);

#endif
