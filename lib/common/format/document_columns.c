/* SPDX-License-Identifier: MIT */
#include "format/document_columns.h"

#include <math.h>
#include <string.h>

#include "base/compiler.h"
#include "base/status.h"

/* ---- lists ----------------------------------------------------------------------------------- */

#define RM_COLUMN_OF(type, member, key, low, bound)                                              \
    {                                                                                            \
        key, (uint16_t)offsetof(type, member), (uint8_t)sizeof(((type *)0)->member), false, low, \
            bound                                                                                \
    }

/* ---- members ---------------------------------------------------------------------------- */

static double load(const struct rm_column_of *column, const char *at)
{
    double real;
    uint64_t number = 0;
    uint32_t word;
    uint16_t half;
    switch (column->is_real ? 0 : column->bytes) {
    case 0:
        memcpy(&real, at, sizeof real);
        return real;
    case 2:
        memcpy(&half, at, sizeof half);
        return half;
    case 4:
        memcpy(&word, at, sizeof word);
        return word;
    default:
        memcpy(&number, at, sizeof number);
        break;
    }
    return column->low < 0.0 ? (double)(int64_t)number : (double)number;
}

static void store(const struct rm_column_of *column, char *at, double value)
{
    int64_t number = (int64_t)value;
    uint32_t word = (uint32_t)number;
    uint16_t half = (uint16_t)number;
    switch (column->is_real ? 0 : column->bytes) {
    case 0:
        memcpy(at, &value, sizeof value);
        break;
    case 2:
        memcpy(at, &half, sizeof half);
        break;
    case 4:
        memcpy(at, &word, sizeof word);
        break;
    default:
        memcpy(at, &number, sizeof number);
        break;
    }
}

static bool is_within(const struct rm_column_of *column, double number)
{
    return number >= column->low && number < column->bound &&
           (column->is_real || number == floor(number));
}

/* ---- lists ------------------------------------------------------------------------------ */

void rm_column_put(struct rm_json_writer *writer, const struct rm_column_of *column,
                   struct rm_rows_of rows)
{
    const char *at = (const char *)rows.first + column->offset;
    rm_json_open_array(writer, column->key);
    for (size_t i = 0; i < rows.count; i++, at += rows.stride) {
        double number = load(column, at);
        rm_json_put_double(writer, NULL, is_within(column, number) ? number : column->low);
    }
    rm_json_close_array(writer);
}

resmon_status rm_column_read(const struct rm_json *object, const char *part,
                             const struct rm_column_of *column, struct rm_rows_of rows)
{
    const struct rm_json *array = rm_json_get(object, column->key);
    char *at = (char *)rows.first + column->offset;
    size_t count;
    const double *numbers = rm_json_numbers(array, &count);
    if (rm_json_count(array) != rows.count) {
        return rm_error(RESMON_EFORMAT, "%s%s has %zu entries instead of %zu", part, column->key,
                        rm_json_count(array), rows.count);
    }
    for (size_t i = 0; i < rows.count; i++, at += rows.stride) {
        if (i == count || !is_within(column, numbers[i])) {
            return rm_error(RESMON_EFORMAT, "%s%s[%zu] is out of range", part, column->key, i);
        }
        store(column, at, numbers[i]);
    }
    return RESMON_OK;
}

/* ---- columns of events, stacks and frames ---------------------------------------------------- */

void rm_document_event_columns(const struct resmon_run *run,
                               struct rm_column_of columns[RM_EVENT_COLUMNS])
{
    const double names = (double)run->event_name_count;
    const double threads = (double)run->thread_count;
    const struct rm_column_of all[RM_EVENT_COLUMNS] = {
        RM_COLUMN_OF(struct rm_run_event, name, "name", 0.0, names),
        RM_COLUMN_OF(struct rm_run_event, thread, "thread", 0.0, threads),
        RM_COLUMN_OF(struct rm_run_event, start_ns, "start_ns", 0.0, 0x1p54),
        RM_COLUMN_OF(struct rm_run_event, duration_ns, "duration_ns", 0.0, 0x1p54),
        RM_COLUMN_OF(struct rm_run_event, depth, "depth", 0.0, RM_MAX_DEPTH),
        RM_COLUMN_OF(struct rm_run_event, is_open, "open", 0.0, 2.0),
    };
    memcpy(columns, all, sizeof all);
}

void rm_document_stack_columns(const struct resmon_run *run,
                               struct rm_column_of columns[RM_STACK_COLUMNS])
{
    const double scopes = (double)run->scope_count;
    const struct rm_column_of all[RM_STACK_COLUMNS] = {
        RM_COLUMN_OF(struct rm_run_stack, scope, "scope", -1.0, scopes),
        RM_COLUMN_OF(struct rm_run_stack, is_cut, "cut", 0.0, 2.0),
    };
    memcpy(columns, all, sizeof all);
}

void rm_document_place_columns(size_t texts, size_t modules,
                               struct rm_column_of columns[RM_PLACE_COLUMNS])
{
    const struct rm_column_of all[RM_PLACE_COLUMNS] = {
        RM_COLUMN_OF(struct rm_place_row, function, "function", 0.0, (double)texts),
        RM_COLUMN_OF(struct rm_place_row, file, "file", 0.0, (double)texts),
        RM_COLUMN_OF(struct rm_place_row, line, "line", 0.0, 0x1p32),
        RM_COLUMN_OF(struct rm_place_row, is_inlined, "inlined", 0.0, 2.0),
        RM_COLUMN_OF(struct rm_place_row, module, "module", -1.0, (double)modules),
    };
    memcpy(columns, all, sizeof all);
}

#define WEIGHTS(member, is_real, bound)                                                   \
    {                                                                                     \
#member,                                                                          \
        {                                                                                 \
            NULL, (uint16_t)offsetof(struct rm_run_stack, member), 8, is_real, 0.0, bound \
        }                                                                                 \
    }

const struct rm_weight_column rm_document_weights[RM_WEIGHT_COLUMNS] = {
    WEIGHTS(samples, false, RM_DOCUMENT_EXACT),
    WEIGHTS(weight, true, RM_DOCUMENT_HEAVIEST),
    WEIGHTS(error, true, RM_DOCUMENT_HEAVIEST),
};
