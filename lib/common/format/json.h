/* SPDX-License-Identifier: MIT */
/*
 * Owns the reading of JSON, by cJSON: format/json.c is the only file that includes it.  Writing is
 * format/json_writer.h.
 */
#ifndef RM_FORMAT_JSON_H
#define RM_FORMAT_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <resmon/status.h>

#include "base/compiler.h"

struct rm_json; /* a value */

/** RESMON_ENOTSUP, with a message, if the library was built without cJSON (format/json_none.c):
 * then no JSON can be read. */
RM_SHARED resmon_status rm_json_check(void);

/** Parses a text. RESMON_EFORMAT, with the approximate offset of the error; RESMON_ENOMEM. */
RM_SHARED resmon_status rm_json_parse(const char *text, size_t length, struct rm_json **ret_value);
RM_SHARED void rm_json_free(struct rm_json *value);

/** Member of an object; NULL if it is missing, or if `value` is not an object (or NULL). */
RM_SHARED const struct rm_json *rm_json_get(const struct rm_json *value, const char *key);

/** The first element, and the number of elements, of an array. NULL and 0 for anything else, so
 * that a loop over the elements never exceeds the count.  Arrays of numbers: rm_json_numbers(). */
RM_SHARED const struct rm_json *rm_json_first(const struct rm_json *array);
RM_SHARED size_t rm_json_count(const struct rm_json *array);

/** The numbers of an array of numbers and nulls (NaN), at least one of either; NULL: any other
 * value. Such an array is kept as it is here and has no elements for rm_json_first(): a document
 * has millions of numbers. */
RM_SHARED const double *rm_json_numbers(const struct rm_json *array, size_t *ret_count);

/** The first member of an object; NULL for anything else. */
const struct rm_json *rm_json_first_member(const struct rm_json *object);

/** The element or member after this one, or NULL. */
RM_SHARED const struct rm_json *rm_json_next(const struct rm_json *element);

/** The key of a member. */
const char *rm_json_key(const struct rm_json *member);

bool rm_json_is_object(const struct rm_json *value);

/** NULL unless it is a string. */
RM_SHARED const char *rm_json_text(const struct rm_json *value);

/** The number; NaN for null and everything else. */
RM_SHARED double rm_json_number(const struct rm_json *value);

#endif
