/* SPDX-License-Identifier: MIT */
#include "base/buffer.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/status.h"
#include "base/text.h"

void rm_buffer_init(struct rm_buffer *buffer, size_t bound)
{
    *buffer = (struct rm_buffer){.bound = bound};
}

void rm_buffer_free(struct rm_buffer *buffer)
{
    rm_free(buffer->text);
    rm_buffer_init(buffer, buffer->bound);
}

resmon_status rm_buffer_give(struct rm_buffer *buffer, resmon_status status, char **ret_text)
{
    status = status == RESMON_OK ? buffer->status : status;
    if (status != RESMON_OK) {
        rm_buffer_free(buffer);
        return status;
    }
    *ret_text = buffer->text;
    return RESMON_OK;
}

void rm_buffer_clear(struct rm_buffer *buffer)
{
    buffer->length = 0;
    buffer->status = RESMON_OK;
    if (buffer->text != NULL) {
        buffer->text[0] = '\0';
    }
}

/* Grows the capacity for `extra` bytes and a final '\0'. */
static int reserve(struct rm_buffer *buffer, size_t extra)
{
    if (buffer->status != RESMON_OK) {
        return -1;
    }
    if (extra >= buffer->bound || buffer->length > buffer->bound - extra - 1) {
        buffer->status =
            rm_error(RESMON_ERANGE, "text longer than its bound of %zu bytes", buffer->bound);
        return -1;
    }
    size_t needed = buffer->length + extra + 1;
    if (needed <= buffer->capacity) {
        return 0;
    }
    size_t capacity = buffer->capacity < 256 ? 256 : buffer->capacity;
    while (capacity < needed) {
        capacity *= 2;
    }
    char *text = rm_realloc(buffer->text, capacity, 1);
    if (text == NULL) {
        buffer->status = rm_error(RESMON_ENOMEM, "out of memory for %zu bytes of text", capacity);
        return -1;
    }
    buffer->text = text;
    buffer->capacity = capacity;
    return 0;
}

void rm_buffer_add(struct rm_buffer *buffer, const char *bytes, size_t length)
{
    if (reserve(buffer, length) != 0) {
        return;
    }
    memcpy(buffer->text + buffer->length, bytes, length);
    buffer->length += length;
    buffer->text[buffer->length] = '\0';
}

void rm_buffer_puts(struct rm_buffer *buffer, const char *text)
{
    rm_buffer_add(buffer, text, strlen(text));
}

void rm_buffer_spaces(struct rm_buffer *buffer, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        rm_buffer_add(buffer, " ", 1);
    }
}

char *rm_buffer_room(struct rm_buffer *buffer, size_t most)
{
    return reserve(buffer, most) == 0 ? buffer->text + buffer->length : NULL;
}

void rm_buffer_base64(struct rm_buffer *buffer, const void *bytes, size_t length, bool is_for_url)
{
    static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/",
                      for_url[] =
                          "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    const char *digits = is_for_url ? for_url : plain;
    const unsigned char *at = bytes;
    for (size_t i = 0; i < length; i += 3) {
        size_t count = length - i < 3 ? length - i : 3;
        uint32_t bits = 0;
        for (size_t k = 0; k < 3; k++) {
            bits = bits << 8 | (k < count ? at[i + k] : 0U);
        }
        for (size_t k = 0; k <= count; k++) {
            rm_buffer_add(buffer, &digits[bits >> (18 - 6 * k) & 63], 1);
        }
        rm_buffer_add(buffer, "==", is_for_url ? 0 : 3 - count);
    }
}

void rm_buffer_percent(struct rm_buffer *buffer, const char *text)
{
    static const char plain[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~";
    static const char digits[] = "0123456789ABCDEF";
    for (const char *at = text; *at != '\0'; at++) {
        unsigned char byte = (unsigned char)*at;
        const char code[] = {'%', digits[byte >> 4], digits[byte & 15]};
        bool is_plain = strchr(plain, byte) != NULL;
        rm_buffer_add(buffer, is_plain ? at : code, is_plain ? 1 : sizeof code);
    }
}

static resmon_status write_piece(void *context, const char *bytes, size_t length)
{
    struct rm_buffer *buffer = context;
    rm_buffer_add(buffer, bytes, length);
    return buffer->status;
}

struct rm_output rm_buffer_output(struct rm_buffer *buffer)
{
    return (struct rm_output){write_piece, buffer};
}

void rm_buffer_json(struct rm_buffer *buffer, const char *text)
{
    const struct rm_output output = rm_buffer_output(buffer);
    (void)rm_text_json(&output, text);
}

void rm_buffer_printf(struct rm_buffer *buffer, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int length = vsnprintf(NULL, 0, format, args);
    va_end(args);
    if (length < 0 || reserve(buffer, (size_t)length) != 0) {
        return;
    }
    va_start(args, format);
    (void)vsnprintf(buffer->text + buffer->length, (size_t)length + 1, format, args);
    va_end(args);
    buffer->length += (size_t)length;
}
