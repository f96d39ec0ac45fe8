/* SPDX-License-Identifier: MIT */
#include "base/parse.h"

#include <string.h>

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static void skip_blanks(struct rm_text *text)
{
    while (text->at < text->end && is_blank(*text->at)) {
        text->at++;
    }
}

bool rm_parse_line(struct rm_text *text, struct rm_text *ret_line)
{
    if (text->at >= text->end) {
        return false;
    }
    const char *stop = memchr(text->at, '\n', rm_text_left(text));
    *ret_line = (struct rm_text){text->at, stop != NULL ? stop : text->end};
    text->at = stop != NULL ? stop + 1 : text->end;
    return true;
}

bool rm_parse_word(struct rm_text *text, struct rm_text *ret_word)
{
    skip_blanks(text);
    const char *start = text->at;
    while (text->at < text->end && !is_blank(*text->at) && *text->at != '\n') {
        text->at++;
    }
    if (text->at == start) {
        return false;
    }
    *ret_word = (struct rm_text){start, text->at};
    return true;
}

bool rm_parse_u64(struct rm_text *text, uint64_t *ret_value)
{
    skip_blanks(text);
    const char *p = text->at;
    uint64_t value = 0;
    while (p < text->end && is_digit(*p)) {
        uint64_t digit = (uint64_t)(*p - '0');
        /* 19 digits always fit; the division is for longer numbers only. */
        if (p - text->at >= 19 && value > (UINT64_MAX - digit) / 10) {
            return false;
        }
        value = value * 10 + digit;
        p++;
    }
    if (p == text->at) {
        return false;
    }
    text->at = p;
    *ret_value = value;
    return true;
}

bool rm_parse_i64(struct rm_text *text, int64_t *ret_value)
{
    skip_blanks(text);
    struct rm_text rest = *text;
    bool negative = rest.at < rest.end && *rest.at == '-';
    rest.at += negative ? 1 : 0;
    uint64_t magnitude;
    if (rest.at >= rest.end || !is_digit(*rest.at) || !rm_parse_u64(&rest, &magnitude) ||
        magnitude > (uint64_t)INT64_MAX + (negative ? 1 : 0)) {
        return false;
    }
    *ret_value = negative ? (int64_t)(0 - magnitude) : (int64_t)magnitude;
    *text = rest;
    return true;
}

static int hex_digit(char c)
{
    return is_digit(c) ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

bool rm_parse_hex(struct rm_text *text, uint64_t *ret_value)
{
    struct rm_text rest = *text;
    uint64_t value = 0;
    (void)rm_parse_literal(&rest, "0x");
    const char *first = rest.at;
    for (; rest.at < rest.end && hex_digit(*rest.at) >= 0; rest.at++) {
        if (value >> 60 != 0) {
            return false;
        }
        value = value << 4 | (uint64_t)hex_digit(*rest.at);
    }
    if (rest.at == first) {
        return false;
    }
    *text = rest;
    *ret_value = value;
    return true;
}

bool rm_parse_decimal(struct rm_text *text, double *ret_value)
{
    uint64_t whole;
    if (!rm_parse_u64(text, &whole)) {
        return false;
    }
    uint64_t part = 0;
    uint64_t scale = 1;
    if (text->at < text->end && *text->at == '.') {
        text->at++;
        while (text->at < text->end && is_digit(*text->at)) {
            if (scale < 1000000000000000000U) {
                part = part * 10 + (uint64_t)(*text->at - '0');
                scale *= 10;
            }
            text->at++;
        }
    }
    *ret_value = (double)whole + (double)part / (double)scale;
    return true;
}

bool rm_parse_literal(struct rm_text *text, const char *literal)
{
    size_t length = strlen(literal);
    if (rm_text_left(text) < length || memcmp(text->at, literal, length) != 0) {
        return false;
    }
    text->at += length;
    return true;
}

bool rm_parse_until(struct rm_text *text, char mark, struct rm_text *ret_head)
{
    const char *stop = memchr(text->at, mark, rm_text_left(text));
    if (stop == NULL) {
        return false;
    }
    *ret_head = (struct rm_text){text->at, stop};
    text->at = stop + 1;
    return true;
}

/* An empty text may have `at` NULL, which memcmp() does not accept. */
bool rm_text_equals(const struct rm_text *text, const char *literal)
{
    size_t length = strlen(literal);
    return rm_text_left(text) == length && (length == 0 || memcmp(text->at, literal, length) == 0);
}

static bool key_matches(const struct rm_key *key, const struct rm_text *line)
{
    size_t left = rm_text_left(line);
    /* The first byte decides almost always; the comparison is for the rest. */
    return left > key->length && *line->at == key->name[0] &&
           memcmp(line->at, key->name, key->length) == 0 && is_blank(line->at[key->length]);
}

/* The key at the start of the line, searched from `wanted` on; `count` if the line has no such key.
 */
static size_t find_key(const struct rm_text *line, const struct rm_key *keys, size_t count,
                       size_t wanted)
{
    for (size_t tried = 0; tried < count; tried++) {
        size_t index = wanted + tried < count ? wanted + tried : wanted + tried - count;
        if (key_matches(&keys[index], line)) {
            return index;
        }
    }
    return count;
}

uint64_t rm_parse_keys(struct rm_text text, const struct rm_key *keys, size_t count,
                       uint64_t *ret_values)
{
    uint64_t found = 0;
    size_t left = count; /* keys not found yet: the rest of the file may be long */
    size_t wanted = 0;   /* the key expected next: files and tables are in the same order */
    struct rm_text line;
    while (left > 0 && rm_parse_line(&text, &line)) {
        size_t index = find_key(&line, keys, count, wanted);
        if (index == count) {
            continue;
        }
        uint64_t bit = UINT64_C(1) << keys[index].slot;
        line.at += keys[index].length;
        if (rm_parse_u64(&line, &ret_values[keys[index].slot])) {
            left -= (found & bit) == 0 ? 1 : 0;
            found |= bit;
        }
        wanted = index + 1 < count ? index + 1 : 0;
    }
    return found;
}
