/* SPDX-License-Identifier: MIT */
/*
 * Owns how members of records become cells: view/tables.def, the one table of the values that
 * people see, as columns of a table.
 * Called by the builders of tables.
 */
#ifndef RM_VIEW_COLUMNS_H
#define RM_VIEW_COLUMNS_H

#include "run/record.h"
#include "view/model.h"

enum rm_table_name {
#define RM_TABLE(table, ...) RM_TABLE_##table,
#include "view/tables.def"
};

enum rm_column_detail { RM_COLUMN_BRIEF, RM_COLUMN_FULL };

/* Traits, as view/tables.def has them. */
enum { RM_ABOUT = 1, RM_LEAST = 2, RM_WIDE = 4, RM_OTHERS = 8, RM_DOUBT = 16, RM_RARE = 32 };

struct rm_view_column {
    const char *key, *title, *unit;
    double scale;
    uint16_t offset, provenance; /* UINT16_MAX: none */
    uint8_t table, record, type, detail, traits;
};

/* The columns of a table. */
struct rm_view_columns {
    const struct rm_view_column *items[RM_PAGE_COLUMNS];
    size_t count;
};

/* An array of records. */
struct rm_records {
    const void *first;
    size_t count, size;
};

const char *rm_table_title(enum rm_table_name table);

/** A table without columns, with the key and title of view/tables.def; NULL: there is no memory. */
struct rm_page_table *rm_columns_begin(struct rm_page *page, enum rm_table_name table);

/** The columns that have a value in at least one record (`first` NULL: all columns); columns of
 * text are always included. */
struct rm_view_columns rm_columns_choose(enum rm_table_name table, enum rm_column_detail detail,
                                         struct rm_records records);

/** Adds the columns behind those that the table has. */
void rm_columns_add(struct rm_page_table *table, const struct rm_view_columns *columns);

/** Sets one cell, with the mark of an estimate; "-" with the reason `why` if the value is not
 * known.
 */
void rm_column_set(struct rm_page *page, struct rm_page_cell *cell,
                   const struct rm_view_column *column, const void *record, const char *why);

/** Sets the cells of all columns. */
void rm_columns_set(struct rm_page *page, struct rm_page_cell *cells,
                    const struct rm_view_columns *columns, const void *record, const char *why);

/** A table with a row for each record. */
struct rm_page_table *rm_columns_table(struct rm_page *page, enum rm_table_name table,
                                       enum rm_column_detail detail, struct rm_records records,
                                       const char *why);

#endif
