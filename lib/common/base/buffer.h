/* SPDX-License-Identifier: MIT */
/*
 * Owns growing text with a bound: reports and documents are built in it.
 * A failure (no memory, bound reached) sticks, and is asked for once at the end.
 */
#ifndef RM_BASE_BUFFER_H
#define RM_BASE_BUFFER_H

#include <stdbool.h>
#include <stddef.h>

#include <resmon/status.h>

#include "base/compiler.h"
#include "base/text.h"

struct rm_buffer {
    char *text; /* always ends in '\0' once something was added; NULL before */
    size_t length;
    size_t capacity;
    size_t bound;
    resmon_status status;
};

/** An empty buffer that never grows past `bound` bytes. */
RM_SHARED void rm_buffer_init(struct rm_buffer *buffer, size_t bound);

/** Frees the text; the buffer is empty and usable again. */
RM_SHARED void rm_buffer_free(struct rm_buffer *buffer);

/** Gives the text to whoever called, to be freed by resmon_text_free(); or frees it and returns
 * what failed: `status`, else a failure of the buffer. */
RM_SHARED resmon_status rm_buffer_give(struct rm_buffer *buffer, resmon_status status,
                                       char **ret_text);

/** Empties it and keeps its memory; a failure is forgotten. */
RM_SHARED void rm_buffer_clear(struct rm_buffer *buffer);

RM_SHARED void rm_buffer_add(struct rm_buffer *buffer, const char *bytes, size_t length);
RM_SHARED void rm_buffer_puts(struct rm_buffer *buffer, const char *text);
RM_SHARED void rm_buffer_spaces(struct rm_buffer *buffer, size_t count);

/** Where `most` more bytes may be written, and then counted by rm_buffer_advance(); NULL: there is
 * no such room.  For what comes by the million. */
RM_SHARED char *rm_buffer_room(struct rm_buffer *buffer, size_t most);

static inline void rm_buffer_advance(struct rm_buffer *buffer, size_t length)
{
    buffer->length += length;
    buffer->text[buffer->length] = '\0';
}

/** Adds text as a JSON string, with its quotes; what is not UTF-8 becomes U+FFFD. */
RM_SHARED void rm_buffer_json(struct rm_buffer *buffer, const char *text);

/** Adds text as a part of a URL: everything but letters, digits and "-._~" percent-encoded. */
RM_SHARED void rm_buffer_percent(struct rm_buffer *buffer, const char *text);

/** Adds bytes in base64 (RFC 4648): `is_for_url` with '-' and '_' and without '=' at its end. */
RM_SHARED void rm_buffer_base64(struct rm_buffer *buffer, const void *bytes, size_t length,
                                bool is_for_url);

/** An output that adds to `buffer`. */
RM_SHARED struct rm_output rm_buffer_output(struct rm_buffer *buffer);

RM_SHARED void rm_buffer_printf(struct rm_buffer *buffer, const char *format, ...) RM_PRINTF(2, 3);

#endif
