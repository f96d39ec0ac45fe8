/* SPDX-License-Identifier: MIT */
/*
 * Owns the writing of streamed text, in pieces of bounded size for any length of text. A failure is
 * remembered, and rm_pen_finish() returns it.
 */
#ifndef RM_FORMAT_PEN_H
#define RM_FORMAT_PEN_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/compiler.h"
#include "base/text.h"

#define RM_PEN_BYTES ((size_t)4096)

struct rm_pen {
    const struct rm_output *output;
    resmon_status status;
    size_t length;
    char piece[RM_PEN_BYTES];
};

RM_SHARED void rm_pen_start(struct rm_pen *pen, const struct rm_output *output);

/** Writes the buffered text; returns the first failure. */
RM_SHARED resmon_status rm_pen_finish(struct rm_pen *pen);

RM_SHARED void rm_pen_add_slowly(struct rm_pen *pen, const char *bytes, size_t length);

static inline void rm_pen_add(struct rm_pen *pen, const char *bytes, size_t length)
{
    if (RM_UNLIKELY(length > RM_PEN_BYTES - pen->length)) {
        rm_pen_add_slowly(pen, bytes, length);
        return;
    }
    memcpy(pen->piece + pen->length, bytes, length);
    pen->length += length;
}

static inline void rm_pen_puts(struct rm_pen *pen, const char *text)
{
    rm_pen_add(pen, text, strlen(text));
}

RM_SHARED void rm_pen_u64(struct rm_pen *pen, uint64_t number);

void rm_pen_i64(struct rm_pen *pen, int64_t number);

/** `number` / 10^`places`, with all its places. */
void rm_pen_fixed(struct rm_pen *pen, int64_t number, int places);

/** Writes a number, exact to the last bit; nothing if it is not finite. Returns the length. */
size_t rm_pen_double(struct rm_pen *pen, double number);

/** Writes text of any origin as a JSON string, with its quotes. */
void rm_pen_json(struct rm_pen *pen, const char *text);

#endif
