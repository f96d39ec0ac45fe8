/* SPDX-License-Identifier: MIT */
#include "base/text.h"

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
