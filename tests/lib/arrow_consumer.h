/* SPDX-License-Identifier: MIT */
/*
 * An Arrow consumer that trusts nobody: what the specification promises of schemas and arrays, and
 * that they are the table of a run, by the public accessors alone.  Plain predicates with a reason,
 * for unit tests, torture and fuzz targets.
 */
#ifndef RESMON_TESTS_ARROW_CONSUMER_H
#define RESMON_TESTS_ARROW_CONSUMER_H

#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <resmon/resmon.h>

#define ARROW_TIMES 3 /* columns before the metrics */

struct arrow_verdict {
    char why[400]; /* "" : nothing to object to */
};

__attribute__((format(printf, 2, 3))) static inline bool arrow_object(struct arrow_verdict *verdict,
                                                                      const char *format, ...)
{
    va_list args;
    va_start(args, format);
    (void)vsnprintf(verdict->why, sizeof verdict->why, format, args);
    va_end(args);
    return false;
}

/* ---- metadata: int32 count, then (int32 length, bytes) of each key and value ------------------
 */

static inline int32_t arrow_number(const char **at)
{
    int32_t number;
    memcpy(&number, *at, sizeof number);
    *at += sizeof number;
    return number;
}

/* Copies the value of `key` into `ret_value`; false when there is none. */
static inline bool arrow_metadata(const char *metadata, const char *key, char *ret_value,
                                  size_t room)
{
    const char *at = metadata;
    int32_t count = at != NULL ? arrow_number(&at) : 0;
    for (int32_t i = 0; i < count; i++) {
        int32_t key_length = arrow_number(&at);
        const char *found = at;
        at += key_length;
        int32_t length = arrow_number(&at);
        if ((size_t)key_length == strlen(key) && memcmp(found, key, (size_t)key_length) == 0) {
            (void)snprintf(ret_value, room, "%.*s", (int)length, at);
            return true;
        }
        at += length;
    }
    return false;
}

static inline bool arrow_has(struct arrow_verdict *verdict, const char *metadata, const char *key,
                             const char *expected)
{
    char value[4096], wanted[4096];
    if (!arrow_metadata(metadata, key, value, sizeof value)) {
        return arrow_object(verdict, "no %s", key);
    }
    (void)snprintf(wanted, sizeof wanted, "%s", expected);
    return strcmp(value, wanted) == 0 ||
           arrow_object(verdict, "%s is '%.99s', not '%.99s'", key, value, wanted);
}

/* Facts that are not known are left out. */
static inline bool arrow_has_fact(struct arrow_verdict *verdict, const char *metadata,
                                  const char *key, const char *fact)
{
    char value[2];
    if (fact != NULL && fact[0] != '\0') {
        return arrow_has(verdict, metadata, key, fact);
    }
    return !arrow_metadata(metadata, key, value, sizeof value) ||
           arrow_object(verdict, "%s is not known, but there", key);
}

/* ---- schemas ----------------------------------------------------------------------------------
 */

static inline int32_t arrow_meant(const resmon_column *column, int32_t series)
{
    int32_t value = column->kind == RESMON_COUNTER ? RESMON_SERIES_LAST : RESMON_SERIES_MEAN;
    return series == RESMON_SERIES_VALUE ? value : series;
}

static inline bool arrow_check_field(struct arrow_verdict *verdict, const struct ArrowSchema *field,
                                     const resmon_run *run, size_t index, int32_t series)
{
    static const char *const names[] = {"last", "min", "max", "mean"};
    char name[4096], unit[4096];
    resmon_column column = {.struct_size = sizeof column};
    if (resmon_run_get_column(run, index, &column) != RESMON_OK) {
        return arrow_object(verdict, "more fields than columns");
    }
    int32_t meant = arrow_meant(&column, series);
    bool is_counter = column.kind == RESMON_COUNTER;
    bool has_instance = column.instance[0] != '\0';
    int length = snprintf(name, sizeof name, "%s%s%s%s", column.metric, has_instance ? "[" : "",
                          column.instance, has_instance ? "]" : "");
    (void)snprintf(unit, sizeof unit, "%s%s", column.unit,
                   is_counter && meant != RESMON_SERIES_LAST ? "/s" : "");
    if ((size_t)length < sizeof name && strncmp(field->name, name, (size_t)length) != 0) {
        return arrow_object(verdict, "field %zu is called '%.99s', not '%.99s'", index, field->name,
                            name);
    }
    if (strcmp(field->format, "g") != 0 || field->flags != ARROW_FLAG_NULLABLE) {
        return arrow_object(verdict, "%.99s: format %s, flags %lld", field->name, field->format,
                            (long long)field->flags);
    }
    return arrow_has(verdict, field->metadata, "resmon.metric", column.metric) &&
           arrow_has(verdict, field->metadata, "resmon.instance", column.instance) &&
           arrow_has(verdict, field->metadata, "resmon.unit", unit) &&
           arrow_has(verdict, field->metadata, "resmon.kind", is_counter ? "counter" : "gauge") &&
           arrow_has(verdict, field->metadata, "resmon.series", names[meant]);
}

static inline bool arrow_check_fields(struct arrow_verdict *verdict,
                                      const struct ArrowSchema *schema, const resmon_run *run,
                                      int32_t series)
{
    static const char *const times[ARROW_TIMES][2] = {
        {"time", "tsn:UTC"}, {"elapsed", "tDn"}, {"samples", "L"}};
    for (int64_t i = 0; i < schema->n_children; i++) {
        const struct ArrowSchema *field = schema->children[i];
        if (field->release == NULL || field->private_data == NULL || field->n_children != 0 ||
            field->children != NULL || field->dictionary != NULL || field->name == NULL) {
            return arrow_object(verdict, "field %lld is malformed", (long long)i);
        }
        if (i < ARROW_TIMES &&
            (strcmp(field->name, times[i][0]) != 0 || strcmp(field->format, times[i][1]) != 0 ||
             field->flags != 0 || field->metadata != NULL)) {
            return arrow_object(verdict, "field %lld is %s, %s", (long long)i, field->name,
                                field->format);
        }
        if (i >= ARROW_TIMES &&
            !arrow_check_field(verdict, field, run, (size_t)i - ARROW_TIMES, series)) {
            return false;
        }
    }
    return true;
}

static inline bool arrow_check_schema(struct arrow_verdict *verdict,
                                      const struct ArrowSchema *schema, const resmon_run *run,
                                      int32_t series)
{
    resmon_run_info info = {.struct_size = sizeof info};
    char start[32];
    const char *name = resmon_run_fact(run, "run", "name");
    const char *host = resmon_run_fact(run, "machine", "host_name");
    (void)resmon_run_get_info(run, &info);
    (void)snprintf(start, sizeof start, "%lld", (long long)info.start_realtime_ns);
    if (schema->release == NULL || strcmp(schema->format, "+s") != 0 || schema->flags != 0 ||
        schema->dictionary != NULL ||
        schema->n_children != (int64_t)resmon_run_column_count(run) + ARROW_TIMES) {
        return arrow_object(verdict, "the schema is malformed");
    }
    return arrow_has(verdict, schema->metadata, "resmon.start_realtime_ns", start) &&
           arrow_has_fact(verdict, schema->metadata, "resmon.name", name) &&
           arrow_has_fact(verdict, schema->metadata, "resmon.host_name", host) &&
           arrow_check_fields(verdict, schema, run, series);
}

/* ---- arrays -----------------------------------------------------------------------------------
 */

static inline bool arrow_is_valid(const struct ArrowArray *values, size_t row)
{
    const uint8_t *bits = values->buffers[0];
    return bits == NULL || (bits[row / 8] >> (row % 8) & 1) != 0;
}

/* Bits and nulls are the NaNs of the values, and no bitmap is there for nothing. */
static inline bool arrow_check_nulls(struct arrow_verdict *verdict, const struct ArrowArray *values,
                                     const double *expected)
{
    int64_t nulls = 0;
    for (size_t row = 0; row < (size_t)values->length; row++) {
        bool is_valid = arrow_is_valid(values, row);
        nulls += is_valid ? 0 : 1;
        if (expected != NULL && is_valid == isnan(expected[row])) {
            return arrow_object(verdict, "row %zu of %g is %s", row, expected[row],
                                is_valid ? "valid" : "null");
        }
    }
    if (nulls != values->null_count || (nulls == 0) != (values->buffers[0] == NULL)) {
        return arrow_object(verdict, "%lld nulls, null_count %lld, bitmap %p", (long long)nulls,
                            (long long)values->null_count, values->buffers[0]);
    }
    return true;
}

static inline bool arrow_check_times(struct arrow_verdict *verdict, const int64_t *times,
                                     const resmon_run *run)
{
    resmon_run_info info = {.struct_size = sizeof info};
    (void)resmon_run_get_info(run, &info);
    for (size_t row = 0; row < resmon_run_row_count(run); row++) {
        int64_t sum, last = resmon_run_row_last_ns(run)[row];
        bool is_over = __builtin_add_overflow(info.start_realtime_ns, last, &sum);
        int64_t expected = !is_over ? sum : last > 0 ? INT64_MAX : INT64_MIN;
        if (times[row] != expected) {
            return arrow_object(verdict, "time %lld in row %zu, not %lld", (long long)times[row],
                                row, (long long)expected);
        }
    }
    return true;
}

static inline bool arrow_check_values(struct arrow_verdict *verdict,
                                      const struct ArrowArray *values, const resmon_run *run,
                                      size_t index, int32_t series)
{
    size_t rows = resmon_run_row_count(run);
    if (values->release == NULL || values->length != (int64_t)rows || values->offset != 0 ||
        values->n_buffers != 2 || values->n_children != 0 || values->children != NULL ||
        values->dictionary != NULL || (uintptr_t)values->buffers[1] % 8 != 0 ||
        (uintptr_t)values->buffers[0] % 8 != 0) {
        return arrow_object(verdict, "column %zu is malformed", index);
    }
    const double *numbers =
        index >= ARROW_TIMES ? resmon_run_series(run, index - ARROW_TIMES, series) : NULL;
    const void *expected = index == 0   ? values->buffers[1]
                           : index == 1 ? (const void *)resmon_run_row_last_ns(run)
                           : index == 2 ? (const void *)resmon_run_row_samples(run)
                                        : (const void *)numbers;
    if (values->buffers[1] != expected) {
        return arrow_object(verdict, "column %zu lies at %p, not at %p", index, values->buffers[1],
                            expected);
    }
    return (index > 0 || arrow_check_times(verdict, values->buffers[1], run)) &&
           arrow_check_nulls(verdict, values, numbers);
}

static inline bool arrow_check_array(struct arrow_verdict *verdict, const struct ArrowArray *array,
                                     const resmon_run *run, int32_t series)
{
    if (array->release == NULL || array->length != (int64_t)resmon_run_row_count(run) ||
        array->null_count != 0 || array->offset != 0 || array->n_buffers != 1 ||
        array->buffers[0] != NULL || array->dictionary != NULL ||
        array->n_children != (int64_t)resmon_run_column_count(run) + ARROW_TIMES) {
        return arrow_object(verdict, "the array is malformed");
    }
    for (size_t i = 0; i < (size_t)array->n_children; i++) {
        if (!arrow_check_values(verdict, array->children[i], run, i, series)) {
            return false;
        }
    }
    return true;
}

/* ---- all of it --------------------------------------------------------------------------------
 */

/* What a stream gives, taken from it. */
struct arrow_taken {
    struct ArrowSchema schema;
    struct ArrowArray array; /* released: the stream has none */
};

static inline void arrow_give_back(struct arrow_taken *taken)
{
    if (taken->schema.release != NULL) {
        taken->schema.release(&taken->schema);
    }
    if (taken->array.release != NULL) {
        taken->array.release(&taken->array);
    }
}

/* Takes all that the stream has, but does not release it. */
static inline bool arrow_take(struct arrow_verdict *verdict, struct ArrowArrayStream *stream,
                              struct arrow_taken *taken)
{
    struct ArrowArray more;
    memset(taken, 0, sizeof *taken);
    memset(&more, 0x55, sizeof more);
    if (stream->get_schema(stream, &taken->schema) != 0 ||
        stream->get_next(stream, &taken->array) != 0 || stream->get_next(stream, &more) != 0) {
        arrow_give_back(taken);
        const char *text = stream->get_last_error(stream);
        return arrow_object(verdict, "the stream says %s", text != NULL ? text : "nothing");
    }
    return more.release == NULL || arrow_object(verdict, "the stream does not end");
}

/* Exports the run, looks at everything, and gives everything back. */
static inline bool arrow_check_run(struct arrow_verdict *verdict, const resmon_run *run,
                                   int32_t series)
{
    struct ArrowArrayStream stream;
    struct arrow_taken taken;
    verdict->why[0] = '\0';
    resmon_status status = resmon_run_export_arrow(run, series, &stream);
    if (status != RESMON_OK) {
        return arrow_object(verdict, "%s: %s", resmon_status_name(status), resmon_last_error());
    }
    bool is_good = arrow_take(verdict, &stream, &taken);
    stream.release(&stream);
    if (!is_good) {
        return stream.release == NULL && false;
    }
    bool has_array = taken.array.release != NULL;
    is_good = arrow_check_schema(verdict, &taken.schema, run, series) &&
              (has_array == (resmon_run_row_count(run) > 0) ||
               arrow_object(verdict, "rows and arrays do not agree")) &&
              (!has_array || arrow_check_array(verdict, &taken.array, run, series));
    arrow_give_back(&taken);
    return is_good && (taken.schema.release == NULL && taken.array.release == NULL);
}

#endif
