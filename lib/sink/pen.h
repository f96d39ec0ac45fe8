/* SPDX-License-Identifier: MIT */
/*
 * Owns the writing of long texts: in pieces of bounded size, to a file that is there as a whole or
 * not at all.  A failure sticks, and is asked for once at the end.
 */
#ifndef RM_SINK_PEN_H
#define RM_SINK_PEN_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/compiler.h"
#include "sys/outfile.h"

#define RM_PEN_BYTES ((size_t)64 << 10)

struct rm_pen {
    struct rm_outfile *file;
    char *piece; /* RM_PEN_BYTES */
    size_t length;
    resmon_status status;
};

/** On failure there is nothing to close. */
resmon_status rm_pen_open(struct rm_pen *pen, const char *path);

/** Completes the file, or after a failure removes it; the first failure. */
resmon_status rm_pen_close(struct rm_pen *pen);

void rm_pen_add_slowly(struct rm_pen *pen, const char *bytes, size_t length);

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

void rm_pen_u64(struct rm_pen *pen, uint64_t number);

/** `number` / 10^`places`, with all its places. */
void rm_pen_fixed(struct rm_pen *pen, int64_t number, int places);

#endif
