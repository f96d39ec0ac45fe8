/* SPDX-License-Identifier: MIT */
/*
 * Owns the model of a report: a page of blocks (rows, tables, lists, charts) as texts and numbers,
 * without layout.  Builders (view/builders.h) fill it, and renderers (view/renderers.h) write it.
 * No builder reads a value back from the text of another one.
 *
 * Everything lives in the page's arena.  Without memory, texts are "", cells and rows are written
 * to spare ones that no renderer reads, and `is_broken` is set, which is checked once at the end.
 */
#ifndef RM_VIEW_MODEL_H
#define RM_VIEW_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/alloc.h"
#include "base/buffer.h"
#include "base/compiler.h"

#define RM_PAGE_COLUMNS 32 /* of a table */
#define RM_PAGE_NOTES   16
#define RM_PAGE_CLAUSES 16 /* of a row */
#define RM_PAGE_ROWS    64
#define RM_PAGE_COLOURS 8 /* of lines and dots, as page.css and page.js have them */
#define RM_PAGE_UNKNOWN "-"

struct rm_page_cell {
    const char *text;
    const char *marks;   /* behind the text; they stay if the text is shortened; NULL: none */
    const char *reason;  /* why the value is missing; NULL: it is not */
    double share, inner; /* a bar behind the text, 0 ... 1, and its dark part; share < 0: none */
    double value;        /* in the unit of the column */
    bool is_figure;      /* `value` is one; else the cell is text */
    uint32_t depth;      /* of a name in a tree */
};

struct rm_page_column {
    const char *key;   /* in data */
    const char *title; /* NULL: only in data */
    bool is_left;      /* text, not numbers */
    bool is_wide;      /* long text, which is wrapped */
    bool is_code;      /* spaces are kept */
};

struct rm_page_table {
    const char *key; /* in data */
    const char *title;
    const char *lead; /* between title and table; "" */
    struct rm_page_column columns[RM_PAGE_COLUMNS];
    size_t column_count;
    struct rm_page_cell *cells; /* row by row: rm_page_cells() */
    size_t count, room;         /* rows */
    bool has_sum;               /* the last row is a sum */
    bool is_index;              /* row i links to run i */
    const char *notes[RM_PAGE_NOTES];
    size_t note_count;
};

/* A row of the brief report: "CPU", "1.095 s", "0.9 s user", ... */
struct rm_page_row {
    const char *label, *value; /* value "": the clauses begin in its place */
    const char *clauses[RM_PAGE_CLAUSES];
    size_t count;
};

struct rm_page_rows {
    struct rm_page_row *items;
    size_t count;
};

/* A headline value: "peak RSS", "1.2 GiB", "exact". */
struct rm_page_tile {
    const char *label, *value, *small;
};

#define RM_PAGE_TILES 8
struct rm_page_tiles {
    struct rm_page_tile items[RM_PAGE_TILES];
    size_t count;
};

/* Sentences, one in a line. */
struct rm_page_list {
    const char **items;
    size_t count, room;
};

enum rm_page_block_kind {
    RM_BLOCK_TITLE,   /* text; note: its explanation */
    RM_BLOCK_LINE,    /* a statement; note: the class of HTML */
    RM_BLOCK_NOTE,    /* a remark */
    RM_BLOCK_ROWS,    /* struct rm_page_rows */
    RM_BLOCK_TILES,   /* struct rm_page_tiles */
    RM_BLOCK_TABLE,   /* struct rm_page_table */
    RM_BLOCK_LIST,    /* struct rm_page_list */
    RM_BLOCK_CHARTS,  /* of a struct rm_subject; NULL: of all runs */
    RM_BLOCK_DRAWING, /* only in HTML */
    RM_BLOCK_RUN,     /* the blocks behind it are about run `number` */
    RM_BLOCK_ALL,     /* ... about all runs together */
};

/* Writes something as HTML. */
typedef void rm_draw(struct rm_buffer *out, const void *what);

/* A part of a page. */
struct rm_page_block {
    enum rm_page_block_kind kind;
    const char *text, *note;
    const void *what;
    size_t number;
    bool is_folded; /* collapsed at first */
    rm_draw *draw;  /* of a drawing: writes `what` */
    struct rm_page_block *next;
};

struct rm_page {
    struct rm_arena arena;
    bool is_broken;
    struct rm_page_cell spare_cells[RM_PAGE_COLUMNS];
    struct rm_page_row spare_row;
    struct rm_page_list spare_list;
    struct rm_page_block spare_block;
    const char *title;
    struct rm_page_block *first, *last;
};

void rm_page_free(struct rm_page *page);

/** Zeroed memory for `count` items; NULL: there is none, and the page is broken. */
void *rm_page_alloc(struct rm_page *page, size_t count, size_t size);

/* ---- texts ------------------------------------------------------------------------------- */

const char *RM_PRINTF(2, 3) rm_page_print(struct rm_page *page, const char *format, ...);

/** Text of any origin, in which invisible characters and those that change the direction of writing
 * are escaped ("\u202e"); rm_page_shown_at_most(): at most so many characters of it. */
const char *rm_page_shown(struct rm_page *page, const char *text);
const char *rm_page_shown_at_most(struct rm_page *page, const char *text, size_t most);

/** "1,234,567". */
const char *rm_page_grouped(struct rm_page *page, uint64_t number);

/** A value with a unit prefix: "1.2 GiB"; "-" if it is not finite.  Unit "": a count. */
const char *rm_page_value(struct rm_page *page, double value, const char *unit);

/** A value with its sign and a unit prefix: "+1.2 GiB"; "-" if it is not finite. */
const char *rm_page_signed(struct rm_page *page, double value, const char *unit);

/** A number with so many decimals, and a point in every locale. */
const char *rm_page_fixed(struct rm_page *page, double value, int decimals);

/** "2026-11-22 01:47:03 UTC", or without seconds; "" if the time is not known. */
const char *rm_page_time(struct rm_page *page, int64_t realtime_ns, bool has_seconds);

/** The texts that are not "", separated by `between`. */
const char *rm_page_join(struct rm_page *page, const char *between, const char *const *texts,
                         size_t count);

/** A text cut in its middle to so many columns of a terminal. */
const char *rm_page_shortened(struct rm_page *page, const char *text, size_t columns);

/* ---- tables ------------------------------------------------------------------------------ */

/** A table without columns; NULL: there is no memory. */
struct rm_page_table *rm_page_table_begin(struct rm_page *page, const char *key, const char *title);

/** Adds a column, of numbers. */
struct rm_page_column *rm_page_column(struct rm_page_table *table, const char *key,
                                      const char *title);

/** Allocates so many rows; all columns must have been added. */
void rm_page_room(struct rm_page *page, struct rm_page_table *table, size_t rows);

/* Titles of columns, of which the first `left` contain text. */
struct rm_page_headers {
    const char *const *texts;
    size_t count, left;
};
#define RM_HEADERS(texts, count, left) ((struct rm_page_headers){texts, count, left})

/** A table with these columns; the titles are also their keys. */
struct rm_page_table *rm_page_table_new(struct rm_page *page, const char *key, const char *title,
                                        struct rm_page_headers headers, size_t rows);

static inline struct rm_page_cell *rm_page_cells(const struct rm_page_table *table, size_t row)
{
    return &table->cells[row * table->column_count];
}

/** The next row, empty; past the last allocated row, a spare one. */
struct rm_page_cell *rm_page_row(struct rm_page *page, struct rm_page_table *table);

/** A table of names and values, without headers. */
struct rm_page_table *rm_page_pairs_new(struct rm_page *page, const char *key, const char *title,
                                        size_t rows);

/** Adds a row to that; text "": none. */
void rm_page_add_pair(struct rm_page *page, struct rm_page_table *table, const char *name,
                      const char *text);

/** Adds a remark below the table; "": none. */
void rm_page_note(struct rm_page_table *table, const char *note);

void rm_page_set(struct rm_page_cell *cell, const char *text);

/** Sets "-" with a reason (text of any origin). */
void rm_page_set_missing(struct rm_page *page, struct rm_page_cell *cell, const char *reason);

/** Sets a value; if it is not finite, "-" with the reason. */
void rm_page_set_value(struct rm_page *page, struct rm_page_cell *cell, double value,
                       const char *unit, const char *reason);

/** Puts a mark ("~", ">=") in front of a value; "": none.  A missing value stays "-". */
void rm_page_mark(struct rm_page *page, struct rm_page_cell *cell, const char *mark);

/** Sets the bar behind a cell. */
void rm_page_set_share(struct rm_page_cell *cell, double share, double inner);

/* ---- rows and lists ------------------------------------------------------------------------ */

/** Adds a row.  `value` NULL: the clauses begin in its place. */
struct rm_page_row *rm_page_answer(struct rm_page *page, struct rm_page_rows *rows,
                                   const char *label, const char *value);

void RM_PRINTF(3, 4)
    rm_page_clause(struct rm_page *page, struct rm_page_row *row, const char *format, ...);

void RM_PRINTF(3, 4)
    rm_page_say(struct rm_page *page, struct rm_page_list *list, const char *format, ...);

/* ---- blocks ------------------------------------------------------------------------------ */

/** Adds a block, which the caller completes; without memory, a spare one. */
struct rm_page_block *rm_page_add(struct rm_page *page, enum rm_page_block_kind kind,
                                  const char *text, const void *what);

/** Adds a block that is drawn as HTML. */
struct rm_page_block *rm_page_add_drawing(struct rm_page *page, rm_draw *draw, const void *what);

/** Adds an empty list, which the caller fills; without memory, a spare one.  `note`: its class in
 * HTML; "": the usual one. */
struct rm_page_list *rm_page_add_list(struct rm_page *page, const char *note);

/** Adds a table; NULL: nothing. */
struct rm_page_block *rm_page_add_table(struct rm_page *page, const struct rm_page_table *table);

#endif
