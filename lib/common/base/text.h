/* SPDX-License-Identifier: MIT */
/*
 * Owns copying of outside text into fixed fields: bounded, always terminated, always valid UTF-8,
 * the strings of JSON; and numbers whose text does not depend on the locale.
 */
#ifndef RM_BASE_TEXT_H
#define RM_BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/compiler.h"
#include "base/output.h"

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

/** How many bytes of a text's beginning stand for themselves in a JSON string. */
size_t rm_text_json_plain(const char *text);

/** Writes text of any origin as a JSON string, with its quotes: quotes, backslashes and control
 * characters are escaped, what is not UTF-8 becomes U+FFFD. */
resmon_status rm_text_json(const struct rm_output *output, const char *text);

/** What stands behind the last '/' of a path. */
RM_SHARED const char *rm_text_base_name(const char *path);

/** Makes what printf wrote as a decimal separator, in whatever locale, a point: "1,5e-9". */
RM_SHARED void rm_text_point(char *number);

/** Whether a field of `capacity` bytes holds a terminated string: asked of loaded files. */
bool rm_text_is_terminated(const char *field, size_t capacity);

#endif
