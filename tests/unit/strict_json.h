/* SPDX-License-Identifier: MIT */
/*
 * Whether a text is JSON as RFC 8259 has it, to the letter: what more lenient parsers take as well
 * (NaN, leading zeros, bare control characters, invalid UTF-8, a trailing comma) is refused.
 */
#ifndef RESMON_TESTS_STRICT_JSON_H
#define RESMON_TESTS_STRICT_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

struct strict {
    const char *at, *end;
    int depth;
};

static inline bool strict_value(struct strict *text);

static inline void strict_space(struct strict *text)
{
    while (text->at < text->end && memchr(" \t\r\n", *text->at, 4) != NULL) {
        text->at++;
    }
}

static inline bool strict_take(struct strict *text, char byte)
{
    bool is_there = text->at < text->end && *text->at == byte;
    text->at += is_there ? 1 : 0;
    return is_there;
}

static inline size_t strict_digits(struct strict *text)
{
    const char *begin = text->at;
    while (text->at < text->end && *text->at >= '0' && *text->at <= '9') {
        text->at++;
    }
    return (size_t)(text->at - begin);
}

static inline bool strict_number(struct strict *text)
{
    (void)strict_take(text, '-');
    if (!strict_take(text, '0') && strict_digits(text) == 0) {
        return false;
    }
    if (text->at[-1] == '0' && text->at < text->end && *text->at >= '0' && *text->at <= '9' &&
        (text->at[-2] == '-' || memchr("0123456789", text->at[-2], 10) == NULL)) {
        return false; /* 012 */
    }
    if (strict_take(text, '.') && strict_digits(text) == 0) {
        return false;
    }
    if (strict_take(text, 'e') || strict_take(text, 'E')) {
        if (!strict_take(text, '+')) {
            (void)strict_take(text, '-');
        }
        return strict_digits(text) > 0;
    }
    return true;
}

/* The length of a valid UTF-8 sequence, without surrogates and longer forms than need be; else 0.
 */
static inline size_t strict_utf8(const unsigned char *p, size_t left)
{
    size_t length = p[0] < 0x80 ? 1 : p[0] < 0xC2 ? 0 : p[0] < 0xE0 ? 2 : p[0] < 0xF0 ? 3 : 4;
    if (length == 0 || length > left || p[0] > 0xF4) {
        return 0;
    }
    unsigned long point = length == 1 ? p[0] : p[0] & (0x7FU >> length);
    for (size_t i = 1; i < length; i++) {
        if ((p[i] & 0xC0) != 0x80) {
            return 0;
        }
        point = point << 6 | (p[i] & 0x3FU);
    }
    bool is_long = (length == 3 && point < 0x800) || (length == 4 && point < 0x10000);
    return is_long || point > 0x10FFFF || (point >= 0xD800 && point < 0xE000) ? 0 : length;
}

static inline bool strict_escape(struct strict *text)
{
    if (strict_take(text, 'u')) {
        for (int i = 0; i < 4; i++, text->at++) {
            if (text->at >= text->end || memchr("0123456789abcdefABCDEF", *text->at, 22) == NULL) {
                return false;
            }
        }
        return true;
    }
    bool is_known = text->at < text->end && memchr("\"\\/bfnrt", *text->at, 8) != NULL;
    text->at++;
    return is_known;
}

static inline bool strict_string(struct strict *text)
{
    if (!strict_take(text, '"')) {
        return false;
    }
    while (text->at < text->end && *text->at != '"') {
        if (strict_take(text, '\\')) {
            if (!strict_escape(text)) {
                return false;
            }
            continue;
        }
        size_t step = strict_utf8((const unsigned char *)text->at, (size_t)(text->end - text->at));
        if (step == 0 || (unsigned char)*text->at < 0x20) {
            return false;
        }
        text->at += step;
    }
    return strict_take(text, '"');
}

/* After the opening bracket. */
static inline bool strict_items(struct strict *text, char close, bool has_keys)
{
    strict_space(text);
    if (strict_take(text, close)) {
        return true;
    }
    do {
        strict_space(text);
        if (has_keys) {
            if (!strict_string(text)) {
                return false;
            }
            strict_space(text);
            if (!strict_take(text, ':')) {
                return false;
            }
        }
        if (!strict_value(text)) {
            return false;
        }
        strict_space(text);
    } while (strict_take(text, ','));
    return strict_take(text, close);
}

static inline bool strict_word(struct strict *text, const char *word)
{
    size_t length = strlen(word);
    bool is_there = (size_t)(text->end - text->at) >= length && memcmp(text->at, word, length) == 0;
    text->at += is_there ? length : 0;
    return is_there;
}

static inline bool strict_value(struct strict *text)
{
    strict_space(text);
    if (text->at >= text->end || text->depth > 60) {
        return false;
    }
    bool is_value;
    text->depth++;
    if (strict_take(text, '{')) {
        is_value = strict_items(text, '}', true);
    } else if (strict_take(text, '[')) {
        is_value = strict_items(text, ']', false);
    } else if (*text->at == '"') {
        is_value = strict_string(text);
    } else if (strict_word(text, "true") || strict_word(text, "false") ||
               strict_word(text, "null")) {
        is_value = true;
    } else {
        is_value = strict_number(text);
    }
    text->depth--;
    return is_value;
}

static inline bool is_strict_json(const char *bytes, size_t length)
{
    struct strict text = {bytes, bytes + length, 0};
    bool is_value = strict_value(&text);
    strict_space(&text);
    return is_value && text.at == text.end;
}

#endif
