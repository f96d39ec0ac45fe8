/* SPDX-License-Identifier: MIT */
#include "view/renderers.h"

#include <stdio.h>
#include <string.h>

#include "base/compiler.h"
#include "base/text.h"

#define MOST_BYTES    ((size_t)256 << 20)
#define GAP           2  /* in front of each column of a table */
#define NAME_COLUMNS  44 /* of a name with its indentation, */
#define SHORT_COLUMNS 24 /* and on a terminal with fewer columns than */
#define NARROW        90
#define LEAST_WIDE    24 /* columns of long text beside others */
#define LABEL_COLUMNS 8  /* of a row of the brief report */
#define VALUE_COLUMNS 11

/* ---- lines ------------------------------------------------------------------------------ */

/* Adds a piece of a line, without control characters. */
static void put(struct rm_buffer *out, const char *text, size_t bytes)
{
    size_t begin = out->length;
    rm_buffer_add(out, text, bytes);
    if (out->status == RESMON_OK && bytes > 0) {
        rm_text_clean(out->text + begin);
    }
}

static void end_line(struct rm_buffer *out)
{
    while (out->status == RESMON_OK && out->length > 0 && out->text[out->length - 1] == ' ') {
        out->text[--out->length] = '\0';
    }
    rm_buffer_puts(out, "\n");
}

/* The bytes of a text that fit on a line: up to the last space, or a part of a word that is longer
 * than a line. */
static size_t bytes_of_line(const char *text, size_t columns)
{
    size_t bytes = rm_columns_fit(text, columns, NULL);
    size_t at = bytes;
    if (text[bytes] == '\0') {
        return bytes;
    }
    while (at > 0 && text[at] != ' ') {
        at--;
    }
    return at > strspn(text, " ") ? at : bytes > 0 ? bytes : 1;
}

/* A paragraph; `first` columns of its first line are used, and the others are indented. */
static void put_paragraph(struct rm_buffer *out, const char *text, size_t first, size_t indent,
                          size_t width)
{
    size_t used = first;
    for (;;) {
        size_t bytes = bytes_of_line(text, width > used ? width - used : 1);
        put(out, text, bytes);
        end_line(out);
        text += bytes;
        text += strspn(text, " ");
        if (*text == '\0') {
            return;
        }
        rm_buffer_spaces(out, indent);
        used = indent;
    }
}

/* "  text", wrapped with more indentation. */
static void put_remark(struct rm_buffer *out, const char *text, size_t width)
{
    rm_buffer_spaces(out, 2);
    put_paragraph(out, text, 2, 4, width);
}

/* ---- tables ----------------------------------------------------------------------------- */

/* A table while it is written. */
struct layout {
    const struct rm_page_table *table;
    struct rm_buffer *out;
    struct rm_buffer cell; /* text of the current cell */
    size_t width;
    size_t columns[RM_PAGE_COLUMNS]; /* indexes of the visible ones */
    size_t count;
    size_t widths[RM_PAGE_COLUMNS]; /* by visible column */
};

/* Columns side by side: the first one, and [from, to) of the others. */
struct span {
    size_t from, to;
};

static const struct rm_page_column *column_at(const struct layout *layout, size_t place)
{
    return &layout->table->columns[layout->columns[place]];
}

/* "  load_and_a_very_long_n..e ||": indented, shortened in its middle, with its marks. */
static void make_name(struct layout *layout, const struct rm_page_cell *cell)
{
    const size_t columns = layout->width < NARROW ? SHORT_COLUMNS : NAME_COLUMNS;
    const char *marks = cell->marks != NULL ? cell->marks : "";
    char name[1024], depth[16] = "";
    bool is_deep = cell->depth >= columns / 4; /* too deep to be indented: "[17] parse" */
    if (is_deep) {
        (void)snprintf(depth, sizeof depth, "[%u] ", (unsigned)cell->depth);
    }
    size_t taken = rm_columns(marks) + rm_columns(depth);
    size_t room = columns / 2 > taken ? columns / 2 - taken : 0;
    size_t indent = is_deep ? room : 2 * (size_t)cell->depth;
    rm_columns_shorten(name, sizeof name, cell->text, columns - indent - taken);
    rm_buffer_spaces(&layout->cell, indent);
    rm_buffer_printf(&layout->cell, "%s%s%s", depth, name, marks);
}

/* The text of a cell; row -1: the title of the column. */
static const char *text_at(struct layout *layout, long row, size_t place)
{
    const struct rm_page_column *column = column_at(layout, place);
    if (row < 0) {
        return column->title;
    }
    const struct rm_page_cell *cell =
        &rm_page_cells(layout->table, (size_t)row)[layout->columns[place]];
    if (!column->is_left || column->is_wide || column->is_code) {
        return cell->text;
    }
    rm_buffer_clear(&layout->cell);
    make_name(layout, cell);
    return layout->cell.text != NULL ? layout->cell.text : "";
}

static void measure(struct layout *layout)
{
    const struct rm_page_table *table = layout->table;
    for (size_t i = 0; i < table->column_count; i++) {
        if (table->columns[i].title != NULL) {
            layout->columns[layout->count++] = i;
        }
    }
    for (size_t place = 0; place < layout->count; place++) {
        for (long row = -1; row < (long)table->count; row++) {
            size_t width = rm_columns(text_at(layout, row, place));
            layout->widths[place] = width > layout->widths[place] ? width : layout->widths[place];
        }
    }
}

/* As many columns from `from` on as fit; at least one.  Long text gets the remaining width. */
static struct span fitting(struct layout *layout, size_t from)
{
    size_t used = GAP + layout->widths[0];
    struct span span = {from, from};
    while (span.to < layout->count) {
        const struct rm_page_column *column = column_at(layout, span.to);
        size_t left = layout->width > used + GAP ? layout->width - used - GAP : 0;
        bool is_long = column->is_wide || column->is_code;
        if (layout->widths[span.to] > left && (!is_long || (left < LEAST_WIDE && span.to > from))) {
            break;
        }
        if (is_long && layout->widths[span.to] > left) {
            layout->widths[span.to] = left > LEAST_WIDE ? left : LEAST_WIDE;
        }
        used += GAP + layout->widths[span.to++];
    }
    span.to = span.to > from || from >= layout->count ? span.to : from + 1;
    return span;
}

static bool has_cells(struct layout *layout, long row, struct span span)
{
    for (size_t place = span.from; place < span.to; place++) {
        if (text_at(layout, row, place)[0] != '\0') {
            return true;
        }
    }
    return false;
}

/* Returns the terminal column behind the cell; 0: the line has ended. */
static size_t put_cell(struct layout *layout, long row, size_t place, size_t at)
{
    const struct rm_page_column *column = column_at(layout, place);
    const char *text = text_at(layout, row, place);
    size_t width = layout->widths[place], taken;
    rm_buffer_spaces(layout->out, GAP);
    if (column->is_wide && rm_columns(text) > width) {
        put_paragraph(layout->out, text, at + GAP, at + GAP, at + GAP + width);
        return 0;
    }
    size_t bytes = rm_columns_fit(text, width, &taken);
    bool is_left = column->is_left || column->is_wide;
    rm_buffer_spaces(layout->out, is_left ? 0 : width - taken);
    put(layout->out, text, bytes);
    rm_buffer_spaces(layout->out, is_left ? width - taken : 0);
    return at + GAP + width;
}

static void put_row(struct layout *layout, long row, struct span span)
{
    size_t at = put_cell(layout, row, 0, 0);
    for (size_t place = span.from; place < span.to; place++) {
        at = put_cell(layout, row, place, at);
    }
    if (at > 0) {
        end_line(layout->out);
    }
}

void rm_text_table(struct rm_buffer *out, const struct rm_page_table *table, size_t width)
{
    struct layout layout = {.table = table, .out = out, .width = width};
    size_t next = 1;
    rm_buffer_init(&layout.cell, MOST_BYTES);
    measure(&layout);
    do {
        const struct span span = fitting(&layout, next), all = {1, layout.count};
        for (long row = -1; row < (long)table->count; row++) {
            bool is_empty =
                row < 0 && !has_cells(&layout, row, all) && text_at(&layout, row, 0)[0] == '\0';
            if (!is_empty && (has_cells(&layout, row, span) || !has_cells(&layout, row, all))) {
                put_row(&layout, row, span);
            }
        }
        next = span.to;
        rm_buffer_puts(out, next < layout.count ? "\n" : "");
    } while (next < layout.count);
    rm_buffer_free(&layout.cell);
}

static void put_table(struct rm_buffer *out, const struct rm_page_table *table, size_t width)
{
    rm_buffer_puts(out, out->length > 0 ? "\n" : "");
    if (table->title[0] != '\0') {
        put_paragraph(out, table->title, 0, 2, width);
    }
    if (table->lead[0] != '\0') {
        put_remark(out, table->lead, width);
    }
    rm_text_table(out, table, width);
    for (size_t i = 0; i < table->note_count; i++) {
        put_remark(out, table->notes[i], width);
    }
}

/* ---- rows ------------------------------------------------------------------------------- */

/* "  CPU          1.095 s   0.9 s user; ...": a clause that does not fit begins a new line. */
static void put_answer(struct rm_buffer *out, const struct rm_page_row *row, size_t width)
{
    char head[256];
    (void)(row->value[0] != '\0'
               ? snprintf(head, sizeof head, "  %-*s%*s   ", LABEL_COLUMNS, row->label,
                          VALUE_COLUMNS, row->value)
               : snprintf(head, sizeof head, "  %-*s   ", LABEL_COLUMNS, row->label));
    put(out, head, strlen(head));
    size_t indent = strlen(head), used = indent;
    indent = indent < width / 2 ? indent : LABEL_COLUMNS / 2;
    for (size_t i = 0; i < row->count; i++) {
        const char *text = row->clauses[i];
        size_t columns = rm_columns(text) + (i + 1 < row->count ? 1 : 0); /* and ";" */
        if (i > 0 && used + 2 + columns > width) {
            rm_buffer_puts(out, ";\n");
            rm_buffer_spaces(out, indent);
            used = indent;
        } else if (i > 0) {
            rm_buffer_puts(out, "; ");
            used += 2;
        }
        while (used + columns > width) {
            size_t bytes = bytes_of_line(text, width > used ? width - used : 1);
            put(out, text, bytes);
            end_line(out);
            text += bytes;
            text += strspn(text, " ");
            rm_buffer_spaces(out, indent);
            used = indent;
            columns = rm_columns(text) + (i + 1 < row->count ? 1 : 0);
            if (bytes == 0 || indent >= width) {
                break;
            }
        }
        put(out, text, strlen(text));
        used += rm_columns(text);
    }
    end_line(out);
}

static void put_answers(struct rm_buffer *out, const struct rm_page_rows *rows, size_t width)
{
    rm_buffer_puts(out, out->length > 0 && rows->count > 0 ? "\n" : "");
    for (size_t i = 0; i < rows->count; i++) {
        put_answer(out, &rows->items[i], width);
    }
}

/* ---- the page --------------------------------------------------------------------------- */

static void put_title(struct rm_buffer *out, const struct rm_page_block *block, size_t width)
{
    if (block->text[0] == '\0') {
        return;
    }
    rm_buffer_puts(out, out->length > 0 ? "\n" : "");
    put_paragraph(out, block->text, 0, 2, width);
    if (block->note[0] != '\0') {
        put_remark(out, block->note, width);
    }
}

static void put_list(struct rm_buffer *out, const struct rm_page_list *list, size_t width)
{
    for (size_t i = 0; i < list->count; i++) {
        put_remark(out, list->items[i], width);
    }
}

void rm_text_write(struct rm_buffer *out, const struct rm_page *page, size_t width)
{
    for (const struct rm_page_block *block = page->first; block != NULL; block = block->next) {
        switch (block->kind) {
        case RM_BLOCK_TITLE:
        case RM_BLOCK_RUN:
            put_title(out, block, width);
            break;
        case RM_BLOCK_LINE:
            put_paragraph(out, block->text, 0, 2, width);
            break;
        case RM_BLOCK_NOTE:
            put_remark(out, block->text, width);
            break;
        case RM_BLOCK_ROWS:
            put_answers(out, block->what, width);
            break;
        case RM_BLOCK_TABLE:
            put_table(out, block->what, width);
            break;
        case RM_BLOCK_LIST:
            put_list(out, block->what, width);
            break;
        default: /* tiles, charts and drawings are graphical */
            break;
        }
    }
}
