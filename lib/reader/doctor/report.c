/* SPDX-License-Identifier: MIT */
#include "doctor/report.h"

#include <stdbool.h>
#include <string.h>

#define WIDTH      100
#define MARK_WIDTH 8
#define INDENT     2

/* ---- words on lines --------------------------------------------------------------------- */

/* Where the next word goes; lines after the first begin at `margin`. */
struct lines {
    struct rm_buffer *buffer;
    size_t margin, column;
};

static void add_word(struct lines *lines, const char *word, size_t length)
{
    if (lines->column > lines->margin && lines->column + 1 + length > WIDTH) {
        rm_buffer_printf(lines->buffer, "\n%*s", (int)lines->margin, "");
        lines->column = lines->margin;
    } else if (lines->column > lines->margin) {
        rm_buffer_add(lines->buffer, " ", 1);
        lines->column++;
    }
    rm_buffer_add(lines->buffer, word, length);
    lines->column += length;
}

/* The cursor stands at the margin, or behind words. */
static void add_words(struct lines *lines, const char *text)
{
    while (*text != '\0') {
        size_t length = strcspn(text, " ");
        if (length > 0) {
            add_word(lines, text, length);
        }
        text += length + (text[length] == ' ');
    }
}

/* ---- findings --------------------------------------------------------------------------- */

static const char *mark_of(int32_t status)
{
    static const char *const marks[] = {
        [RESMON_DOCTOR_READY] = "ok",
        [RESMON_DOCTOR_NOT_READABLE] = "DENIED",
        [RESMON_DOCTOR_ABSENT] = "absent",
        [RESMON_DOCTOR_GARBLED] = "BROKEN",
    };
    return status > 0 && status < (int32_t)(sizeof marks / sizeof *marks) ? marks[status] : "?";
}

static size_t widest_name(const resmon_doctor_entry *entries, size_t count)
{
    size_t widest = 0;
    for (size_t i = 0; i < count; i++) {
        size_t width = strlen(entries[i].name);
        widest = width > widest ? width : widest;
    }
    return widest < WIDTH / 2 ? widest : WIDTH / 2;
}

static void write_findings(struct rm_buffer *buffer, const resmon_doctor_entry *entries,
                           size_t count)
{
    size_t name_width = widest_name(entries, count);
    for (size_t i = 0; i < count; i++) {
        if (i == 0 || strcmp(entries[i].group, entries[i - 1].group) != 0) {
            rm_buffer_printf(buffer, "\n%s\n", entries[i].group);
        }
        rm_buffer_printf(buffer, "%*s%-*s%-*s  ", INDENT, "", MARK_WIDTH,
                         mark_of(entries[i].status), (int)name_width, entries[i].name);
        size_t margin = INDENT + MARK_WIDTH + name_width + 2;
        struct lines lines = {buffer, margin, margin};
        add_words(&lines, entries[i].what);
        rm_buffer_puts(buffer, "\n");
    }
}

/* ---- what is to be done ----------------------------------------------------------------- */

static bool is_said_before(const resmon_doctor_entry *entries, size_t index)
{
    for (size_t i = 0; i < index; i++) {
        if (strcmp(entries[i].remedy, entries[index].remedy) == 0) {
            return true;
        }
    }
    return false;
}

/* "powercap intel-rapl:0, powercap intel-rapl:1:" and the remedy that they share. */
static void write_remedy(struct rm_buffer *buffer, const resmon_doctor_entry *entries, size_t count,
                         size_t index)
{
    struct lines lines = {buffer, 5, 5};
    const char *remedy = entries[index].remedy;
    add_word(&lines, entries[index].name, strlen(entries[index].name));
    for (size_t i = index + 1; i < count; i++) {
        if (strcmp(entries[i].remedy, remedy) == 0) {
            rm_buffer_add(buffer, ",", 1);
            lines.column++;
            add_word(&lines, entries[i].name, strlen(entries[i].name));
        }
    }
    rm_buffer_printf(buffer, ":\n%*s", (int)lines.margin, "");
    lines.column = lines.margin;
    add_words(&lines, remedy);
    rm_buffer_puts(buffer, "\n");
}

static void write_remedies(struct rm_buffer *buffer, const resmon_doctor_entry *entries,
                           size_t count)
{
    unsigned number = 0;
    for (size_t i = 0; i < count; i++) {
        if (entries[i].remedy[0] != '\0' && !is_said_before(entries, i)) {
            rm_buffer_printf(buffer, "%s%3u. ", number == 0 ? "\nWhat can be done\n" : "",
                             number + 1);
            number++;
            write_remedy(buffer, entries, count, i);
        }
    }
    if (number == 0) {
        rm_buffer_puts(buffer, "\nNo action is needed.\n");
    }
}

void rm_doctor_write(struct rm_buffer *buffer, const char *heading,
                     const resmon_doctor_entry *entries, size_t count)
{
    rm_buffer_printf(buffer, "%s\n", heading);
    write_findings(buffer, entries, count);
    write_remedies(buffer, entries, count);
}
