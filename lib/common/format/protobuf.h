/* SPDX-License-Identifier: MIT */
/*
 * Owns the wire format of protocol buffers
 * (https://protobuf.dev/programming-guides/encoding/), as far as pprof, OTLP and TensorBoard need
 * it.  It knows no message: fields are numbers.
 */
#ifndef RM_FORMAT_PROTOBUF_H
#define RM_FORMAT_PROTOBUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/compiler.h"

/** Writes a number without a field: an element of a packed list. */
RM_SHARED void rm_protobuf_varint(struct rm_buffer *buffer, uint64_t number);

/** Writes a field with a number.  0 is omitted, as in proto3. */
RM_SHARED void rm_protobuf_number(struct rm_buffer *buffer, uint32_t field, uint64_t number);

/** Writes a field of 8 bytes, also if it is 0: a fixed64, and a double; and a float, of 4. */
void rm_protobuf_fixed(struct rm_buffer *buffer, uint32_t field, uint64_t number);
void rm_protobuf_double(struct rm_buffer *buffer, uint32_t field, double number);
void rm_protobuf_float(struct rm_buffer *buffer, uint32_t field, float number);

/** Writes a string, a message, or a packed list.  An empty one is also written, as it may be an
 * element of a repeated field. */
RM_SHARED void rm_protobuf_bytes(struct rm_buffer *buffer, uint32_t field, const void *bytes,
                                 size_t length);
void rm_protobuf_text(struct rm_buffer *buffer, uint32_t field, const char *text);

/** Writes a field with the bytes of `part`, and empties `part`.  A failure of `part` becomes a
 * failure of `buffer`. */
RM_SHARED void rm_protobuf_part(struct rm_buffer *buffer, uint32_t field, struct rm_buffer *part);

/* A field of a message that is read. */
struct rm_protobuf_field {
    uint32_t number;
    uint64_t value;    /* of a varint, or of a field of 4 or 8 bytes */
    const char *bytes; /* NULL: it is a number */
    size_t length;
};

/** Reads the next field, and moves `*at` behind it.  False: at the end, or what follows is not a
 * field. */
bool rm_protobuf_next(const char **at, const char *end, struct rm_protobuf_field *ret_field);

#endif
