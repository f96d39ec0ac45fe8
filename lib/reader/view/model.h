/* SPDX-License-Identifier: MIT */
/*
 * Owns what is shown of runs, as a page of blocks: rows, tables, lists, charts, as texts and
 * numbers, and nothing of how they look.  Builders (view/scopes.c, view/job.c, ...) fill it, and
 * renderers write it: view/text.c, view/html.c, view/markdown.c, view/data.c.  No figure goes from
 * one part to another as text.
 *
 * Everything lives in the page's arena.  Where there is no memory, texts are "", cells and rows go
 * where nobody sees them, and `is_broken` is asked for once at the end.
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
    const char *marks;   /* behind the text, which is shortened before these are; NULL: none */
    const char *reason;  /* why there is no figure; NULL: there is one */
    double share, inner; /* a bar behind it, 0 ... 1, and the dark part of that; share < 0: none */
    double value;        /* of a figure, in the unit of its column */
    bool is_figure;
    uint32_t depth; /* in a tree, of a name */
};

struct rm_page_column {
    const char *key;   /* in data */
    const char *title; /* NULL: it is in data only */
    bool is_left;      /* text, not numbers */
    bool is_wide;      /* long text, which is broken */
    bool is_code;      /* whose spaces count */
};

struct rm_page_table {
    const char *key; /* for whoever wants some of them */
    const char *title;
    const char *lead; /* between title and table; "" */
    struct rm_page_column columns[RM_PAGE_COLUMNS];
    size_t column_count;
    struct rm_page_cell *cells; /* row by row: rm_page_cells() */
    size_t count, room;         /* rows */
    bool has_sum;               /* the last row is one */
    bool is_index;              /* its first rows lead to the runs */
    const char *notes[RM_PAGE_NOTES];
    size_t note_count;
};

/* An answer in a line: "CPU", "1.095 s", "0.9 s user", ... */
struct rm_page_row {
    const char *label, *value; /* value "": its clauses begin where values do */
    const char *clauses[RM_PAGE_CLAUSES];
    size_t count;
};

struct rm_page_rows {
    struct rm_page_row *items;
    size_t count;
};

/* A figure in front: "peak RSS", "1.2 GiB", "exact". */
struct rm_page_tile {
    const char *label, *value, *small;
};

#define RM_PAGE_TILES 8
struct rm_page_tiles {
    struct rm_page_tile items[RM_PAGE_TILES];
    size_t count;
};

/* Sentences, of which each has a line. */
struct rm_page_list {
    const char **items;
    size_t count, room;
};

enum rm_page_block_kind {
    RM_BLOCK_TITLE,   /* text; note: what it means */
    RM_BLOCK_LINE,    /* a statement; note: the class of HTML */
    RM_BLOCK_NOTE,    /* a remark */
    RM_BLOCK_ROWS,    /* struct rm_page_rows */
    RM_BLOCK_TILES,   /* struct rm_page_tiles */
    RM_BLOCK_TABLE,   /* struct rm_page_table */
    RM_BLOCK_LIST,    /* struct rm_page_list */
    RM_BLOCK_CHARTS,  /* of a struct rm_subject; NULL: of all runs */
    RM_BLOCK_DRAWING, /* only of HTML */
    RM_BLOCK_RUN,     /* what follows is about run `number` */
    RM_BLOCK_ALL,     /* ... about all runs together */
};

/* What a page consists of, from top to bottom. */
struct rm_page_block {
    enum rm_page_block_kind kind;
    const char *text, *note;
    const void *what;
    size_t number;
    bool is_folded; /* until somebody wants it */
    void (*draw)(struct rm_buffer *out, const struct rm_page_block *block); /* a drawing */
    struct rm_page_block *next;
};

struct rm_page {
    struct rm_arena arena;
    bool is_broken;
    struct rm_page_cell spill[RM_PAGE_COLUMNS];
    struct rm_page_row spilt_row;
    struct rm_page_block spilt_block;
    const char *title;
    struct rm_page_block *first, *last;
};

void rm_page_free(struct rm_page *page);

/** Room for `count` things, zeroed; NULL: there is no memory, and the page is broken. */
void *rm_page_alloc(struct rm_page *page, size_t count, size_t size);

/* ---- texts ------------------------------------------------------------------------------- */

const char *RM_PRINTF(2, 3) rm_page_print(struct rm_page *page, const char *format, ...);

/** Text of any origin, with what cannot be seen, or would turn its direction, spelled out
 * ("\u202e"); and at most so many characters of that. */
const char *rm_page_shown(struct rm_page *page, const char *text);
const char *rm_page_shown_at_most(struct rm_page *page, const char *text, size_t most);

/** "1,234,567". */
const char *rm_page_grouped(struct rm_page *page, uint64_t number);

/** A value of a unit as people read it; "-" of what is not known. */
const char *rm_page_value(struct rm_page *page, double value, const char *unit);

/** What one of base/human.h prints of it. */
const char *rm_page_human(struct rm_page *page, void (*print)(char *text, double value),
                          double value);

/** With so many decimals, and a point in every locale. */
const char *rm_page_fixed(struct rm_page *page, double value, int decimals);

/** The texts that are not "", with `between` in between. */
const char *rm_page_join(struct rm_page *page, const char *between, const char *const *texts,
                         size_t count);

/** A text for the middle of a line, in at most so many columns of a terminal. */
const char *rm_page_shortened(struct rm_page *page, const char *text, size_t columns);

/* ---- tables ------------------------------------------------------------------------------ */

/** A table without columns; NULL: there is no memory. */
struct rm_page_table *rm_page_table_begin(struct rm_page *page, const char *key, const char *title);

/** Adds a column, of numbers. */
struct rm_page_column *rm_page_column(struct rm_page_table *table, const char *key,
                                      const char *title);

/** Makes room for so many rows: there are no columns to come. */
void rm_page_room(struct rm_page *page, struct rm_page_table *table, size_t rows);

/* Texts above columns, of which the first `left` are texts themselves. */
struct rm_page_headers {
    const char *const *texts;
    size_t count, left;
};
#define RM_HEADERS(texts, count, left) ((struct rm_page_headers){texts, count, left})

/** A table with columns of these titles, which are their keys, too, of which `left` from the left
 * are text. */
struct rm_page_table *rm_page_table_new(struct rm_page *page, const char *key, const char *title,
                                        struct rm_page_headers headers, size_t rows);

/** The cells of a row. */
static inline struct rm_page_cell *rm_page_cells(const struct rm_page_table *table, size_t row)
{
    return &table->cells[row * table->column_count];
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

/** A bar behind it. */
void rm_page_set_share(struct rm_page_cell *cell, double share, double inner);

/* ---- rows and lists ---------------------------------------------------------------------- */

/** Begins a row.  `value` NULL: its clauses begin where values do. */
struct rm_page_row *rm_page_answer(struct rm_page *page, struct rm_page_rows *rows,
                                   const char *label, const char *value);

/** Adds a clause. */
void RM_PRINTF(3, 4)
    rm_page_clause(struct rm_page *page, struct rm_page_row *row, const char *format, ...);

/** Adds a sentence. */
void RM_PRINTF(3, 4)
    rm_page_say(struct rm_page *page, struct rm_page_list *list, const char *format, ...);

/* ---- blocks ------------------------------------------------------------------------------ */

/** Adds a block, which the caller completes; one that nobody sees where there is no memory. */
struct rm_page_block *rm_page_add(struct rm_page *page, enum rm_page_block_kind kind,
                                  const char *text, const void *what);

/** Adds a table, if it is one. */
struct rm_page_block *rm_page_add_table(struct rm_page *page, const struct rm_page_table *table);

#endif
