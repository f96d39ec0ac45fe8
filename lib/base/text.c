/* SPDX-License-Identifier: MIT */
#include "base/text.h"

#include <stdint.h>
#include <string.h>

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
    size_t out = 0;
    size_t in = 0;
    while (in < length && source[in] != '\0') {
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

void rm_text_clean(char *text)
{
    size_t left = strlen(text);
    while (left > 0) {
        size_t step = utf8_length((const unsigned char *)text, left);
        if (step == 0) {
            *text = '?';
            step = 1;
        }
        text += step;
        left -= step;
    }
}

size_t rm_text_json_step(const char *source, size_t left, char escaped[8], size_t *ret_length)
{
    const unsigned char *p = (const unsigned char *)source;
    static const char digits[] = "0123456789abcdef";
    static const char control[] = {'\\', 'u', '0', '0'};
    static const char replacement[] = {'\xEF', '\xBF', '\xBD'}; /* U+FFFD */
    size_t step = utf8_length(p, left);
    if (p[0] == '"' || p[0] == '\\') {
        escaped[0] = '\\';
        escaped[1] = (char)p[0];
        *ret_length = 2;
    } else if (step > 0) {
        memcpy(escaped, p, step);
        *ret_length = step;
    } else if (p[0] < 0x80) {
        memcpy(escaped, control, sizeof control);
        escaped[4] = digits[p[0] >> 4];
        escaped[5] = digits[p[0] & 15];
        *ret_length = 6;
    } else {
        memcpy(escaped, replacement, sizeof replacement);
        *ret_length = sizeof replacement;
    }
    return step > 0 ? step : 1;
}

size_t rm_text_json(char *target, size_t capacity, const char *source)
{
    size_t out = 0;
    size_t left = strlen(source);
    while (left > 0) {
        char escaped[8];
        size_t length;
        size_t step = rm_text_json_step(source, left, escaped, &length);
        if (out + length >= capacity) {
            break;
        }
        memcpy(target + out, escaped, length);
        out += length;
        source += step;
        left -= step;
    }
    target[out] = '\0';
    return out;
}

bool rm_text_is_terminated(const char *field, size_t capacity)
{
    return memchr(field, '\0', capacity) != NULL;
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
