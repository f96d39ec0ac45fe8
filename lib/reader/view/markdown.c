/* SPDX-License-Identifier: MIT */
#include "view/renderers.h"

#include <string.h>

#define MOST_ROWS  40 /* of a table */
#define MOST_DEPTH 64

/* ---- elements --------------------------------------------------------------------------- */

/* Text of any origin, with markup escaped. */
static void put_text(struct rm_buffer *out, const char *text)
{
    static const char markup[] = "\\`*_[]<>|#~&";
    while (*text != '\0') {
        size_t plain = strcspn(text, markup);
        rm_buffer_add(out, text, plain);
        text += plain;
        if (*text != '\0') {
            const char escaped[] = {'\\', *text++};
            rm_buffer_add(out, escaped, sizeof escaped);
        }
    }
}

static void put_cell(struct rm_buffer *out, const char *text)
{
    rm_buffer_puts(out, " ");
    put_text(out, text);
    rm_buffer_puts(out, " |");
}

static void put_rule(struct rm_buffer *out, const struct rm_page_table *table)
{
    rm_buffer_puts(out, "|");
    for (size_t i = 0; i < table->column_count; i++) {
        const struct rm_page_column *column = &table->columns[i];
        if (column->title != NULL) {
            rm_buffer_puts(out, column->is_left || column->is_wide ? "---|" : "---:|");
        }
    }
    rm_buffer_puts(out, "\n");
}

static void put_name(struct rm_buffer *out, const struct rm_page_cell *cell)
{
    rm_buffer_puts(out, " ");
    for (uint32_t i = 0; i < cell->depth && i < MOST_DEPTH; i++) {
        rm_buffer_puts(out, "\xe2\x80\x83");
    }
    put_text(out, cell->text);
    put_text(out, cell->marks != NULL ? cell->marks : "");
    rm_buffer_puts(out, " |");
}

void rm_markdown_table(struct rm_buffer *out, const struct rm_page_table *table, size_t most)
{
    if (table->title[0] != '\0') {
        rm_buffer_puts(out, "\n### ");
        put_text(out, table->title);
        rm_buffer_puts(out, "\n");
    }
    rm_buffer_puts(out, "\n|");
    for (size_t i = 0; i < table->column_count; i++) {
        if (table->columns[i].title != NULL) {
            put_cell(out, table->columns[i].title);
        }
    }
    rm_buffer_puts(out, "\n");
    put_rule(out, table);
    for (size_t row = 0; row < table->count && row < most; row++) {
        rm_buffer_puts(out, "|");
        for (size_t i = 0; i < table->column_count; i++) {
            if (table->columns[i].title != NULL) {
                put_name(out, &rm_page_cells(table, row)[i]);
            }
        }
        rm_buffer_puts(out, "\n");
    }
    if (table->count > most) {
        rm_buffer_printf(out, "\nand %zu more\n", table->count - most);
    }
    for (size_t i = 0; i < table->note_count; i++) {
        rm_buffer_puts(out, "\n");
        put_text(out, table->notes[i]);
        rm_buffer_puts(out, "\n");
    }
}

static void put_tiles(struct rm_buffer *out, const struct rm_page_tiles *tiles)
{
    rm_buffer_puts(out, "\n|");
    for (size_t i = 0; i < tiles->count; i++) {
        put_cell(out, tiles->items[i].label);
    }
    rm_buffer_puts(out, "\n|");
    for (size_t i = 0; i < tiles->count; i++) {
        rm_buffer_puts(out, "---:|");
    }
    rm_buffer_puts(out, "\n|");
    for (size_t i = 0; i < tiles->count; i++) {
        put_cell(out, tiles->items[i].value);
    }
    rm_buffer_puts(out, "\n");
}

static void put_answers(struct rm_buffer *out, const struct rm_page_rows *rows)
{
    rm_buffer_puts(out, rows->count > 0 ? "\n" : "");
    for (size_t i = 0; i < rows->count; i++) {
        const struct rm_page_row *row = &rows->items[i];
        const char *strong = row->value[0] != '\0' ? "**" : "";
        rm_buffer_printf(out, "- %s: %s", row->label, strong);
        put_text(out, row->value);
        rm_buffer_printf(out, "%s%s", strong, strong[0] != '\0' ? " " : "");
        for (size_t k = 0; k < row->count; k++) {
            rm_buffer_puts(out, k > 0 ? "; " : "");
            put_text(out, row->clauses[k]);
        }
        rm_buffer_puts(out, "\n");
    }
}

static void put_list(struct rm_buffer *out, const struct rm_page_list *list)
{
    rm_buffer_puts(out, list->count > 0 ? "\n" : "");
    for (size_t i = 0; i < list->count; i++) {
        rm_buffer_puts(out, "- ");
        put_text(out, list->items[i]);
        rm_buffer_puts(out, "\n");
    }
}

static void put_line(struct rm_buffer *out, const char *opening, const char *text,
                     const char *closing)
{
    if (text[0] != '\0') {
        rm_buffer_puts(out, opening);
        put_text(out, text);
        rm_buffer_puts(out, closing);
    }
}

/* ---- the page --------------------------------------------------------------------------- */

static void put_block(struct rm_buffer *out, const struct rm_page_block *block)
{
    switch (block->kind) {
    case RM_BLOCK_TITLE:
        put_line(out, "\n### ", block->text, "\n");
        put_line(out, "\n", block->note, "\n");
        break;
    case RM_BLOCK_RUN:
        put_line(out, "\n## ", block->text, "\n");
        put_line(out, "\n", block->note, "\n");
        break;
    case RM_BLOCK_ALL:
        put_line(out, "\n", block->note, "\n");
        break;
    case RM_BLOCK_LINE:
        put_line(out, "\n**", block->text, "**\n");
        break;
    case RM_BLOCK_NOTE:
        put_line(out, "\n", block->text, "\n");
        break;
    case RM_BLOCK_ROWS:
        put_answers(out, block->what);
        break;
    case RM_BLOCK_TILES:
        put_tiles(out, block->what);
        break;
    case RM_BLOCK_TABLE:
        rm_markdown_table(out, block->what, MOST_ROWS);
        break;
    case RM_BLOCK_LIST:
        put_list(out, block->what);
        break;
    default: /* charts and drawings are graphical */
        break;
    }
}

void rm_markdown_write(struct rm_buffer *out, const struct rm_page *page)
{
    put_line(out, "# ", page->title, "\n");
    for (const struct rm_page_block *block = page->first; block != NULL; block = block->next) {
        put_block(out, block);
    }
}
