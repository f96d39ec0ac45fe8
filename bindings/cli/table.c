/* SPDX-License-Identifier: MIT */
#include "table.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <resmon/metric.h>

#include "say.h"

struct cli_cell {
    char *text; /* as people read it */
    double value;
    bool is_value;
};

static struct cli_cell *add(struct cli_table *table, const char *text)
{
    if (table->cell_count == table->room) {
        table->room = 2 * table->room + 64;
        table->cells = cli_grow(table->cells, table->room * sizeof *table->cells);
    }
    struct cli_cell *cell = &table->cells[table->cell_count++];
    size_t bytes = strlen(text) + 1;
    *cell = (struct cli_cell){.text = cli_grow(NULL, bytes)};
    memcpy(cell->text, text, bytes);
    return cell;
}

void cli_table_text(struct cli_table *table, const char *text)
{
    (void)add(table, text);
}

void cli_table_value(struct cli_table *table, double value, const char *unit)
{
    char text[RESMON_VALUE_BYTES];
    if (isnan(value)) {
        (void)snprintf(text, sizeof text, "-");
    } else if (unit == NULL) {
        (void)snprintf(text, sizeof text, "%.0f", value);
    } else if (resmon_format_value(unit, value, text, sizeof text) != RESMON_OK) {
        (void)snprintf(text, sizeof text, "%.4g", value);
    }
    struct cli_cell *cell = add(table, text);
    cell->is_value = true;
    cell->value = value;
}

/* ---- JSON --------------------------------------------------------------------------------- */

static void print_string(const char *text)
{
    (void)putchar('"');
    for (; *text != '\0'; text++) {
        unsigned char byte = (unsigned char)*text;
        if (byte == '"' || byte == '\\') {
            (void)printf("\\%c", byte);
        } else if (byte < 0x20) {
            (void)printf("\\u%04x", byte);
        } else {
            (void)putchar(byte);
        }
    }
    (void)putchar('"');
}

static void print_value(const struct cli_cell *cell)
{
    if (!cell->is_value) {
        print_string(cell->text);
    } else if (isfinite(cell->value)) {
        (void)printf("%.17g", cell->value);
    } else {
        (void)printf("null");
    }
}

static void print_json(const struct cli_table *table)
{
    (void)putchar('[');
    for (size_t row = 0; row + table->column_count <= table->cell_count;
         row += table->column_count) {
        for (size_t i = 0; i < table->column_count; i++) {
            (void)printf("%s", i > 0 ? ", " : row > 0 ? ",\n {" : "{");
            print_string(table->columns[i].key);
            (void)printf(": ");
            print_value(&table->cells[row + i]);
        }
        (void)putchar('}');
    }
    (void)printf("]\n");
}

/* ---- text --------------------------------------------------------------------------------- */

/* Of UTF-8. */
static unsigned columns_of(const char *text)
{
    unsigned count = 0;
    for (; *text != '\0'; text++) {
        count += ((unsigned char)*text & 0xc0U) != 0x80U ? 1 : 0;
    }
    return count;
}

#define MOST_COLUMNS 16

static void measure(const struct cli_table *table, unsigned widths[MOST_COLUMNS])
{
    for (size_t i = 0; i < table->column_count; i++) {
        widths[i] = table->columns[i].title != NULL ? columns_of(table->columns[i].title) : 0;
    }
    size_t column = 0;
    for (size_t i = 0; i < table->cell_count; i++) {
        unsigned width = columns_of(table->cells[i].text);
        widths[column] = width > widths[column] ? width : widths[column];
        column = column + 1 < table->column_count ? column + 1 : 0;
    }
}

static void print_cell(const char *text, unsigned width, bool is_right, bool is_last)
{
    unsigned blanks = width > columns_of(text) ? width - columns_of(text) : 0;
    if (is_right) {
        (void)printf("%*s%s", (int)blanks, "", text);
    } else {
        (void)printf("%s%*s", text, is_last ? 0 : (int)blanks, "");
    }
}

/* Of the last column, so many columns of UTF-8 as there is room for. */
static void cut(char *text, unsigned room)
{
    unsigned count = 0;
    for (; *text != '\0'; text++) {
        bool is_start = ((unsigned char)*text & 0xc0U) != 0x80U;
        if (is_start && count++ == room) {
            *text = '\0';
            return;
        }
    }
}

struct layout {
    unsigned widths[MOST_COLUMNS];
    size_t last;   /* column that people see */
    unsigned room; /* for it; 0: any */
};

static struct layout lay_out(const struct cli_table *table)
{
    struct layout layout = {.last = 0};
    unsigned terminal = cli_columns(STDOUT_FILENO);
    unsigned before = 0;
    measure(table, layout.widths);
    for (size_t i = 0; i < table->column_count; i++) {
        layout.last = table->columns[i].title != NULL ? i : layout.last;
    }
    for (size_t i = 0; i < layout.last; i++) {
        before += table->columns[i].title != NULL ? layout.widths[i] + 2 : 0;
    }
    layout.room = terminal > before + 20 ? terminal - before : 0;
    return layout;
}

/* `cells` NULL: the titles. */
static void print_row(const struct cli_table *table, const struct layout *layout,
                      const struct cli_cell *cells)
{
    for (size_t i = 0; i <= layout->last; i++) {
        const struct cli_column *column = &table->columns[i];
        if (column->title == NULL) {
            continue;
        }
        if (cells != NULL && i == layout->last && layout->room > 0) {
            cut(cells[i].text, layout->room);
        }
        print_cell(cells != NULL ? cells[i].text : column->title, layout->widths[i],
                   column->is_right, i == layout->last);
        (void)printf("%s", i == layout->last ? "\n" : "  ");
    }
}

static void print_text(const struct cli_table *table)
{
    const struct layout layout = lay_out(table);
    print_row(table, &layout, NULL);
    for (size_t i = 0; i + table->column_count <= table->cell_count; i += table->column_count) {
        print_row(table, &layout, &table->cells[i]);
    }
}

bool cli_table_print(struct cli_table *table, const char *verb)
{
    if (table->as_json) {
        print_json(table);
    } else {
        print_text(table);
    }
    for (size_t i = 0; i < table->cell_count; i++) {
        free(table->cells[i].text);
    }
    free(table->cells);
    return cli_print(verb, "");
}
