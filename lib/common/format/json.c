/* SPDX-License-Identifier: MIT */
#include "format/json.h"

#include "base/alloc.h"
#include "base/buffer.h"
#include "base/compiler.h"
#include "base/number.h"
#include "base/status.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <stdint.h>
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

/* ---- arrays of numbers ----------------------------------------------------------------------- */

/*
 * cJSON has a node of 64 bytes for each number, and reads it by strtod(): the numbers of a run
 * would cost ten times their size.  So each array that holds only numbers and nulls is read here,
 * and cJSON parses a copy of the text in which the array is "[N]", the index of its numbers.  As
 * all such arrays are replaced, an array of one number in the result is a replaced one.
 */
struct numbers {
    size_t count;
    double at[];
};

struct replaced {
    struct numbers *numbers; /* NULL: the tree has them */
    size_t end;              /* of the replacement, in the copy */
    size_t end_of_text;      /* of the array, in the text */
};

struct parsing {
    const char *text, *end;
    struct rm_buffer copy; /* empty: nothing was replaced */
    struct replaced *arrays;
    size_t count, room;
    double *numbers; /* of the array that is read */
    size_t number_count, number_room;
};

static resmon_status out_of_memory(const struct parsing *parsing)
{
    return rm_error(RESMON_ENOMEM, "out of memory for %zu bytes of JSON",
                    (size_t)(parsing->end - parsing->text));
}

static resmon_status not_valid(size_t offset)
{
    return rm_error(RESMON_EFORMAT, "not valid JSON near byte %zu", offset);
}

static const char *skip_space(const char *at, const char *end)
{
    while (at < end && (*at == ' ' || *at == '\n' || *at == '\r' || *at == '\t')) {
        at++;
    }
    return at;
}

/* Whether a number or null begins here. */
static bool is_number(const char *at, const char *end)
{
    return at < end && (*at == '-' || (*at >= '0' && *at <= '9') ||
                        (end - at >= 4 && memcmp(at, "null", 4) == 0));
}

/* 0: it is no number that JSON allows. */
static size_t take_number(const char *at, const char *end, double *ret_number)
{
    *ret_number = RM_NAN;
    return *at == 'n' ? 4 : rm_number_parse(at, (size_t)(end - at), ret_number);
}

/* Reads an array of numbers after its bracket, and returns its end; NULL: it has other elements. */
static resmon_status take_numbers(struct parsing *parsing, const char *at, const char **ret_end)
{
    const char *end = parsing->end;
    *ret_end = NULL;
    parsing->number_count = 0;
    for (at = skip_space(at, end); is_number(at, end); at = skip_space(at + 1, end)) {
        double *number = rm_append(&parsing->numbers, &parsing->number_count, &parsing->number_room,
                                   sizeof *number);
        if (number == NULL) {
            return out_of_memory(parsing);
        }
        size_t length = take_number(at, end, number);
        at = skip_space(at + length, end);
        if (length == 0 || at == end || (*at != ',' && *at != ']')) {
            return not_valid((size_t)(at - parsing->text));
        }
        if (*at == ']') {
            *ret_end = at + 1;
            return RESMON_OK;
        }
    }
    return RESMON_OK;
}

/* Keeps the numbers that were read, and puts their index in the copy. */
static resmon_status replace(struct parsing *parsing, const char *end)
{
    struct replaced *array =
        rm_append(&parsing->arrays, &parsing->count, &parsing->room, sizeof *array);
    size_t bytes = parsing->number_count * sizeof(double);
    if (array != NULL) {
        array->numbers = cJSON_malloc(sizeof *array->numbers + bytes); /* cJSON_Delete() frees it */
    }
    if (array == NULL || array->numbers == NULL) {
        return out_of_memory(parsing);
    }
    array->numbers->count = parsing->number_count;
    memcpy(array->numbers->at, parsing->numbers, bytes);
    rm_buffer_printf(&parsing->copy, "[%zu]", parsing->count - 1);
    array->end = parsing->copy.length;
    array->end_of_text = (size_t)(end - parsing->text);
    return RESMON_OK;
}

/* The end of a string that begins at `at`, with its quotes. */
static const char *skip_string(const char *at, const char *end)
{
    for (at++; at < end && *at != '"'; at++) {
        at += *at == '\\' ? 1 : 0;
    }
    return at < end ? at + 1 : end;
}

static resmon_status replace_all(struct parsing *parsing)
{
    const char *copied = parsing->text, *at = parsing->text;
    while (at < parsing->end) {
        const char *end = NULL;
        if (*at == '[') {
            resmon_status status = take_numbers(parsing, at + 1, &end);
            if (status != RESMON_OK) {
                return status;
            }
        }
        if (end != NULL) {
            rm_buffer_add(&parsing->copy, copied, (size_t)(at - copied));
            resmon_status status = replace(parsing, end);
            if (status != RESMON_OK) {
                return status;
            }
            copied = at = end;
        } else {
            at = *at == '"' ? skip_string(at, parsing->end) : at + 1;
        }
    }
    if (parsing->count > 0) {
        rm_buffer_add(&parsing->copy, copied, (size_t)(parsing->end - copied));
    }
    return parsing->copy.status;
}

/* Gives the replaced arrays of a value their numbers.  It is as deep as cJSON allows: 1,000. */
static void put_back(struct parsing *parsing, cJSON *value)
{
    cJSON *child = value->child;
    bool is_replaced = cJSON_IsArray(value) && child != NULL && child->next == NULL &&
                       cJSON_IsNumber(child) && child->valuedouble < (double)parsing->count;
    struct replaced *array = is_replaced ? &parsing->arrays[(size_t)child->valuedouble] : NULL;
    if (array != NULL) {
        cJSON_Delete(cJSON_DetachItemViaPointer(value, child));
        value->valuestring = (char *)(void *)array->numbers;
        array->numbers = NULL;
        return;
    }
    for (; child != NULL; child = child->next) {
        put_back(parsing, child);
    }
}

static void free_parsing(struct parsing *parsing)
{
    for (size_t i = 0; i < parsing->count; i++) {
        cJSON_free(parsing->arrays[i].numbers);
    }
    rm_free(parsing->arrays);
    rm_free(parsing->numbers);
    rm_buffer_free(&parsing->copy);
}

/* ---- parsing --------------------------------------------------------------------------------- */

/* The offset in the text of one in the copy. */
static size_t offset_in_text(const struct parsing *parsing, size_t offset)
{
    size_t removed = 0;
    for (size_t i = 0; i < parsing->count && parsing->arrays[i].end <= offset; i++) {
        removed = parsing->arrays[i].end_of_text - parsing->arrays[i].end;
    }
    return offset + removed;
}

static resmon_status parse(struct parsing *parsing, struct rm_json **ret_value)
{
    bool is_copied = parsing->count > 0;
    const char *text = is_copied ? parsing->copy.text : parsing->text, *stop = text;
    size_t length = is_copied ? parsing->copy.length : (size_t)(parsing->end - parsing->text);
    errno = 0; /* cJSON does not return the reason of a failure; malloc() sets errno */
    cJSON *value = cJSON_ParseWithLengthOpts(text, length, &stop, 0);
    if (value == NULL && errno == ENOMEM) {
        return out_of_memory(parsing);
    }
    if (value == NULL) {
        return not_valid(
            offset_in_text(parsing, stop != NULL && stop >= text ? (size_t)(stop - text) : 0));
    }
    put_back(parsing, value);
    *ret_value = outer(value);
    return RESMON_OK;
}

resmon_status rm_json_parse(const char *text, size_t length, struct rm_json **ret_value)
{
    struct parsing parsing = {.text = text, .end = text + length};
    rm_buffer_init(&parsing.copy, SIZE_MAX);
    resmon_status status = replace_all(&parsing);
    status = status == RESMON_OK ? parse(&parsing, ret_value) : status;
    free_parsing(&parsing);
    return status;
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

/* Of an array that was replaced; NULL: any other value. */
static const struct numbers *numbers_of(const struct rm_json *array)
{
    return cJSON_IsArray(inner(array))
               ? (const struct numbers *)(const void *)inner(array)->valuestring
               : NULL;
}

size_t rm_json_count(const struct rm_json *array)
{
    const struct numbers *numbers = numbers_of(array);
    return numbers != NULL               ? numbers->count
           : cJSON_IsArray(inner(array)) ? (size_t)cJSON_GetArraySize(inner(array))
                                         : 0;
}

const double *rm_json_numbers(const struct rm_json *array, size_t *ret_count)
{
    const struct numbers *numbers = numbers_of(array);
    *ret_count = numbers != NULL ? numbers->count : 0;
    return numbers != NULL ? numbers->at : NULL;
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
