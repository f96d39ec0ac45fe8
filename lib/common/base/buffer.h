/* SPDX-License-Identifier: MIT */
/*
 * Owns text buffers that grow up to a bound, for reports and documents.  A failure (no memory,
 * bound reached) is kept, and checked once at the end.
 */
#ifndef RM_BASE_BUFFER_H
#define RM_BASE_BUFFER_H

#include <stdbool.h>
#include <stddef.h>

#include <resmon/status.h>

#include "base/compiler.h"
#include "base/text.h"

struct rm_buffer {
    char *text; /* always ends in '\0'; NULL before the first addition */
    size_t length;
    size_t capacity;
    size_t bound;
    resmon_status status;
};

/** An empty buffer that never grows past `bound` bytes. */
RM_SHARED void rm_buffer_init(struct rm_buffer *buffer, size_t bound);

/** Frees the text; the buffer is empty and usable again. */
RM_SHARED void rm_buffer_free(struct rm_buffer *buffer);

/** Passes the text to the caller, who frees it with resmon_text_free().  On a failure, frees the
 * text and returns `status`, else the failure of the buffer. */
RM_SHARED resmon_status rm_buffer_give(struct rm_buffer *buffer, resmon_status status,
                                       char **ret_text);

/** Empties the buffer and keeps its memory; clears a failure. */
RM_SHARED void rm_buffer_clear(struct rm_buffer *buffer);

RM_SHARED void rm_buffer_add(struct rm_buffer *buffer, const char *bytes, size_t length);
RM_SHARED void rm_buffer_puts(struct rm_buffer *buffer, const char *text);
RM_SHARED void rm_buffer_spaces(struct rm_buffer *buffer, size_t count);

/** Returns a position for at most `most` more bytes, which rm_buffer_advance() adds afterwards;
 * NULL: no memory, or the bound is reached.  For very frequent additions. */
RM_SHARED char *rm_buffer_room(struct rm_buffer *buffer, size_t most);

static inline void rm_buffer_advance(struct rm_buffer *buffer, size_t length)
{
    buffer->length += length;
    buffer->text[buffer->length] = '\0';
}

/** Appends text as a JSON string, with its quotes; invalid UTF-8 becomes U+FFFD. */
RM_SHARED void rm_buffer_json(struct rm_buffer *buffer, const char *text);

/** Appends text as a part of a URL: all characters except letters, digits and "-._~" are
 * percent-encoded. */
RM_SHARED void rm_buffer_percent(struct rm_buffer *buffer, const char *text);

/** Appends bytes in base64 (RFC 4648); `is_for_url`: with '-' and '_', and without the final '='.
 */
RM_SHARED void rm_buffer_base64(struct rm_buffer *buffer, const void *bytes, size_t length,
                                bool is_for_url);

/** An output that appends to `buffer`. */
RM_SHARED struct rm_output rm_buffer_output(struct rm_buffer *buffer);

RM_SHARED void rm_buffer_printf(struct rm_buffer *buffer, const char *format, ...) RM_PRINTF(2, 3);

#endif
