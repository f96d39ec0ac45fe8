/* SPDX-License-Identifier: MIT */
/*
 * Owns the writing of JSON (RFC 8259): commas, keys, strings and numbers, as a pen writes them.  A
 * failure sticks, and is asked for once at the end.
 *
 * `key` is the name of a member; NULL: the value is an element of an array, or the whole.
 */
#ifndef RM_FORMAT_JSON_WRITER_H
#define RM_FORMAT_JSON_WRITER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/compiler.h"
#include "format/pen.h"

struct rm_json_writer {
    bool has_before; /* in the object or array that is open, or at its end */
    bool wants_line; /* the next value begins one */
    struct rm_pen pen;
};

RM_SHARED void rm_json_start(struct rm_json_writer *writer, const struct rm_output *output);

/** Ends the text with its line, and writes what is left; the first failure. */
RM_SHARED resmon_status rm_json_finish(struct rm_json_writer *writer);

RM_SHARED void rm_json_open_object(struct rm_json_writer *writer, const char *key);
RM_SHARED void rm_json_close_object(struct rm_json_writer *writer);
RM_SHARED void rm_json_open_array(struct rm_json_writer *writer, const char *key);
RM_SHARED void rm_json_close_array(struct rm_json_writer *writer);

/** Text of any origin: what is not UTF-8 becomes U+FFFD; NULL is "". */
RM_SHARED void rm_json_put_text(struct rm_json_writer *writer, const char *key, const char *text);

/** Exact to the last bit; what is not finite is null. */
RM_SHARED void rm_json_put_double(struct rm_json_writer *writer, const char *key, double number);
RM_SHARED void rm_json_put_u64(struct rm_json_writer *writer, const char *key, uint64_t number);
RM_SHARED void rm_json_put_i64(struct rm_json_writer *writer, const char *key, int64_t number);
/** `number` / 10^`places`, with all its places. */
RM_SHARED void rm_json_put_fixed(struct rm_json_writer *writer, const char *key, int64_t number,
                                 int places);
RM_SHARED void rm_json_put_null(struct rm_json_writer *writer, const char *key);

/** The next value begins a line: for those who look at the text. */
RM_SHARED void rm_json_break(struct rm_json_writer *writer);

#endif
