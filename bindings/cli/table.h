/* SPDX-License-Identifier: MIT */
/*
 * Owns a table: cells as people read them, or the same rows as JSON, a list of objects whose
 * figures are in SI units.
 */
#ifndef RESMON_CLI_TABLE_H
#define RESMON_CLI_TABLE_H

#include <stdbool.h>
#include <stddef.h>

struct cli_column {
    const char *key;   /* in JSON */
    const char *title; /* for people; NULL: only in JSON */
    bool is_right;     /* figures stand at the right */
};

struct cli_cell;

struct cli_table {
    const struct cli_column *columns;
    size_t column_count;
    struct cli_cell *cells; /* row after row */
    size_t cell_count, room;
    bool as_json;
};

/** Cells in the order of the columns, row after row.  Texts are copied. */
void cli_table_text(struct cli_table *table, const char *text);

/** A figure: `unit` as resmon_format_value() has it, NULL: a number of something; NaN is "-", and
 * null in JSON. */
void cli_table_value(struct cli_table *table, double value, const char *unit);

/** Prints it on stdout, and frees it.  The last column that people see takes what is left of the
 * terminal's width.  False, and a line that says why. */
bool cli_table_print(struct cli_table *table, const char *verb);

#endif
