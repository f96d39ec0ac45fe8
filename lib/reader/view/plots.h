/* SPDX-License-Identifier: MIT */
/*
 * Owns plots that need no script: axes with round numbers on them, a dot for each run with the
 * median and where it lies, and of a comparison the change of each figure in percent, where that
 * lies, and what its rule allows (a forest plot).
 */
#ifndef RM_VIEW_PLOTS_H
#define RM_VIEW_PLOTS_H

#include "compare/diff.h"
#include "compare/group.h"
#include "compare/ranks.h"
#include "view/model.h"

#define RM_AXIS_TICKS 12

struct rm_axis {
    double low, high;
    double ticks[RM_AXIS_TICKS];
    size_t tick_count;
};

/** An axis that holds these values, with some room; false: they are not finite. */
bool rm_axis_open(struct rm_axis *axis, double low, double high, const char *unit);

/** Where a value lies, in percent of the axis; at its ends what is beyond. */
double rm_axis_percent(const struct rm_axis *axis, double value);

/** Appends the row below the others, with a text for each tick. */
void rm_axis_put_ticks(struct rm_buffer *out, const struct rm_axis *axis,
                       const char *const texts[RM_AXIS_TICKS]);

struct rm_dots_row {
    const char *label;
    const struct rm_group_row *row; /* NULL: none is known */
    int colour;
};

/* A figure of several groups on one axis. */
struct rm_dots {
    struct rm_page *page;
    const char *title, *unit;
    const struct rm_dots_row *rows;
    size_t count;
};

/** Draws a struct rm_dots; nothing where no run knows the figure. */
void rm_dots_draw(struct rm_buffer *out, const struct rm_page_block *block);

struct rm_intervals {
    struct rm_page *page;
    const struct rm_diff *diff;
};

/** Draws a struct rm_intervals: the rows that a brief comparison shows; nothing where no change can
 * be told in percent. */
void rm_intervals_draw(struct rm_buffer *out, const struct rm_page_block *block);

/** "worse", "unsure", "fine"; "" without a rule: how a verdict looks. */
const char *rm_verdict_class(enum rm_verdict verdict);

#endif
