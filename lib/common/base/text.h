/* SPDX-License-Identifier: MIT */
/*
 * Owns text: outputs, copies of outside text in fixed fields (bounded, always terminated, always
 * valid UTF-8), strings of JSON, and the columns of a terminal that a text takes.
 */
#ifndef RM_BASE_TEXT_H
#define RM_BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>

#include <resmon/status.h>

#include "base/compiler.h"

/** A place that text is written to: a file, a buffer. */
struct rm_output {
    resmon_status (*write)(void *context, const char *bytes, size_t length);
    void *context;
};

static inline resmon_status rm_output_write(const struct rm_output *output, const char *bytes,
                                            size_t length)
{
    return output->write(output->context, bytes, length);
}

/**
 * Copies at most `length` bytes of `source` (stopping at a '\0') into `target` of `capacity`
 * bytes.  Invalid UTF-8 and control characters become '?'; a cut never splits a character.
 * Returns the length written.  Async-signal-safe.
 */
RM_SHARED size_t rm_text_copy(char *target, size_t capacity, const char *source, size_t length);

/** rm_text_copy() of a terminated string; NULL counts as "". */
RM_SHARED size_t rm_text_set(char *target, size_t capacity, const char *source);

/** strncasecmp(3) of the first `most` bytes, of which only ASCII's letters have two cases, whatever
 * the locale of the program is. */
int rm_text_compare(const char *one, const char *other, size_t most);

/** Whether two strings are the same but for the case of ASCII's letters. */
bool rm_text_is_like(const char *one, const char *other);

/** For a terminal, in place: invalid UTF-8 and control characters become '?', and those that turn
 * the direction of text invisible ones. */
RM_SHARED void rm_text_clean(char *text);

/** How many bytes at the beginning of a text need no escape in a JSON string. */
size_t rm_text_json_plain(const char *text);

/** Writes text of any origin as a JSON string, with its quotes: quotes, backslashes and control
 * characters are escaped, what is not UTF-8 becomes U+FFFD. */
resmon_status rm_text_json(const struct rm_output *output, const char *text);

/** The part of a path after its last '/'. */
RM_SHARED const char *rm_text_base_name(const char *path);

/** Replaces the decimal separator of the locale, which printf wrote ("1,5e-9"), by a point. */
RM_SHARED void rm_text_point(char *number);

/** Whether a field of `capacity` bytes is a terminated string: a check of loaded files. */
bool rm_text_is_terminated(const char *field, size_t capacity);

/* ---- columns of a terminal --------------------------------------------------------------- */

/*
 * Columns are counted in characters, not in bytes: characters of East Asia and emoji are wide, and
 * marks on another character take none (Unicode 15, UAX #11).
 */

/** The columns of a terminal that a text takes. */
RM_SHARED size_t rm_columns(const char *text);

/** How many bytes at the beginning of a text fit; `ret_taken` (may be NULL): their columns. */
RM_SHARED size_t rm_columns_fit(const char *text, size_t columns, size_t *ret_taken);

/** Copies a text that is wider than `columns` without its middle: "a_long_na..end". */
RM_SHARED void rm_columns_shorten(char *target, size_t capacity, const char *text, size_t columns);

#endif
