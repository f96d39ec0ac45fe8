/* SPDX-License-Identifier: MIT */
#include "view/model.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

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

static const char *RM_PRINTF(2, 0)
    rm_page_vprint(struct rm_page *page, const char *format, va_list arguments)
{
    char text[TEXT_BYTES];
    va_list again;
    va_copy(again, arguments);
    int length = vsnprintf(text, sizeof text, format, arguments);
    const char *kept = "";
    if (length >= 0 && (size_t)length < sizeof text) {
        kept = keep(page, text, (size_t)length);
    } else if (length >= 0) {
        char *copy = rm_page_alloc(page, (size_t)length + 1, 1);
        if (copy != NULL) {
            (void)vsnprintf(copy, (size_t)length + 1, format, again);
            kept = copy;
        }
    }
    va_end(again);
    page->is_broken |= length < 0;
    return kept;
}

const char *rm_page_print(struct rm_page *page, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    const char *text = rm_page_vprint(page, format, arguments);
    va_end(arguments);
    return text;
}

/* Control characters, and invisible ones or such that change the direction of writing. */
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

#define REPLACED 0xfffdU

/* The first character of a text and its length in bytes; REPLACED for a byte that is not UTF-8. */
static uint32_t character_at(const char *text, size_t *ret_bytes)
{
    const unsigned char *at = (const unsigned char *)text;
    size_t bytes = at[0] < 0x80 ? 1 : at[0] < 0xe0 ? 2 : at[0] < 0xf0 ? 3 : 4;
    uint32_t character = bytes == 1 ? at[0] : at[0] & (0x7fU >> bytes);
    size_t taken = 1;
    for (; taken < bytes && (at[taken] & 0xc0) == 0x80; taken++) {
        character = character << 6 | (at[taken] & 0x3fU);
    }
    bool is_broken = (at[0] >= 0x80 && at[0] < 0xc2) || at[0] > 0xf4 || taken < bytes;
    *ret_bytes = is_broken ? 1 : bytes;
    return is_broken ? REPLACED : character;
}

const char *rm_page_shown_at_most(struct rm_page *page, const char *text, size_t most)
{
    static const size_t escaped = 6; /* characters: "\u202e" */
    size_t bytes, count = 0, length = 0;
    size_t whole = strlen(text) * escaped;
    /* UTF-8 has at most four bytes for a character. */
    char *copy = rm_page_alloc(page, (most < whole / 4 ? most * 4 : whole) + 1, 1);
    if (copy == NULL) {
        return "";
    }
    for (; *text != '\0' && count < most; text += bytes) {
        char escape[16];
        uint32_t character = character_at(text, &bytes);
        bool is_seen = !is_unseen(character) && character != REPLACED;
        if (is_seen) {
            memcpy(copy + length, text, bytes);
            length += bytes;
            count++;
            continue;
        }
        (void)snprintf(escape, sizeof escape, "\\u%04" PRIx32, character);
        size_t room = most - count < escaped ? most - count : escaped;
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
    (void)rm_text_set(whole, sizeof whole,
                      text); /* a unit from outside may be cut in the middle of a character */
    return rm_page_shown(page, whole);
}

const char *rm_page_signed(struct rm_page *page, double value, const char *unit)
{
    const char *sign = isnan(value) ? "" : value < 0.0 ? "-" : "+";
    return rm_page_print(page, "%s%s", sign, rm_page_value(page, fabs(value), unit));
}

const char *rm_page_time(struct rm_page *page, int64_t realtime_ns, bool has_seconds)
{
    char text[64];
    struct tm parts;
    time_t seconds = (time_t)(realtime_ns / 1000000000);
    bool is_known = realtime_ns > 0 && gmtime_r(&seconds, &parts) != NULL;
    if (!is_known) {
        return "";
    }
    return keep(page, text,
                has_seconds ? strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S UTC", &parts)
                            : strftime(text, sizeof text, "%Y-%m-%d %H:%M UTC", &parts));
}

const char *rm_page_shortened(struct rm_page *page, const char *text, size_t columns)
{
    char *copy = rm_page_alloc(page, 4 * columns + 1, 1);
    if (copy == NULL) {
        return "";
    }
    rm_columns_shorten(copy, 4 * columns + 1, text, columns);
    return copy;
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

struct rm_page_table *rm_page_table_begin(struct rm_page *page, const char *key, const char *title)
{
    struct rm_page_table *table = rm_page_alloc(page, 1, sizeof *table);
    if (table != NULL) {
        *table = (struct rm_page_table){.key = key, .title = title, .lead = ""};
    }
    return table;
}

struct rm_page_column *rm_page_column(struct rm_page_table *table, const char *key,
                                      const char *title)
{
    size_t at = table->column_count < RM_PAGE_COLUMNS ? table->column_count++ : RM_PAGE_COLUMNS - 1;
    table->columns[at] = (struct rm_page_column){.key = key, .title = title};
    return &table->columns[at];
}

void rm_page_room(struct rm_page *page, struct rm_page_table *table, size_t rows)
{
    table->cells = rm_page_alloc(page, rows * table->column_count, sizeof *table->cells);
    table->room = table->cells != NULL ? rows : 0;
}

struct rm_page_table *rm_page_table_new(struct rm_page *page, const char *key, const char *title,
                                        struct rm_page_headers headers, size_t rows)
{
    struct rm_page_table *table = rm_page_table_begin(page, key, title);
    for (size_t i = 0; table != NULL && i < headers.count; i++) {
        rm_page_column(table, headers.texts[i], headers.texts[i])->is_left = i < headers.left;
    }
    if (table != NULL) {
        rm_page_room(page, table, rows);
    }
    return table;
}

struct rm_page_cell *rm_page_row(struct rm_page *page, struct rm_page_table *table)
{
    bool has_room = table != NULL && table->count < table->room;
    struct rm_page_cell *cells =
        has_room ? rm_page_cells(table, table->count++) : page->spare_cells;
    for (size_t i = 0; i < (has_room ? table->column_count : RM_PAGE_COLUMNS); i++) {
        rm_page_set(&cells[i], "");
    }
    return cells;
}

struct rm_page_table *rm_page_pairs_new(struct rm_page *page, const char *key, const char *title,
                                        size_t rows)
{
    static const char *const headers[] = {"", ""};
    struct rm_page_table *table =
        rm_page_table_new(page, key, title, RM_HEADERS(headers, 2, 2), rows);
    if (table != NULL) {
        table->columns[0].key = "name";
        table->columns[1].key = "value";
        table->columns[1].is_wide = true;
    }
    return table;
}

void rm_page_add_pair(struct rm_page *page, struct rm_page_table *table, const char *name,
                      const char *text)
{
    if (text[0] != '\0') {
        struct rm_page_cell *cells = rm_page_row(page, table);
        rm_page_set(&cells[0], name);
        rm_page_set(&cells[1], text);
    }
}

void rm_page_note(struct rm_page_table *table, const char *note)
{
    if (table != NULL && note[0] != '\0' && table->note_count < RM_PAGE_NOTES) {
        table->notes[table->note_count++] = note;
    }
}

void rm_page_set(struct rm_page_cell *cell, const char *text)
{
    *cell = (struct rm_page_cell){.text = text, .share = -1.0, .value = RM_NAN};
}

void rm_page_set_missing(struct rm_page *page, struct rm_page_cell *cell, const char *reason)
{
    rm_page_set(cell, RM_PAGE_UNKNOWN);
    cell->reason = rm_page_shown(page, reason);
    cell->is_figure = true;
}

void rm_page_set_value(struct rm_page *page, struct rm_page_cell *cell, double value,
                       const char *unit, const char *reason)
{
    if (isfinite(value)) {
        rm_page_set(cell, rm_page_value(page, value, unit));
        cell->value = value;
        cell->is_figure = true;
    } else {
        rm_page_set_missing(page, cell, reason);
    }
}

void rm_page_mark(struct rm_page *page, struct rm_page_cell *cell, const char *mark)
{
    if (cell->reason == NULL && mark[0] != '\0') {
        cell->text = rm_page_print(page, "%s%s", mark, cell->text);
    }
}

static double within_one(double share)
{
    return share > 1.0 ? 1.0 : share > 0.0 ? share : 0.0;
}

void rm_page_set_share(struct rm_page_cell *cell, double share, double inner)
{
    cell->share = within_one(share);
    cell->inner = within_one(inner);
}

/* ---- rows and lists ---------------------------------------------------------------------- */

struct rm_page_row *rm_page_answer(struct rm_page *page, struct rm_page_rows *rows,
                                   const char *label, const char *value)
{
    if (rows->items == NULL) {
        rows->items = rm_page_alloc(page, RM_PAGE_ROWS, sizeof *rows->items);
    }
    bool has_room = rows->items != NULL && rows->count < RM_PAGE_ROWS;
    struct rm_page_row *row = has_room ? &rows->items[rows->count++] : &page->spare_row;
    *row = (struct rm_page_row){.label = label,
                                .value = rm_page_shown(page, value != NULL ? value : "")};
    return row;
}

void rm_page_clause(struct rm_page *page, struct rm_page_row *row, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    const char *text = rm_page_vprint(page, format, arguments);
    va_end(arguments);
    if (row->count < RM_PAGE_CLAUSES) {
        row->clauses[row->count++] = rm_page_shown(page, text);
    }
}

void rm_page_say(struct rm_page *page, struct rm_page_list *list, const char *format, ...)
{
    if (list->count == list->room) {
        size_t room = 2 * list->room + 16;
        const char **items = rm_page_alloc(page, room, sizeof *items);
        if (items == NULL) {
            return;
        }
        if (list->count > 0) {
            memcpy(items, list->items, list->count * sizeof *items);
        }
        list->items = items;
        list->room = room;
    }
    va_list arguments;
    va_start(arguments, format);
    list->items[list->count++] = rm_page_shown(page, rm_page_vprint(page, format, arguments));
    va_end(arguments);
}

/* ---- blocks ------------------------------------------------------------------------------ */

struct rm_page_block *rm_page_add(struct rm_page *page, enum rm_page_block_kind kind,
                                  const char *text, const void *what)
{
    struct rm_page_block *block = rm_page_alloc(page, 1, sizeof *block);
    if (block == NULL) {
        return &page->spare_block;
    }
    *block = (struct rm_page_block){.kind = kind, .text = text, .note = "", .what = what};
    if (page->last != NULL) {
        page->last->next = block;
    } else {
        page->first = block;
    }
    page->last = block;
    return block;
}

struct rm_page_block *rm_page_add_drawing(struct rm_page *page, rm_draw *draw, const void *what)
{
    struct rm_page_block *block = rm_page_add(page, RM_BLOCK_DRAWING, "", what);
    block->draw = draw;
    return block;
}

struct rm_page_list *rm_page_add_list(struct rm_page *page, const char *note)
{
    struct rm_page_list *list = rm_page_alloc(page, 1, sizeof *list);
    rm_page_add(page, RM_BLOCK_LIST, "", list)->note = note;
    return list != NULL ? list : &page->spare_list;
}

struct rm_page_block *rm_page_add_table(struct rm_page *page, const struct rm_page_table *table)
{
    return table != NULL ? rm_page_add(page, RM_BLOCK_TABLE, table->title, table) : NULL;
}

void rm_page_free(struct rm_page *page)
{
    rm_arena_free(&page->arena);
    *page = (struct rm_page){.title = ""};
}
