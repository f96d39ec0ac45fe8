/* SPDX-License-Identifier: MIT */
/*
 * Owns the time of a merged run: cells of one width, which begin at multiples of it since 1970, so
 * that the cells of all nodes are the same ones and halving them is exact; and how rows of other
 * widths fall into cells: by the time that they share, so that no second and no byte is lost or
 * counted twice.  Pure.
 */
#ifndef RM_MERGE_GRID_H
#define RM_MERGE_GRID_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Of a column of a node. */
struct rm_grid_cell {
    double sum;       /* gauge: value times seconds; counter: growth */
    double seconds;   /* that are known */
    double low, high; /* readings, of counters rates; NaN: none */
};

/* Cells beside each other: number first, first + 1, ... since 1970. */
struct rm_grid_span {
    int64_t first;
    size_t count;
};

/* What is known of a column from one time to another, in ns since 1970. */
struct rm_grid_row {
    int64_t from_ns, to_ns;
    double mean; /* gauge: time-weighted; counter: rate */
    double low, high;
};

/** The cells that a time from `from_ns` to `to_ns` lies in; at least one. */
struct rm_grid_span rm_grid_span_of(int64_t width_ns, int64_t from_ns, int64_t to_ns);

/** What both are in. */
struct rm_grid_span rm_grid_span_around(struct rm_grid_span one, struct rm_grid_span other);

/** The cells of twice the width that these are in. */
struct rm_grid_span rm_grid_span_halved(struct rm_grid_span span);

/** Nothing is known of a cell. */
struct rm_grid_cell rm_grid_cell_empty(void);

/** Adds a row to cells of one run's column, of which it may be partly outside. */
void rm_grid_add(struct rm_grid_cell *cells, struct rm_grid_span span, int64_t width_ns,
                 const struct rm_grid_row *row);

/** Makes cells of twice the width of cells, in place; returns rm_grid_span_halved(span). */
struct rm_grid_span rm_grid_halve(struct rm_grid_cell *cells, struct rm_grid_span span);

#endif
