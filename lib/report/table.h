/* SPDX-License-Identifier: MIT */
/*
 * Owns tables in plain text: columns as wide as their widest cell, numbers to the right, and never
 * wider than the page.
 */
#ifndef RM_REPORT_TABLE_H
#define RM_REPORT_TABLE_H

#include <stdbool.h>
#include <stddef.h>

#include <resmon/report.h>

#include "base/buffer.h"
#include "store/tally.h"

#define RM_TABLE_COLUMNS    13
#define RM_TABLE_CELL_BYTES 80

struct rm_table {
    char (*cells)[RM_TABLE_COLUMNS][RM_TABLE_CELL_BYTES]; /* [0]: the headings */
    size_t rows;
    size_t room;
    size_t columns;
    bool is_left[RM_TABLE_COLUMNS]; /* text, not numbers */
    bool is_broken;                 /* no memory: rows are missing */
    size_t width;                   /* of the page; 0: RESMON_REPORT_WIDTH */
};

/** Starts a table; the first `left` columns hold text. */
void rm_table_begin(struct rm_table *table, const char *const *headings, size_t columns,
                    size_t left);

/** A new row of empty cells; NULL when there is no memory. */
char (*rm_table_row(struct rm_table *table))[RM_TABLE_CELL_BYTES];

/** Fills a cell with `text`, the value of an estimate, marked where that is only about right; with
 * "-" where it may be off by more than itself: that is no figure. */
void rm_table_set_estimate(char cell[RM_TABLE_CELL_BYTES], const char *text,
                           const resmon_estimate *estimate, bool is_about);

/** Appends the table, indented by two spaces, and frees it.  Columns that the page is too narrow
 * for come in a second table below it, with the first column again; a last column of text is cut.
 */
void rm_table_end(struct rm_table *table, struct rm_buffer *buffer);

#endif
