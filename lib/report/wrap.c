/* SPDX-License-Identifier: MIT */
#include "report/wrap.h"

#include <string.h>

#include "base/columns.h"
#include "base/text.h"

/* How many bytes of a line stand on this one: up to the last space that fits, or into the word that
 * is longer than a line. */
static size_t bytes_of_line(const char *line, size_t length, size_t columns)
{
    size_t bytes = rm_columns_fit(line, columns, NULL);
    if (bytes >= length) {
        return length;
    }
    size_t at = bytes;
    while (at > 0 && line[at] != ' ') {
        at--;
    }
    if (at > strspn(line, " ")) {
        return at;
    }
    return bytes > 0 ? bytes : 1;
}

/* Adds a line, or a part of one, of which nothing is left that no terminal should see. */
static void add_line(struct rm_buffer *buffer, const char *line, size_t bytes)
{
    while (bytes > 0 && line[bytes - 1] == ' ') {
        bytes--;
    }
    size_t begin = buffer->length;
    rm_buffer_add(buffer, line, bytes);
    if (buffer->status == RESMON_OK && bytes > 0) {
        rm_text_clean(buffer->text + begin);
    }
    rm_buffer_puts(buffer, "\n");
}

static void wrap_line(struct rm_buffer *buffer, const char *line, size_t length, size_t width)
{
    size_t indent = strspn(line, " ");
    size_t more = width > indent + 2 ? width - indent - 2 : 1;
    size_t bytes = bytes_of_line(line, length, width);
    add_line(buffer, line, bytes);
    for (;;) {
        line += bytes;
        length -= bytes;
        size_t spaces = strspn(line, " ");
        if (spaces >= length) {
            return;
        }
        line += spaces;
        length -= spaces;
        rm_buffer_spaces(buffer, indent + 2);
        bytes = bytes_of_line(line, length, more);
        add_line(buffer, line, bytes);
    }
}

void rm_report_wrap(struct rm_buffer *buffer, const char *text, size_t width)
{
    while (*text != '\0') {
        size_t length = strcspn(text, "\n");
        wrap_line(buffer, text, length, width);
        text += length + (text[length] == '\n' ? 1 : 0);
    }
}
