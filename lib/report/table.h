/* SPDX-License-Identifier: MIT */
/*
 * Owns tables in plain text: columns as wide as their widest cell, numbers to the right.
 */
#ifndef RM_REPORT_TABLE_H
#define RM_REPORT_TABLE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buffer.h"

#define RM_TABLE_COLUMNS    12
#define RM_TABLE_CELL_BYTES 80

struct rm_table {
    char (*cells)[RM_TABLE_COLUMNS][RM_TABLE_CELL_BYTES]; /* [0]: the headings */
    size_t rows;
    size_t room;
    size_t columns;
    bool is_left[RM_TABLE_COLUMNS]; /* text, not numbers */
    bool is_broken;                 /* no memory: rows are missing */
};

/** Starts a table; the first `left` columns hold text. */
void rm_table_begin(struct rm_table *table, const char *const *headings, size_t columns,
                    size_t left);

/** A new row of empty cells; NULL when there is no memory. */
char (*rm_table_row(struct rm_table *table))[RM_TABLE_CELL_BYTES];

/** Appends the table, indented by two spaces, and frees it. */
void rm_table_end(struct rm_table *table, struct rm_buffer *buffer);

#endif
