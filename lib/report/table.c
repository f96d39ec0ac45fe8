/* SPDX-License-Identifier: MIT */
#include "report/table.h"

#include <string.h>

#include "base/alloc.h"
#include "base/text.h"

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
    if (table->rows == table->room) {
        size_t room = table->room == 0 ? 16 : table->room * 2;
        void *cells = rm_realloc(table->cells, room, sizeof *table->cells);
        if (cells == NULL) {
            table->is_broken = true;
            return NULL;
        }
        table->cells = cells;
        table->room = room;
    }
    memset(table->cells[table->rows], 0, sizeof table->cells[0]);
    return table->cells[table->rows++];
}

/* Characters, not bytes: UTF-8 continuation bytes take no room. */
static size_t width_of(const char *text)
{
    size_t width = 0;
    for (; *text != '\0'; text++) {
        width += ((unsigned char)*text & 0xC0) != 0x80 ? 1 : 0;
    }
    return width;
}

static void add_spaces(struct rm_buffer *buffer, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        rm_buffer_add(buffer, " ", 1);
    }
}

static void add_row(const struct rm_table *table, size_t row, const size_t *widths,
                    struct rm_buffer *buffer)
{
    size_t columns = table->columns;
    while (columns > 0 && table->cells[row][columns - 1][0] == '\0') {
        columns--;
    }
    for (size_t c = 0; c < columns; c++) {
        const char *cell = table->cells[row][c];
        size_t padding = widths[c] - width_of(cell);
        add_spaces(buffer, 2 + (table->is_left[c] ? 0 : padding));
        rm_buffer_puts(buffer, cell);
        if (table->is_left[c] && c + 1 < columns) {
            add_spaces(buffer, padding);
        }
    }
    rm_buffer_puts(buffer, "\n");
}

void rm_table_end(struct rm_table *table, struct rm_buffer *buffer)
{
    size_t widths[RM_TABLE_COLUMNS] = {0};
    for (size_t r = 0; r < table->rows; r++) {
        for (size_t c = 0; c < table->columns; c++) {
            size_t width = width_of(table->cells[r][c]);
            widths[c] = width > widths[c] ? width : widths[c];
        }
    }
    for (size_t r = 0; r < table->rows; r++) {
        add_row(table, r, widths, buffer);
    }
    if (table->is_broken) {
        rm_buffer_puts(buffer, "  (cut: out of memory)\n");
    }
    rm_free(table->cells);
    *table = (struct rm_table){0};
}
