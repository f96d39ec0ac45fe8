/* SPDX-License-Identifier: MIT */
/*
 * Owns cJSON: the only file that includes it.  A thin set of what run documents need.
 */
#ifndef RM_SINK_JSON_H
#define RM_SINK_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <resmon/status.h>

struct rm_json; /* a value */

/* ---- building.  A failure (no memory) is remembered in *is_whole, which starts as true. -------
 */

struct rm_json *rm_json_object(bool *is_whole);
struct rm_json *rm_json_array(bool *is_whole);
struct rm_json *rm_json_null(bool *is_whole);
struct rm_json *rm_json_string(const char *text, bool *is_whole);

/** Adds to an object; `child` is taken over, also on failure. */
void rm_json_put(struct rm_json *object, const char *key, struct rm_json *child, bool *is_whole);
void rm_json_put_text(struct rm_json *object, const char *key, const char *text, bool *is_whole);
void rm_json_put_number(struct rm_json *object, const char *key, double number, bool *is_whole);

/** Adds to an array; `child` is taken over. */
void rm_json_append(struct rm_json *array, struct rm_json *child, bool *is_whole);

/** Arrays of numbers, exact to the last bit; NaN becomes null. */
struct rm_json *rm_json_doubles(const double *values, size_t count, bool *is_whole);
struct rm_json *rm_json_integers(const int64_t *values, size_t count, bool *is_whole);

/** The text of a value, without white space; free with rm_json_free_text().  NULL: no memory. */
char *rm_json_print(const struct rm_json *value);
void rm_json_free_text(char *text);

/* ---- reading ----------------------------------------------------------------------------------
 */

/** RESMON_EFORMAT says near which byte; RESMON_ENOMEM. */
resmon_status rm_json_parse(const char *text, size_t length, struct rm_json **ret_value);
void rm_json_free(struct rm_json *value);

/** Member of an object; NULL when it is not there, or `value` is no object (or NULL). */
const struct rm_json *rm_json_get(const struct rm_json *value, const char *key);

/** Elements of an array: NULL, 0 for anything else, so that the one never exceeds the other. */
const struct rm_json *rm_json_first(const struct rm_json *array);
size_t rm_json_count(const struct rm_json *array);

/** Members of an object; NULL for anything else. */
const struct rm_json *rm_json_first_member(const struct rm_json *object);

/** The element or member after this one, or NULL. */
const struct rm_json *rm_json_next(const struct rm_json *element);

/** The key of a member. */
const char *rm_json_key(const struct rm_json *member);

bool rm_json_is_object(const struct rm_json *value);

/** NULL unless it is a string. */
const char *rm_json_text(const struct rm_json *value);

/** The number; NaN for null and everything else. */
double rm_json_number(const struct rm_json *value);

#endif
