/* SPDX-License-Identifier: MIT */
#include "report/rows.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/columns.h"
#include "base/text.h"

#define LABEL_COLUMNS 8
#define VALUE_COLUMNS 11

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
    rows->indent = rows->used < rows->width / 2 ? rows->used : LABEL_COLUMNS / 2;
    rows->is_begun = true;
    rows->has_clause = false;
}

static void begin_line(struct rm_rows *rows)
{
    rm_buffer_printf(rows->buffer, "\n%*s", (int)rows->indent, "");
    rows->used = rows->indent;
}

/* Word by word, on as many lines as it takes. */
static void add_words(struct rm_rows *rows, const char *text)
{
    for (bool is_first = true; *text != '\0'; is_first = false) {
        size_t length = strcspn(text, " ");
        char word[RM_ROWS_CLAUSE_BYTES];
        (void)rm_text_copy(word, sizeof word, text, length);
        size_t width = rm_columns(word);
        if (!is_first && rows->used + 1 + width > rows->width) {
            begin_line(rows);
        } else if (!is_first) {
            rm_buffer_puts(rows->buffer, " ");
            rows->used++;
        }
        rm_buffer_puts(rows->buffer, word);
        rows->used += width;
        text += length + strspn(text + length, " ");
    }
}

/* What does not fit behind the others begins a line: the width decides where it stands, and not
 * whether it does. */
static void add_clause(struct rm_rows *rows, const char *text)
{
    size_t width = rm_columns(text);
    if (rows->has_clause && rows->used + 2 + width > rows->width) {
        rm_buffer_puts(rows->buffer, ";");
        begin_line(rows);
    } else if (rows->has_clause) {
        rm_buffer_puts(rows->buffer, "; ");
        rows->used += 2;
    }
    rows->has_clause = true;
    add_words(rows, text);
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
