/* SPDX-License-Identifier: MIT */
/*
 * Owns what a page about runs consists of: figures, tables, charts and flame graphs, as texts and
 * numbers, and nothing of how they look.  page/html.c, page/markdown.c and
 * page/data.c write them in the forms that page/form.h lists.
 *
 * Everything lives in the page's arena.  Where there is no memory, texts are "", cells go to a row
 * that nobody sees, and `is_broken` is asked for once at the end.
 */
#ifndef RM_PAGE_PAGE_H
#define RM_PAGE_PAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/compiler.h"

#define RM_PAGE_COLUMNS 32 /* of a table */
#define RM_PAGE_NOTES   8
#define RM_PAGE_UNKNOWN "-"

struct rm_page_cell {
    const char *text;
    const char *reason;  /* why there is no figure; NULL: there is one */
    double share, inner; /* a bar behind it, 0 ... 1, and the dark part of that; share < 0: none */
};

struct rm_page_table {
    const char *key; /* for whoever wants some of them */
    const char *title;
    const char *headers[RM_PAGE_COLUMNS]; /* all "": there are none */
    size_t columns;
    size_t left;                /* columns from the left that are no numbers */
    uint64_t wide;              /* bits: columns of long text */
    struct rm_page_cell *cells; /* row by row: rm_page_cells() */
    size_t count, room;         /* rows */
    bool has_sum;               /* the last row is one */
    bool is_index;              /* its first rows lead to the runs */
    const char *notes[RM_PAGE_NOTES];
    size_t note_count;
};

/* A figure in front: "peak RSS", "1.2 GiB", "exact". */
struct rm_page_tile {
    const char *label, *value, *small;
};

struct rm_page {
    struct rm_arena arena;
    bool is_broken;
    struct rm_page_cell spill[RM_PAGE_COLUMNS];
};

/** Room for `count` things, zeroed; NULL: there is no memory, and the page is broken. */
void *rm_page_alloc(struct rm_page *page, size_t count, size_t size);

const char *RM_PRINTF(2, 3) rm_page_print(struct rm_page *page, const char *format, ...);

/** Text of any origin, with what cannot be seen, or would turn its direction, spelled out
 * ("\u202e"); and at most so many characters of that. */
const char *rm_page_shown(struct rm_page *page, const char *text);
const char *rm_page_shown_at_most(struct rm_page *page, const char *text, size_t most);

/** "1,234,567". */
const char *rm_page_grouped(struct rm_page *page, uint64_t number);

/** A value of a unit as people read it; "-" of what is not known. */
const char *rm_page_value(struct rm_page *page, double value, const char *unit);

/** With so many decimals, and a point in every locale. */
const char *rm_page_fixed(struct rm_page *page, double value, int decimals);

/** The texts that are not "", with `between` in between. */
const char *rm_page_join(struct rm_page *page, const char *between, const char *const *texts,
                         size_t count);

/* ---- tables ----------------------------------------------------------------------------- */

/** With room for so many rows; NULL: there is no memory. */
struct rm_page_table *rm_page_table_new(struct rm_page *page, const char *key, const char *title,
                                        size_t columns, size_t left, size_t rows);

/** Sets the texts above the columns. */
void rm_page_headers(struct rm_page_table *table, const char *const *headers);

/** The cells of a row. */
static inline struct rm_page_cell *rm_page_cells(const struct rm_page_table *table, size_t row)
{
    return &table->cells[row * table->columns];
}

/** The next row, empty; past the room, one that nobody sees. */
struct rm_page_cell *rm_page_row(struct rm_page *page, struct rm_page_table *table);

/** Adds a remark below; "" is none. */
void rm_page_note(struct rm_page_table *table, const char *note);

void rm_page_set(struct rm_page_cell *cell, const char *text);

/** "-", for this reason (of any origin). */
void rm_page_set_missing(struct rm_page *page, struct rm_page_cell *cell, const char *reason);

/** A value, or why there is none. */
void rm_page_set_value(struct rm_page *page, struct rm_page_cell *cell, double value,
                       const char *unit, const char *reason);

/** A text and a bar behind it. */
void rm_page_set_share(struct rm_page_cell *cell, const char *text, double share, double inner);

#endif
