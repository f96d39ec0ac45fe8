/* SPDX-License-Identifier: MIT */
#include "base/text.h"
#include "base/compiler.h"

#include <stdint.h>
#include <string.h>

/* How many bytes at the beginning are printable ASCII, of which most texts are.  Eight at a time.
 */
static size_t plain_length(const char *text, size_t length)
{
    const uint64_t ones = UINT64_C(0x0101010101010101), highs = ones * 0x80;
    size_t at = 0;
    for (uint64_t word; at + sizeof word <= length; at += sizeof word) {
        memcpy(&word, text + at, sizeof word);
        uint64_t is_low = (word - ones * 0x20) & ~word; /* below ' ' */
        uint64_t is_high = (word + ones) | word;        /* DEL and above */
        if (((is_low | is_high) & highs) != 0) {
            break;
        }
    }
    while (at < length && text[at] >= 0x20 && text[at] < 0x7F) {
        at++;
    }
    return at;
}

/* Length of the valid UTF-8 sequence at `p` (RFC 3629), or 0. */
static size_t utf8_length(const unsigned char *p, size_t left)
{
    static const struct {
        unsigned char first_low, first_high, second_low, second_high, length;
    } forms[] = {
        {0xC2, 0xDF, 0x80, 0xBF, 2}, {0xE0, 0xE0, 0xA0, 0xBF, 3}, {0xE1, 0xEC, 0x80, 0xBF, 3},
        {0xED, 0xED, 0x80, 0x9F, 3}, {0xEE, 0xEF, 0x80, 0xBF, 3}, {0xF0, 0xF0, 0x90, 0xBF, 4},
        {0xF1, 0xF3, 0x80, 0xBF, 4}, {0xF4, 0xF4, 0x80, 0x8F, 4},
    };
    if (p[0] < 0x80) {
        return p[0] >= 0x20 && p[0] != 0x7F ? 1 : 0;
    }
    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++) {
        if (p[0] < forms[i].first_low || p[0] > forms[i].first_high) {
            continue;
        }
        size_t length = forms[i].length;
        if (p[0] == 0xC2 && length <= left && p[1] < 0xA0) {
            return 0; /* a control character, as ESC [ in one */
        }
        if (length > left || p[1] < forms[i].second_low || p[1] > forms[i].second_high) {
            return 0;
        }
        for (size_t k = 2; k < length; k++) {
            if ((p[k] & 0xC0) != 0x80) {
                return 0;
            }
        }
        return length;
    }
    return 0;
}

size_t rm_text_copy(char *target, size_t capacity, const char *source, size_t length)
{
    length = strnlen(source, length);
    size_t in = plain_length(source, length < capacity ? length : capacity - (capacity > 0));
    size_t out = in;
    memmove(target, source, in);
    while (in < length) {
        size_t step = utf8_length((const unsigned char *)source + in, length - in);
        size_t wide = step == 0 ? 1 : step;
        if (out + wide >= capacity) {
            break;
        }
        if (step == 0) {
            target[out] = '?';
        } else {
            memcpy(target + out, source + in, step);
        }
        out += wide;
        in += wide;
    }
    target[out] = '\0';
    return out;
}

size_t rm_text_set(char *target, size_t capacity, const char *source)
{
    return rm_text_copy(target, capacity, source != NULL ? source : "",
                        source != NULL ? strlen(source) : 0);
}

static int lower(char c)
{
    return c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : (unsigned char)c;
}

int rm_text_compare(const char *one, const char *other, size_t most)
{
    for (size_t i = 0; i < most; i++) {
        if (lower(one[i]) != lower(other[i])) {
            return lower(one[i]) < lower(other[i]) ? -1 : 1;
        }
        if (one[i] == '\0') {
            return 0;
        }
    }
    return 0;
}

bool rm_text_is_like(const char *one, const char *other)
{
    return rm_text_compare(one, other, SIZE_MAX) == 0;
}

/* Of bidirectional text (UAX #9: LRE to RLO, LRI to PDI), by which a terminal shows what follows in
 * another order: an invisible character takes their place. */
static void take_direction(char *text)
{
    const unsigned char *p = (const unsigned char *)text;
    bool is_embedding = p[1] == 0x80 && p[2] >= 0xAA && p[2] <= 0xAE;
    bool is_isolate = p[1] == 0x81 && p[2] >= 0xA6 && p[2] <= 0xA9;
    if (p[0] == 0xE2 && (is_embedding || is_isolate)) {
        text[1] = (char)0x81; /* U+2060, word joiner */
        text[2] = (char)0xA0;
    }
}

void rm_text_clean(char *text)
{
    size_t left = strlen(text);
    size_t plain = plain_length(text, left);
    text += plain;
    left -= plain;
    while (left > 0) {
        size_t step = utf8_length((const unsigned char *)text, left);
        if (step == 0) {
            *text = '?';
            step = 1;
        } else if (step == 3) {
            take_direction(text);
        }
        text += step;
        left -= step;
    }
}

/* How the first character is written in a JSON string, where it does not stand for itself; returns
 * how many bytes of `p` that is. */
static size_t escape(const unsigned char *p, size_t left, char escaped[8], size_t *ret_length)
{
    static const char digits[] = "0123456789abcdef";
    static const char replacement[] = {'\xEF', '\xBF', '\xBD'}; /* U+FFFD */
    size_t step = utf8_length(p, left);
    if (p[0] == '"' || p[0] == '\\') {
        const char pair[] = {'\\', (char)p[0]};
        memcpy(escaped, pair, *ret_length = sizeof pair);
    } else if (step > 0) {
        memcpy(escaped, p, *ret_length = step);
    } else if (p[0] < 0x80) {
        const char control[] = {'\\', 'u', '0', '0', digits[p[0] >> 4], digits[p[0] & 15]};
        memcpy(escaped, control, *ret_length = sizeof control);
    } else {
        memcpy(escaped, replacement, *ret_length = sizeof replacement);
    }
    return step > 0 ? step : 1;
}

size_t rm_text_json_plain(const char *text)
{
    size_t length = 0;
    while (text[length] >= 0x20 && text[length] < 0x7F && text[length] != '"' &&
           text[length] != '\\') {
        length++;
    }
    return length;
}

resmon_status rm_text_json(const struct rm_output *output, const char *text)
{
    const char *end = text + strlen(text);
    resmon_status status = rm_output_write(output, "\"", 1);
    while (text < end && status == RESMON_OK) {
        char escaped[8];
        size_t length = rm_text_json_plain(text);
        if (length > 0) {
            status = rm_output_write(output, text, length);
            text += length;
        } else {
            text += escape((const unsigned char *)text, (size_t)(end - text), escaped, &length);
            status = rm_output_write(output, escaped, length);
        }
    }
    return status == RESMON_OK ? rm_output_write(output, "\"", 1) : status;
}

bool rm_text_is_terminated(const char *field, size_t capacity)
{
    return memchr(field, '\0', capacity) != NULL;
}

const char *rm_text_base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash != NULL ? slash + 1 : path;
}

void rm_text_point(char *number)
{
    char *at = number + strspn(number, "+-0123456789");
    size_t width = strcspn(at, "0123456789");
    if (at[0] == '\0' || at[0] == 'e' || at[width] == '\0') {
        return;
    }
    at[0] = '.';
    memmove(at + 1, at + width, strlen(at + width) + 1);
}

/* ---- columns of a terminal ---------------------------------------------------------------- */

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

/* The next character, and how many bytes it has; of invalid UTF-8, each byte is one. */
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

/* The start of the longest end of a text that has at most so many columns. */
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
