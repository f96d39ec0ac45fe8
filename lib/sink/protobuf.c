/* SPDX-License-Identifier: MIT */
/* https://protobuf.dev/programming-guides/encoding/ */
#include "sink/protobuf.h"

#define WIRE_VARINT 0U
#define WIRE_BYTES  2U

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

void rm_protobuf_number(struct rm_buffer *buffer, uint32_t field, uint64_t number)
{
    if (number != 0) {
        rm_protobuf_varint(buffer, field << 3 | WIRE_VARINT);
        rm_protobuf_varint(buffer, number);
    }
}

void rm_protobuf_bytes(struct rm_buffer *buffer, uint32_t field, const void *bytes, size_t length)
{
    rm_protobuf_varint(buffer, field << 3 | WIRE_BYTES);
    rm_protobuf_varint(buffer, length);
    if (length > 0) {
        rm_buffer_add(buffer, bytes, length);
    }
}

void rm_protobuf_part(struct rm_buffer *buffer, uint32_t field, struct rm_buffer *part)
{
    rm_protobuf_bytes(buffer, field, part->text, part->length);
    if (part->status != RESMON_OK && buffer->status == RESMON_OK) {
        buffer->status = part->status;
    }
    part->length = 0;
}
