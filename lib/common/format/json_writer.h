/* SPDX-License-Identifier: MIT */
/*
 * Owns the writing of JSON (RFC 8259): commas, keys, strings and numbers, through a pen. A failure
 * is remembered, and rm_json_finish() returns it.
 *
 * `key` is the name of a member. NULL: the value is an element of an array, or the whole document.
 */
#ifndef RM_FORMAT_JSON_WRITER_H
#define RM_FORMAT_JSON_WRITER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/compiler.h"
#include "format/pen.h"

struct rm_json_writer {
    bool has_before; /* the open object or array has an element before the next one */
    bool wants_line; /* the next value begins a line */
    struct rm_pen pen;
};

RM_SHARED void rm_json_start(struct rm_json_writer *writer, const struct rm_output *output);

/** Ends the last line and writes the buffered text; returns the first failure. */
RM_SHARED resmon_status rm_json_finish(struct rm_json_writer *writer);

RM_SHARED void rm_json_open_object(struct rm_json_writer *writer, const char *key);
RM_SHARED void rm_json_close_object(struct rm_json_writer *writer);
RM_SHARED void rm_json_open_array(struct rm_json_writer *writer, const char *key);
RM_SHARED void rm_json_close_array(struct rm_json_writer *writer);

/** Writes text of any origin: invalid UTF-8 becomes U+FFFD; NULL becomes "". */
RM_SHARED void rm_json_put_text(struct rm_json_writer *writer, const char *key, const char *text);

/** Writes a number, exact to the last bit; null if it is not finite. */
RM_SHARED void rm_json_put_double(struct rm_json_writer *writer, const char *key, double number);
RM_SHARED void rm_json_put_u64(struct rm_json_writer *writer, const char *key, uint64_t number);
RM_SHARED void rm_json_put_i64(struct rm_json_writer *writer, const char *key, int64_t number);
/** `number` / 10^`places`, with all its places. */
RM_SHARED void rm_json_put_fixed(struct rm_json_writer *writer, const char *key, int64_t number,
                                 int places);
RM_SHARED void rm_json_put_null(struct rm_json_writer *writer, const char *key);

/** The next value begins a line, for human readers. */
RM_SHARED void rm_json_break(struct rm_json_writer *writer);

#endif
