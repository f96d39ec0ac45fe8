/* SPDX-License-Identifier: MIT */
#include "page/page.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/human.h"
#include "base/number.h"
#include "base/text.h"

#define TEXT_BYTES 1024 /* of most texts */

/* ---- texts ------------------------------------------------------------------------------ */

void *rm_page_alloc(struct rm_page *page, size_t count, size_t size)
{
    void *found = rm_arena_alloc(&page->arena, count, size);
    page->is_broken |= found == NULL;
    return found;
}

static const char *keep(struct rm_page *page, const char *text, size_t length)
{
    char *copy = rm_page_alloc(page, length + 1, 1);
    if (copy == NULL) {
        return "";
    }
    memcpy(copy, text, length);
    return copy;
}

const char *rm_page_print(struct rm_page *page, const char *format, ...)
{
    char text[TEXT_BYTES];
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (length < 0) {
        page->is_broken = true;
        return "";
    }
    if ((size_t)length < sizeof text) {
        return keep(page, text, (size_t)length);
    }
    char *copy = rm_page_alloc(page, (size_t)length + 1, 1);
    if (copy == NULL) {
        return "";
    }
    va_start(arguments, format);
    (void)vsnprintf(copy, (size_t)length + 1, format, arguments);
    va_end(arguments);
    return copy;
}

/* Controls, and marks that turn the direction of what follows or that nobody sees. */
static bool is_unseen(uint32_t character)
{
    static const struct {
        uint32_t first, last;
    } ranges[] = {{0x00, 0x1f},     {0x7f, 0x9f},     {0xad, 0xad},
                  {0x61c, 0x61c},   {0x200b, 0x200f}, {0x2028, 0x202e},
                  {0x2060, 0x206f}, {0xfeff, 0xfeff}, {0xfff9, 0xfffb}};
    for (size_t i = 0; i < RM_ARRAY_LEN(ranges); i++) {
        if (character >= ranges[i].first && character <= ranges[i].last) {
            return true;
        }
    }
    return false;
}

/* The character at the beginning of valid UTF-8, and how many bytes it has. */
static uint32_t character_at(const char *text, size_t *ret_bytes)
{
    const unsigned char *at = (const unsigned char *)text;
    size_t bytes = at[0] < 0x80 ? 1 : at[0] < 0xe0 ? 2 : at[0] < 0xf0 ? 3 : 4;
    uint32_t character = bytes == 1 ? at[0] : at[0] & (0x7fU >> bytes);
    size_t taken = 1;
    for (; taken < bytes && (at[taken] & 0xc0) == 0x80; taken++) {
        character = character << 6 | (at[taken] & 0x3fU);
    }
    *ret_bytes = taken;
    return character;
}

const char *rm_page_shown_at_most(struct rm_page *page, const char *text, size_t most)
{
    static const size_t spelled = 6; /* "\u202e" */
    size_t bytes, count = 0, length = 0;
    size_t whole = strlen(text) * spelled; /* a character has four bytes at most */
    char *copy = rm_page_alloc(page, (most < whole / 4 ? most * 4 : whole) + 1, 1);
    if (copy == NULL) {
        return "";
    }
    for (; *text != '\0' && count < most; text += bytes) {
        char escape[16];
        uint32_t character = character_at(text, &bytes);
        if (!is_unseen(character)) {
            memcpy(copy + length, text, bytes);
            length += bytes;
            count++;
            continue;
        }
        (void)snprintf(escape, sizeof escape, "\\u%04" PRIx32, character);
        size_t room = most - count < spelled ? most - count : spelled;
        memcpy(copy + length, escape, room);
        length += room;
        count += room;
    }
    return copy;
}

const char *rm_page_shown(struct rm_page *page, const char *text)
{
    return rm_page_shown_at_most(page, text, SIZE_MAX);
}

const char *rm_page_grouped(struct rm_page *page, uint64_t number)
{
    char digits[RM_NUMBER_BYTES], text[2 * RM_NUMBER_BYTES];
    size_t count = rm_number_u64(digits, number), length = 0;
    for (size_t i = 0; i < count; i++) {
        if (i > 0 && (count - i) % 3 == 0) {
            text[length++] = ',';
        }
        text[length++] = digits[i];
    }
    return keep(page, text, length);
}

const char *rm_page_value(struct rm_page *page, double value, const char *unit)
{
    char text[RM_HUMAN_BYTES], whole[RM_HUMAN_BYTES];
    rm_human_value(text, value, unit, false);
    (void)rm_text_set(whole, sizeof whole, text); /* a foreign unit may be cut in a character */
    return rm_page_shown(page, whole);
}

const char *rm_page_fixed(struct rm_page *page, double value, int decimals)
{
    char text[RM_HUMAN_BYTES];
    rm_human_fixed(text, value, decimals);
    return keep(page, text, strlen(text));
}

const char *rm_page_join(struct rm_page *page, const char *between, const char *const *texts,
                         size_t count)
{
    const char *joined = "";
    for (size_t i = 0; i < count; i++) {
        if (texts[i] != NULL && texts[i][0] != '\0') {
            joined = joined[0] == '\0' ? texts[i]
                                       : rm_page_print(page, "%s%s%s", joined, between, texts[i]);
        }
    }
    return joined;
}

/* ---- tables ----------------------------------------------------------------------------- */

struct rm_page_table *rm_page_table_new(struct rm_page *page, const char *key, const char *title,
                                        size_t columns, size_t left, size_t rows)
{
    struct rm_page_table *table = rm_page_alloc(page, 1, sizeof *table);
    if (table == NULL) {
        return NULL;
    }
    *table = (struct rm_page_table){
        .key = key,
        .title = title,
        .columns = columns < RM_PAGE_COLUMNS ? columns : RM_PAGE_COLUMNS,
        .left = left,
    };
    table->cells = rm_page_alloc(page, rows * table->columns, sizeof *table->cells);
    table->room = table->cells != NULL ? rows : 0;
    for (size_t i = 0; i < RM_PAGE_COLUMNS; i++) {
        table->headers[i] = "";
    }
    return table;
}

void rm_page_headers(struct rm_page_table *table, const char *const *headers)
{
    for (size_t i = 0; table != NULL && i < table->columns; i++) {
        table->headers[i] = headers[i];
    }
}

struct rm_page_cell *rm_page_row(struct rm_page *page, struct rm_page_table *table)
{
    bool has_room = table != NULL && table->count < table->room;
    struct rm_page_cell *cells = has_room ? rm_page_cells(table, table->count++) : page->spill;
    for (size_t i = 0; i < (has_room ? table->columns : RM_PAGE_COLUMNS); i++) {
        rm_page_set(&cells[i], "");
    }
    return cells;
}

void rm_page_note(struct rm_page_table *table, const char *note)
{
    if (table != NULL && note[0] != '\0' && table->note_count < RM_PAGE_NOTES) {
        table->notes[table->note_count++] = note;
    }
}

void rm_page_set(struct rm_page_cell *cell, const char *text)
{
    *cell = (struct rm_page_cell){.text = text, .share = -1.0};
}

void rm_page_set_missing(struct rm_page *page, struct rm_page_cell *cell, const char *reason)
{
    rm_page_set(cell, RM_PAGE_UNKNOWN);
    cell->reason = rm_page_shown(page, reason);
}

void rm_page_set_value(struct rm_page *page, struct rm_page_cell *cell, double value,
                       const char *unit, const char *reason)
{
    if (isfinite(value)) {
        rm_page_set(cell, rm_page_value(page, value, unit));
    } else {
        rm_page_set_missing(page, cell, reason);
    }
}

static double within_one(double share)
{
    return share > 1.0 ? 1.0 : share > 0.0 ? share : 0.0;
}

void rm_page_set_share(struct rm_page_cell *cell, const char *text, double share, double inner)
{
    *cell =
        (struct rm_page_cell){.text = text, .share = within_one(share), .inner = within_one(inner)};
}
