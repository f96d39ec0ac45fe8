/* SPDX-License-Identifier: MIT */
/*
 * Owns axes of plots that need no script: from where to where they go, and the round numbers on
 * them.
 */
#ifndef RM_PAGE_AXIS_H
#define RM_PAGE_AXIS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buffer.h"

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

/** Appends the beginning of a mark at a value: its class, and its place in an open style. */
void rm_axis_put_mark(struct rm_buffer *out, const struct rm_axis *axis, const char *class_name,
                      double value);

/** Appends a band from one value to another. */
void rm_axis_put_band(struct rm_buffer *out, const struct rm_axis *axis, double low, double high);

/** Appends the row below the others, with a text for each tick. */
void rm_axis_put_ticks(struct rm_buffer *out, const struct rm_axis *axis,
                       const char *const texts[RM_AXIS_TICKS]);

#endif
