/* SPDX-License-Identifier: MIT */
/*
 * Owns copying of outside text into fixed fields: bounded, always terminated, always valid UTF-8,
 * also with the escapes of JSON; and numbers whose text does not depend on the locale.
 */
#ifndef RM_BASE_TEXT_H
#define RM_BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>

/**
 * Copies at most `length` bytes of `source` (stopping at a '\0') into `target` of `capacity`
 * bytes.  Invalid UTF-8 and control characters become '?'; a cut never splits a character.
 * Returns the length written.  Async-signal-safe.
 */
size_t rm_text_copy(char *target, size_t capacity, const char *source, size_t length);

/** The same for a terminated string; NULL counts as "". */
size_t rm_text_set(char *target, size_t capacity, const char *source);

/** Makes the same of a string where it stands, but for a cut. */
void rm_text_clean(char *text);

/**
 * Copies a string as the inside of a JSON string: quotes, backslashes and control characters are
 * escaped, invalid UTF-8 becomes U+FFFD.  A cut splits neither an escape nor a character.  Returns
 * the length written; 6 bytes for each of `source` and one are always enough.
 */
size_t rm_text_json(char *target, size_t capacity, const char *source);

/** How the first character of `left` bytes is written there: `*ret_length` bytes of `escaped`.
 * Returns how many bytes of `source` that is. */
size_t rm_text_json_step(const char *source, size_t left, char escaped[8], size_t *ret_length);

/** Makes what printf wrote as a decimal separator, in whatever locale, a point: "1,5e-9". */
void rm_text_point(char *number);

/** Whether a field of `capacity` bytes holds a terminated string: asked of loaded files. */
bool rm_text_is_terminated(const char *field, size_t capacity);

#endif
