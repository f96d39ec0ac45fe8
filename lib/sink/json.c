/* SPDX-License-Identifier: MIT */
#include "sink/json.h"

#include "base/compiler.h"
#include "base/number.h"
#include "base/status.h"
#include "base/text.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/buffer.h"

static cJSON *inner(const struct rm_json *value)
{
    union {
        const struct rm_json *outer;
        cJSON *inner;
    } both = {.outer = value}; /* cJSON is not const-correct: what only reads takes no const */
    return both.inner;
}

static struct rm_json *outer(cJSON *value)
{
    return (struct rm_json *)(void *)value;
}

static struct rm_json *made(cJSON *value, bool *is_whole)
{
    *is_whole = *is_whole && value != NULL;
    return outer(value);
}

struct rm_json *rm_json_object(bool *is_whole)
{
    return made(cJSON_CreateObject(), is_whole);
}

struct rm_json *rm_json_array(bool *is_whole)
{
    return made(cJSON_CreateArray(), is_whole);
}

struct rm_json *rm_json_null(bool *is_whole)
{
    return made(cJSON_CreateNull(), is_whole);
}

struct rm_json *rm_json_string(const char *text, bool *is_whole)
{
    return made(cJSON_CreateString(text), is_whole);
}

void rm_json_put(struct rm_json *object, const char *key, struct rm_json *child, bool *is_whole)
{
    if (object == NULL || child == NULL ||
        !cJSON_AddItemToObject(inner(object), key, inner(child))) {
        cJSON_Delete(inner(child));
        *is_whole = false;
    }
}

void rm_json_put_text(struct rm_json *object, const char *key, const char *text, bool *is_whole)
{
    rm_json_put(object, key, outer(cJSON_CreateString(text)), is_whole);
}

/* ---- numbers ------------------------------------------------------------------------------- */

/* cJSON prints 15 digits where they are "equal" to within an epsilon, so a number may come back as
 * its neighbour.  These come back as they were. */
static void print_number(char text[RM_NUMBER_BYTES], double number)
{
    if (rm_number_double(text, number) == 0) {
        (void)rm_text_set(text, RM_NUMBER_BYTES, "null");
    }
}

void rm_json_put_number(struct rm_json *object, const char *key, double number, bool *is_whole)
{
    char text[RM_NUMBER_BYTES];
    print_number(text, number);
    rm_json_put(object, key, outer(cJSON_CreateRaw(text)), is_whole);
}

/* One text for the whole array: a tree of a node per number would be twenty times as big. */
static struct rm_json *finish_numbers(struct rm_buffer *buffer, bool *is_whole)
{
    rm_buffer_puts(buffer, "]");
    cJSON *value = buffer->status == RESMON_OK ? cJSON_CreateRaw(buffer->text) : NULL;
    rm_buffer_free(buffer);
    return made(value, is_whole);
}

struct rm_json *rm_json_doubles(const double *values, size_t count, bool *is_whole)
{
    struct rm_buffer buffer;
    rm_buffer_init(&buffer, SIZE_MAX / 4);
    rm_buffer_puts(&buffer, "[");
    for (size_t i = 0; i < count; i++) {
        char text[RM_NUMBER_BYTES];
        print_number(text, values[i]);
        if (i > 0) {
            rm_buffer_add(&buffer, ",", 1);
        }
        rm_buffer_puts(&buffer, text);
    }
    return finish_numbers(&buffer, is_whole);
}

struct rm_json *rm_json_integers(const int64_t *values, size_t count, bool *is_whole)
{
    struct rm_buffer buffer;
    rm_buffer_init(&buffer, SIZE_MAX / 4);
    rm_buffer_puts(&buffer, "[");
    for (size_t i = 0; i < count; i++) {
        rm_buffer_printf(&buffer, i > 0 ? ",%" PRId64 : "%" PRId64, values[i]);
    }
    return finish_numbers(&buffer, is_whole);
}

/* ---- the rest of building -------------------------------------------------------------------- */

void rm_json_append(struct rm_json *array, struct rm_json *child, bool *is_whole)
{
    if (array == NULL || child == NULL || !cJSON_AddItemToArray(inner(array), inner(child))) {
        cJSON_Delete(inner(child));
        *is_whole = false;
    }
}

char *rm_json_print(const struct rm_json *value)
{
    return cJSON_PrintUnformatted(inner(value));
}

void rm_json_free_text(char *text)
{
    cJSON_free(text);
}

resmon_status rm_json_parse(const char *text, size_t length, struct rm_json **ret_value)
{
    const char *stop = text;
    errno = 0; /* cJSON does not tell why it failed; malloc() does */
    cJSON *value = cJSON_ParseWithLengthOpts(text, length, &stop, 0);
    if (value == NULL && errno == ENOMEM) {
        return rm_error(RESMON_ENOMEM, "out of memory for %zu bytes of JSON", length);
    }
    if (value == NULL) {
        return rm_error(RESMON_EFORMAT, "not valid JSON near byte %zu",
                        stop != NULL && stop >= text ? (size_t)(stop - text) : 0);
    }
    *ret_value = outer(value);
    return RESMON_OK;
}

void rm_json_free(struct rm_json *value)
{
    cJSON_Delete(inner(value));
}

const struct rm_json *rm_json_get(const struct rm_json *value, const char *key)
{
    return cJSON_IsObject(inner(value)) ? outer(cJSON_GetObjectItemCaseSensitive(inner(value), key))
                                        : NULL;
}

const struct rm_json *rm_json_first(const struct rm_json *array)
{
    return cJSON_IsArray(inner(array)) ? outer(inner(array)->child) : NULL;
}

const struct rm_json *rm_json_first_member(const struct rm_json *object)
{
    return cJSON_IsObject(inner(object)) ? outer(inner(object)->child) : NULL;
}

const struct rm_json *rm_json_next(const struct rm_json *element)
{
    return outer(inner(element)->next);
}

size_t rm_json_count(const struct rm_json *array)
{
    return cJSON_IsArray(inner(array)) ? (size_t)cJSON_GetArraySize(inner(array)) : 0;
}

const char *rm_json_key(const struct rm_json *member)
{
    return inner(member)->string != NULL ? inner(member)->string : "";
}

bool rm_json_is_object(const struct rm_json *value)
{
    return cJSON_IsObject(inner(value));
}

const char *rm_json_text(const struct rm_json *value)
{
    return cJSON_IsString(inner(value)) ? inner(value)->valuestring : NULL;
}

double rm_json_number(const struct rm_json *value)
{
    return cJSON_IsNumber(inner(value)) ? inner(value)->valuedouble : RM_NAN;
}
