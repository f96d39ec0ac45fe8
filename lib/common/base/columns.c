/* SPDX-License-Identifier: MIT */
#include "base/columns.h"

#include <stdint.h>

#include "base/compiler.h"
#include "base/text.h"

/* Characters that take no column, or two; ascending. */
static const struct {
    uint32_t first, last;
    size_t columns;
} ranges[] = {
    {0x0080, 0x009F, 2}, /* controls, which are shown as ?? */
    {0x0300, 0x036F, 0},   {0x0483, 0x0489, 0},   {0x0591, 0x05BD, 0},   {0x0610, 0x061A, 0},
    {0x064B, 0x065F, 0},   {0x0900, 0x0902, 0},   {0x093C, 0x093C, 0},   {0x0E31, 0x0E31, 0},
    {0x0E34, 0x0E3A, 0},   {0x0E47, 0x0E4E, 0},   {0x1100, 0x115F, 2},   {0x1AB0, 0x1AFF, 0},
    {0x1DC0, 0x1DFF, 0},   {0x200B, 0x200F, 0},   {0x202A, 0x202E, 0},   {0x2060, 0x2069, 0},
    {0x20D0, 0x20FF, 0},   {0x231A, 0x231B, 2},   {0x23E9, 0x23EC, 2},   {0x2614, 0x2615, 2},
    {0x2648, 0x2653, 2},   {0x26A1, 0x26A1, 2},   {0x2705, 0x2705, 2},   {0x274C, 0x274C, 2},
    {0x2753, 0x2757, 2},   {0x2795, 0x2797, 2},   {0x2B50, 0x2B50, 2},   {0x2E80, 0x303E, 2},
    {0x3041, 0x4DBF, 2},   {0x4E00, 0xA4CF, 2},   {0xA960, 0xA97F, 2},   {0xAC00, 0xD7A3, 2},
    {0xF900, 0xFAFF, 2},   {0xFE00, 0xFE0F, 0},   {0xFE10, 0xFE19, 2},   {0xFE20, 0xFE2F, 0},
    {0xFE30, 0xFE6F, 2},   {0xFEFF, 0xFEFF, 0},   {0xFF01, 0xFF60, 2},   {0xFFE0, 0xFFE6, 2},
    {0x16FE0, 0x18CFF, 2}, {0x1B000, 0x1B2FF, 2}, {0x1F300, 0x1F64F, 2}, {0x1F680, 0x1F6FF, 2},
    {0x1F900, 0x1F9FF, 2}, {0x20000, 0x3FFFD, 2}, {0xE0100, 0xE01EF, 0},
};

/* The next character, and how many bytes it has; what is not UTF-8 stands for itself, byte by
 * byte. */
static uint32_t next_character(const char *text, size_t *ret_bytes)
{
    const unsigned char *p = (const unsigned char *)text;
    size_t bytes = p[0] < 0xC0 ? 1 : p[0] < 0xE0 ? 2 : p[0] < 0xF0 ? 3 : 4;
    uint32_t character = bytes == 1 ? p[0] : p[0] & (0x7FU >> bytes);
    *ret_bytes = 1;
    for (size_t i = 1; i < bytes; i++) {
        if ((p[i] & 0xC0) != 0x80) {
            return p[0];
        }
        character = character << 6 | (p[i] & 0x3FU);
    }
    *ret_bytes = bytes;
    return character;
}

static size_t columns_of(uint32_t character)
{
    size_t from = 0;
    size_t to = character < ranges[0].first ? 0 : RM_ARRAY_LEN(ranges);
    while (from < to) {
        size_t middle = (from + to) / 2;
        if (character > ranges[middle].last) {
            from = middle + 1;
        } else if (character < ranges[middle].first) {
            to = middle;
        } else {
            return ranges[middle].columns;
        }
    }
    return 1;
}

size_t rm_columns_fit(const char *text, size_t columns, size_t *ret_taken)
{
    size_t at = 0;
    size_t taken = 0;
    while (text[at] != '\0') {
        size_t bytes;
        size_t wide = columns_of(next_character(text + at, &bytes));
        if (wide > columns - taken) {
            break;
        }
        taken += wide;
        at += bytes;
    }
    if (ret_taken != NULL) {
        *ret_taken = taken;
    }
    return at;
}

size_t rm_columns(const char *text)
{
    size_t taken;
    (void)rm_columns_fit(text, SIZE_MAX, &taken);
    return taken;
}

/* Where a text begins that has at most so many columns, at the end of this one. */
static const char *tail_of(const char *text, size_t columns)
{
    size_t width = rm_columns(text);
    while (width > columns) {
        size_t bytes;
        width -= columns_of(next_character(text, &bytes));
        text += bytes;
    }
    return text;
}

void rm_columns_shorten(char *target, size_t capacity, const char *text, size_t columns)
{
    if (rm_columns(text) <= columns || columns < 4) {
        (void)rm_text_set(target, capacity, text);
        return;
    }
    size_t tail = columns / 3;
    size_t used =
        rm_text_copy(target, capacity, text, rm_columns_fit(text, columns - tail - 2, NULL));
    used += rm_text_set(target + used, capacity - used, "..");
    (void)rm_text_set(target + used, capacity - used, tail_of(text, tail));
}
