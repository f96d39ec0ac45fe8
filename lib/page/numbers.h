/* SPDX-License-Identifier: MIT */
/*
 * Owns the numbers of a run's charts as JSON for the script of the page: lines by key, and lists of
 * times that several of them share; as few digits as one can see.
 */
#ifndef RM_PAGE_NUMBERS_H
#define RM_PAGE_NUMBERS_H

#include "base/buffer.h"
#include "page/charts.h"

struct rm_numbers {
    struct rm_page *page;
    int places;                         /* decimals of times */
    const struct rm_chart_line **times; /* lines whose times are different */
    size_t time_count, time_room;
    struct rm_buffer lines; /* the members of "lines" */
};

void rm_numbers_open(struct rm_numbers *numbers, struct rm_page *page, double seconds);
void rm_numbers_close(struct rm_numbers *numbers);

/** Adds the points of a line, by its key. */
void rm_numbers_add(struct rm_numbers *numbers, const struct rm_chart_line *line);

/** Appends the members "times" and "lines". */
void rm_numbers_write(struct rm_numbers *numbers, struct rm_buffer *out);

/** Appends a chart as the script draws it: place, unit, and [key, colour, level] of its lines; of
 * several runs [run, colour, 0, key]. */
void rm_numbers_write_chart(struct rm_buffer *out, const struct rm_chart *chart, const char *place,
                            bool of_runs);

/** Appends a number with so many decimals, and no zeros at its end. */
void rm_numbers_put(struct rm_buffer *out, double value, int decimals);

#endif
