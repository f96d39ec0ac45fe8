/* SPDX-License-Identifier: MIT */
#include "report/table.h"

#include <string.h>

#include "base/alloc.h"
#include "base/columns.h"
#include "base/text.h"

#define GAP        2  /* in front of each column */
#define LEAST_TEXT 12 /* columns of a text that is cut to fit */

void rm_table_begin(struct rm_table *table, const char *const *headings, size_t columns,
                    size_t left)
{
    *table = (struct rm_table){.columns = columns};
    for (size_t c = 0; c < columns; c++) {
        table->is_left[c] = c < left;
    }
    char(*cells)[RM_TABLE_CELL_BYTES] = rm_table_row(table);
    for (size_t c = 0; c < columns && cells != NULL; c++) {
        (void)rm_text_set(cells[c], RM_TABLE_CELL_BYTES, headings[c]);
    }
}

char (*rm_table_row(struct rm_table *table))[RM_TABLE_CELL_BYTES]
{
    void *cells = rm_grow(table->cells, table->rows, &table->room, sizeof *table->cells);
    if (cells == NULL) {
        table->is_broken = true;
        return NULL;
    }
    table->cells = cells;
    memset(table->cells[table->rows], 0, sizeof table->cells[0]);
    return table->cells[table->rows++];
}

void rm_table_set_estimate(char cell[RM_TABLE_CELL_BYTES], const char *text,
                           const resmon_estimate *estimate, bool is_about)
{
    bool is_vague = rm_estimate_is_vague(estimate);
    size_t length = rm_text_set(cell, RM_TABLE_CELL_BYTES, is_about && !is_vague ? "~" : "");
    (void)rm_text_set(cell + length, RM_TABLE_CELL_BYTES - length, is_vague ? "-" : text);
}

/* Columns that stand side by side: the first one, and [from, to). */
struct span {
    size_t from, to;
};

static void add_cell(const struct rm_table *table, const char *cell, size_t column, size_t width,
                     bool is_last, struct rm_buffer *buffer)
{
    size_t taken;
    size_t bytes = rm_columns_fit(cell, width, &taken);
    size_t padding = width - taken;
    rm_buffer_spaces(buffer, GAP + (table->is_left[column] ? 0 : padding));
    rm_buffer_add(buffer, cell, bytes);
    if (table->is_left[column] && !is_last) {
        rm_buffer_spaces(buffer, padding);
    }
}

/* Without the empty cells at its end. */
static struct span filled(const struct rm_table *table, size_t row, struct span span)
{
    while (span.to > span.from && table->cells[row][span.to - 1][0] == '\0') {
        span.to--;
    }
    return span;
}

static bool has_cells(const struct rm_table *table, size_t row, struct span span)
{
    return filled(table, row, span).to > span.from;
}

static void add_row(const struct rm_table *table, size_t row, struct span span,
                    const size_t *widths, struct rm_buffer *buffer)
{
    span = filled(table, row, span);
    bool has_more = span.to > span.from;
    if (has_more || table->cells[row][0][0] != '\0') {
        add_cell(table, table->cells[row][0], 0, widths[0], !has_more, buffer);
    }
    for (size_t c = span.from; c < span.to; c++) {
        add_cell(table, table->cells[row][c], c, widths[c], c + 1 == span.to, buffer);
    }
    rm_buffer_puts(buffer, "\n");
}

/* As many columns from `from` on as fit; at least one.  A last column of text is made to fit where
 * there is some room for it. */
static struct span fitting(const struct rm_table *table, size_t from, size_t *widths)
{
    size_t page = table->width > 0 ? table->width : RESMON_REPORT_WIDTH;
    size_t used = GAP + widths[0];
    struct span span = {from, from};
    while (span.to < table->columns && used + GAP + widths[span.to] <= page) {
        used += GAP + widths[span.to++];
    }
    bool is_text = span.to + 1 == table->columns && table->is_left[span.to];
    if (is_text && used + GAP + LEAST_TEXT <= page) {
        widths[span.to] = page - used - GAP;
        span.to++;
    }
    span.to = span.to > from || from >= table->columns ? span.to : from + 1;
    return span;
}

static void measure(const struct rm_table *table, size_t widths[RM_TABLE_COLUMNS])
{
    for (size_t r = 0; r < table->rows; r++) {
        for (size_t c = 0; c < table->columns; c++) {
            size_t width = rm_columns(table->cells[r][c]);
            widths[c] = width > widths[c] ? width : widths[c];
        }
    }
}

void rm_table_end(struct rm_table *table, struct rm_buffer *buffer)
{
    size_t widths[RM_TABLE_COLUMNS] = {0};
    size_t next = 1;
    measure(table, widths);
    do {
        const struct span span = fitting(table, next, widths);
        const struct span all = {1, table->columns};
        for (size_t r = 0; r < table->rows; r++) {
            if (has_cells(table, r, span) || !has_cells(table, r, all)) {
                add_row(table, r, span, widths, buffer);
            }
        }
        next = span.to;
        if (next < table->columns) {
            rm_buffer_puts(buffer, "\n");
        }
    } while (next < table->columns);
    if (table->is_broken) {
        rm_buffer_puts(buffer, "  (cut: out of memory)\n");
    }
    rm_free(table->cells);
    *table = (struct rm_table){0};
}
