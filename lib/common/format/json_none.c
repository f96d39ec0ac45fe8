/* SPDX-License-Identifier: MIT */
/*
 * Built instead of json.c if there is no cJSON: documents can be written but not read.
 */
#include "base/compiler.h"
#include "base/feature.h"
#include "format/json.h"

resmon_status rm_json_check(void)
{
    return rm_feature_need(RM_FEATURE_CJSON);
}

resmon_status rm_json_parse(const char *text, size_t length, struct rm_json **ret_value)
{
    (void)text, (void)length, (void)ret_value;
    return rm_json_check();
}

void rm_json_free(struct rm_json *value)
{
    (void)value;
}

const struct rm_json *rm_json_get(const struct rm_json *value, const char *key)
{
    (void)value, (void)key;
    return NULL;
}

const struct rm_json *rm_json_first(const struct rm_json *array)
{
    (void)array;
    return NULL;
}

size_t rm_json_count(const struct rm_json *array)
{
    (void)array;
    return 0;
}

const double *rm_json_numbers(const struct rm_json *array, size_t *ret_count)
{
    (void)array;
    *ret_count = 0;
    return NULL;
}

const struct rm_json *rm_json_first_member(const struct rm_json *object)
{
    (void)object;
    return NULL;
}

const struct rm_json *rm_json_next(const struct rm_json *element)
{
    (void)element;
    return NULL;
}

const char *rm_json_key(const struct rm_json *member)
{
    (void)member;
    return "";
}

bool rm_json_is_object(const struct rm_json *value)
{
    (void)value;
    return false;
}

const char *rm_json_text(const struct rm_json *value)
{
    (void)value;
    return NULL;
}

double rm_json_number(const struct rm_json *value)
{
    (void)value;
    return RM_NAN;
}
