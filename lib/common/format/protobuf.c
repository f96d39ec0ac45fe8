/* SPDX-License-Identifier: MIT */
#include "format/protobuf.h"

#include <string.h>

enum wire { WIRE_VARINT = 0, WIRE_8_BYTES = 1, WIRE_BYTES = 2, WIRE_4_BYTES = 5 };

/* ---- writing -------------------------------------------------------------------------------- */

void rm_protobuf_varint(struct rm_buffer *buffer, uint64_t number)
{
    char bytes[10];
    size_t length = 0;
    for (; number >= 0x80; number >>= 7) {
        bytes[length++] = (char)(number | 0x80);
    }
    bytes[length++] = (char)number;
    rm_buffer_add(buffer, bytes, length);
}

static void put_tag(struct rm_buffer *buffer, uint32_t field, enum wire wire)
{
    rm_protobuf_varint(buffer, (uint64_t)field << 3 | (uint64_t)wire);
}

void rm_protobuf_number(struct rm_buffer *buffer, uint32_t field, uint64_t number)
{
    if (number != 0) {
        put_tag(buffer, field, WIRE_VARINT);
        rm_protobuf_varint(buffer, number);
    }
}

void rm_protobuf_fixed(struct rm_buffer *buffer, uint32_t field, uint64_t number)
{
    put_tag(buffer, field, WIRE_8_BYTES);
    rm_buffer_add(buffer, (const char *)&number, sizeof number); /* little-endian, as the host */
}

void rm_protobuf_double(struct rm_buffer *buffer, uint32_t field, double number)
{
    uint64_t bits;
    memcpy(&bits, &number, sizeof bits);
    rm_protobuf_fixed(buffer, field, bits);
}

void rm_protobuf_float(struct rm_buffer *buffer, uint32_t field, float number)
{
    put_tag(buffer, field, WIRE_4_BYTES);
    rm_buffer_add(buffer, (const char *)&number, sizeof number);
}

void rm_protobuf_bytes(struct rm_buffer *buffer, uint32_t field, const void *bytes, size_t length)
{
    put_tag(buffer, field, WIRE_BYTES);
    rm_protobuf_varint(buffer, length);
    if (length > 0) {
        rm_buffer_add(buffer, bytes, length);
    }
}

void rm_protobuf_text(struct rm_buffer *buffer, uint32_t field, const char *text)
{
    rm_protobuf_bytes(buffer, field, text, strlen(text));
}

void rm_protobuf_part(struct rm_buffer *buffer, uint32_t field, struct rm_buffer *part)
{
    rm_protobuf_bytes(buffer, field, part->text, part->length);
    if (part->status != RESMON_OK && buffer->status == RESMON_OK) {
        buffer->status = part->status;
    }
    part->length = 0;
}

/* ---- reading -------------------------------------------------------------------------------- */

static bool take_varint(const char **at, const char *end, uint64_t *ret_number)
{
    uint64_t number = 0;
    for (unsigned shift = 0; *at < end && shift < 64; shift += 7) {
        unsigned char byte = (unsigned char)*(*at)++;
        number |= (uint64_t)(byte & 0x7F) << shift;
        if (byte < 0x80) {
            *ret_number = number;
            return true;
        }
    }
    return false;
}

static bool take_fixed(const char **at, const char *end, size_t length, uint64_t *ret_number)
{
    *ret_number = 0;
    if ((size_t)(end - *at) < length) {
        return false;
    }
    memcpy(ret_number, *at, length);
    *at += length;
    return true;
}

static bool take_bytes(const char **at, const char *end, struct rm_protobuf_field *field)
{
    uint64_t length;
    if (!take_varint(at, end, &length) || length > (uint64_t)(end - *at)) {
        return false;
    }
    field->bytes = *at;
    field->length = (size_t)length;
    *at += length;
    return true;
}

bool rm_protobuf_next(const char **at, const char *end, struct rm_protobuf_field *ret_field)
{
    uint64_t tag;
    *ret_field = (struct rm_protobuf_field){0};
    if (!take_varint(at, end, &tag)) {
        return false;
    }
    ret_field->number = (uint32_t)(tag >> 3);
    switch (tag & 7) {
    case WIRE_VARINT:
        return take_varint(at, end, &ret_field->value);
    case WIRE_8_BYTES:
        return take_fixed(at, end, 8, &ret_field->value);
    case WIRE_BYTES:
        return take_bytes(at, end, ret_field);
    case WIRE_4_BYTES:
        return take_fixed(at, end, 4, &ret_field->value);
    default:
        return false;
    }
}
