/* SPDX-License-Identifier: MIT */
#include "report/rows.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/columns.h"
#include "base/text.h"

#define LABEL_COLUMNS 8
#define VALUE_COLUMNS 11
#define LEAST_ROOM    8 /* columns for the beginning of a clause */

void rm_rows_begin(struct rm_rows *rows, const char *label, const char *value)
{
    char text[RM_ROWS_CLAUSE_BYTES];
    if (rows->is_tabbed) {
        (void)snprintf(text, sizeof text, "%s\t%s", label, value != NULL ? value : "");
    } else if (value != NULL) {
        (void)snprintf(text, sizeof text, "  %-*s%*s   ", LABEL_COLUMNS, label, VALUE_COLUMNS,
                       value);
    } else {
        (void)snprintf(text, sizeof text, "  %-*s   ", LABEL_COLUMNS, label);
    }
    rm_buffer_puts(rows->buffer, text);
    rows->used = strlen(text);
    rows->is_begun = true;
    rows->has_clause = false;
}

/* As much of a text as fits, whole words and " ..". */
static void add_cut(struct rm_rows *rows, const char *text, size_t room)
{
    size_t most = rm_columns_fit(text, room - 3, NULL);
    size_t bytes = most;
    while (bytes > 0 && text[bytes] != ' ') {
        bytes--;
    }
    rm_buffer_add(rows->buffer, text, bytes > 0 ? bytes : most);
    rm_buffer_puts(rows->buffer, " ..");
    rows->used += room;
}

/* Adds what fits on the page. */
static void add_clause(struct rm_rows *rows, const char *text)
{
    size_t taken = rows->used + (rows->has_clause ? 2 : 0);
    size_t width = rm_columns(text);
    size_t room = rows->width > taken ? rows->width - taken : 0;
    bool does_fit = width <= room;
    if (!does_fit && (rows->has_clause || room < LEAST_ROOM)) {
        return;
    }
    rm_buffer_puts(rows->buffer, rows->has_clause ? "; " : "");
    rows->has_clause = true;
    if (does_fit) {
        rm_buffer_puts(rows->buffer, text);
        rows->used = taken + width;
    } else {
        add_cut(rows, text, room);
    }
}

void rm_rows_clause(struct rm_rows *rows, const char *format, ...)
{
    char text[RM_ROWS_CLAUSE_BYTES];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    rm_text_clean(text); /* of tabs, too */
    if (rows->is_tabbed) {
        rm_buffer_puts(rows->buffer, "\t");
        rm_buffer_puts(rows->buffer, text);
    } else {
        add_clause(rows, text);
    }
}

void rm_rows_remark(struct rm_rows *rows, const char *label, const char *text)
{
    if (!rows->is_begun) {
        rm_rows_begin(rows, label, NULL);
    }
    rm_rows_clause(rows, "%s", text);
}

void rm_rows_end(struct rm_rows *rows)
{
    struct rm_buffer *buffer = rows->buffer;
    if (!rows->is_begun) {
        return;
    }
    while (!rows->is_tabbed && buffer->length > 0 && buffer->text[buffer->length - 1] == ' ') {
        buffer->text[--buffer->length] = '\0';
    }
    rm_buffer_puts(buffer, "\n");
    rows->is_begun = false;
}
