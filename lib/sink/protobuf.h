/* SPDX-License-Identifier: MIT */
/*
 * Owns writing of the protobuf wire format, as far as profile.proto needs it: varints, strings,
 * messages and packed lists.  What is 0 or empty is left out, as proto3 does.
 */
#ifndef RM_SINK_PROTOBUF_H
#define RM_SINK_PROTOBUF_H

#include <stdint.h>

#include "base/buffer.h"

/** A number without a field: an element of a packed list. */
void rm_protobuf_varint(struct rm_buffer *buffer, uint64_t number);

void rm_protobuf_number(struct rm_buffer *buffer, uint32_t field, uint64_t number);

/** A string, a message, or a packed list; also when it is empty: an element of a repeated field. */
void rm_protobuf_bytes(struct rm_buffer *buffer, uint32_t field, const void *bytes, size_t length);

/** The same of what was built in `part`, which is empty then; a failure of `part` is one of
 * `buffer`. */
void rm_protobuf_part(struct rm_buffer *buffer, uint32_t field, struct rm_buffer *part);

#endif
