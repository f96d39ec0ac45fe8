/* SPDX-License-Identifier: MIT */
#include "format/json.h"

#include "base/compiler.h"
#include "base/status.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <string.h>

static cJSON *inner(const struct rm_json *value)
{
    union {
        const struct rm_json *outer;
        cJSON *inner;
    } both = {.outer = value}; /* cJSON is not const-correct: its readers take no const */
    return both.inner;
}

static struct rm_json *outer(cJSON *value)
{
    return (struct rm_json *)(void *)value;
}

resmon_status rm_json_check(void)
{
    return RESMON_OK;
}

resmon_status rm_json_parse(const char *text, size_t length, struct rm_json **ret_value)
{
    const char *stop = text;
    errno = 0; /* cJSON does not return the reason of a failure; malloc() sets errno */
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
