/* SPDX-License-Identifier: MIT */
#include "export/arrow.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buffer.h"
#include "base/compiler.h"
#include "base/map.h"
#include "base/number.h"
#include "base/status.h"

/* ---- tables ---------------------------------------------------------------------------------- */

struct rm_arrow_column {
    const char *name, *format, *metadata;
    int64_t flags;
    int64_t null_count;
    const void *buffers[2]; /* validity, values */
};

struct rm_arrow_table {
    size_t references; /* atomic */
    struct resmon_run *run;
    struct rm_arena memory;
    struct rm_intern names; /* of columns: each is unique */
    struct rm_arrow_column *columns;
    size_t count;
    const char *metadata;
};

/* The columns, in this order. */
enum { TIME, ELAPSED, SAMPLES, FIRST_METRIC };

struct making {
    struct rm_arrow_table *table;
    struct rm_buffer text; /* a name, or a list of metadata */
    int32_t series;
};

static resmon_status out_of_memory(void)
{
    return rm_error(RESMON_ENOMEM, "out of memory for the table of a run");
}

/* A copy of the text that lives as long as the table; NULL: no memory. */
static const char *keep_text(struct making *making)
{
    const struct rm_buffer *text = &making->text;
    char *copy = text->status == RESMON_OK
                     ? rm_arena_alloc(&making->table->memory, text->length + 1, 1)
                     : NULL;
    if (copy != NULL) {
        memcpy(copy, text->text, text->length);
    }
    return copy;
}

static resmon_status not_kept(const struct making *making)
{
    return making->text.status != RESMON_OK ? making->text.status : out_of_memory();
}

/* ---- names ------------------------------------------------------------------------------ */

/* A copy of the name that lives as long as the table.  NULL: another column has this name, or there
 * is no memory. */
static const char *take_name(struct making *making, const char *name)
{
    struct rm_intern *names = &making->table->names;
    const uint32_t fresh = names->count;
    bool is_fresh = rm_intern_text(names, name) == fresh && !names->is_broken;
    return is_fresh ? names->keys[fresh].bytes : NULL;
}

/* Consumers expect unique names, and a hostile document may repeat a name. */
static const char *name_of(struct making *making, size_t index)
{
    const struct rm_column_name name = rm_run_column_name(&making->table->run->columns[index]);
    struct rm_buffer *text = &making->text;
    rm_buffer_clear(text);
    for (size_t i = 0; i < RM_ARRAY_LEN(name.parts); i++) {
        rm_buffer_puts(text, name.parts[i]);
    }
    const char *taken = text->status == RESMON_OK ? take_name(making, text->text) : NULL;
    while (taken == NULL && text->status == RESMON_OK && !making->table->names.is_broken) {
        rm_buffer_printf(text, "#%zu", index);
        taken = take_name(making, text->text);
    }
    return taken;
}

/* ---- metadata --------------------------------------------------------------------------- */

/* Arrow's format: the number of pairs, then the length and the bytes of each key and value. */
static void put_number(struct rm_buffer *text, size_t number)
{
    char bytes[sizeof(int32_t)];
    const int32_t narrow = (int32_t)number; /* no overflow: the bound of the text is INT32_MAX */
    memcpy(bytes, &narrow, sizeof narrow);
    rm_buffer_add(text, bytes, sizeof bytes);
}

static void put_pair(struct rm_buffer *text, const char *key, const char *value, const char *more)
{
    put_number(text, strlen(key));
    rm_buffer_puts(text, key);
    put_number(text, strlen(value) + strlen(more));
    rm_buffer_puts(text, value);
    rm_buffer_puts(text, more);
}

static const char *column_metadata(struct making *making, const resmon_column *column)
{
    const int32_t series = rm_run_series_meant(column, making->series);
    const bool is_counter = column->kind == RESMON_COUNTER;
    const bool is_rate = is_counter && series != RESMON_SERIES_LAST;
    const char *const pairs[][3] = {
        {"resmon.metric", column->metric, ""},
        {"resmon.instance", column->instance, ""},
        {"resmon.unit", column->unit, is_rate ? "/s" : ""},
        {"resmon.kind", is_counter ? "counter" : "gauge", ""},
        {"resmon.series", rm_series_names[series], ""},
    };
    rm_buffer_clear(&making->text);
    put_number(&making->text, RM_ARRAY_LEN(pairs));
    for (size_t i = 0; i < RM_ARRAY_LEN(pairs); i++) {
        put_pair(&making->text, pairs[i][0], pairs[i][1], pairs[i][2]);
    }
    return keep_text(making);
}

static const char *table_metadata(struct making *making)
{
    static const struct {
        const char *key, *group, *fact;
    } facts[] = {{"resmon.name", "run", "name"}, {"resmon.host_name", "machine", "host_name"}};
    const char *known[RM_ARRAY_LEN(facts)];
    const struct resmon_run *run = making->table->run;
    char start[RM_NUMBER_BYTES];
    size_t count = 1;
    for (size_t i = 0; i < RM_ARRAY_LEN(facts); i++) {
        const char *fact = rm_run_fact_text(run, facts[i].group, facts[i].fact);
        known[i] = fact[0] != '\0' ? fact : NULL;
        count += known[i] != NULL ? 1 : 0;
    }
    (void)rm_number_i64(start, run->info.start_realtime_ns);
    rm_buffer_clear(&making->text);
    put_number(&making->text, count);
    put_pair(&making->text, "resmon.start_realtime_ns", start, "");
    for (size_t i = 0; i < RM_ARRAY_LEN(facts); i++) {
        if (known[i] != NULL) {
            put_pair(&making->text, facts[i].key, known[i], "");
        }
    }
    return keep_text(making);
}

/* ---- columns ---------------------------------------------------------------------------- */

/* Adds a validity bitmap to a column that contains NaN. */
static resmon_status add_validity(struct rm_arrow_table *table, struct rm_arrow_column *column,
                                  const double *values)
{
    const size_t rows = table->run->row_count;
    size_t missing = 0;
    for (size_t i = 0; i < rows; i++) {
        missing += isnan(values[i]) ? 1 : 0;
    }
    if (missing == 0) {
        return RESMON_OK;
    }
    uint8_t *bits = rm_arena_alloc(&table->memory, rows / 64 + 1, sizeof(uint64_t));
    if (bits == NULL) {
        return out_of_memory();
    }
    for (size_t i = 0; i < rows; i++) {
        unsigned bit = isnan(values[i]) ? 0U : 1U << (i % 8);
        bits[i / 8] = (uint8_t)(bits[i / 8] | bit);
    }
    column->null_count = (int64_t)missing;
    column->buffers[0] = bits;
    return RESMON_OK;
}

static resmon_status add_metric(struct making *making, size_t index,
                                struct rm_arrow_column *ret_column)
{
    struct rm_arrow_table *table = making->table;
    const resmon_column *column = &table->run->columns[index];
    ret_column->format = "g";
    ret_column->flags = ARROW_FLAG_NULLABLE;
    ret_column->name = name_of(making, index);
    ret_column->metadata = ret_column->name != NULL ? column_metadata(making, column) : NULL;
    if (ret_column->metadata == NULL) {
        return not_kept(making);
    }
    if (table->run->row_count == 0) {
        return RESMON_OK;
    }
    const double *values =
        rm_run_series(table->run, index, rm_run_series_meant(column, making->series));
    ret_column->buffers[1] = values;
    return add_validity(table, ret_column, values);
}

static resmon_status add_times(struct making *making)
{
    struct rm_arrow_table *table = making->table;
    const struct resmon_run *run = table->run;
    int64_t *times = rm_arena_alloc(&table->memory, run->row_count, sizeof *times);
    if (times == NULL) {
        return out_of_memory();
    }
    for (size_t i = 0; i < run->row_count; i++) {
        times[i] = rm_run_realtime_ns(run, run->t_last[i]);
    }
    table->columns[TIME] =
        (struct rm_arrow_column){.name = "time", .format = "tsn:UTC", .buffers = {NULL, times}};
    table->columns[ELAPSED] = (struct rm_arrow_column){
        .name = "elapsed", .format = "tDn", .buffers = {NULL, run->t_last}};
    table->columns[SAMPLES] = (struct rm_arrow_column){
        .name = "samples", .format = "L", .buffers = {NULL, run->row_samples}};
    for (size_t i = 0; i < FIRST_METRIC; i++) {
        if (take_name(making, table->columns[i].name) == NULL) {
            return out_of_memory();
        }
    }
    return RESMON_OK;
}

static resmon_status fill(struct making *making)
{
    struct rm_arrow_table *table = making->table;
    const size_t metrics = table->run->column_count;
    table->count = FIRST_METRIC + metrics;
    table->columns = rm_arena_alloc(&table->memory, table->count, sizeof *table->columns);
    if (table->columns == NULL) {
        return out_of_memory();
    }
    resmon_status status = add_times(making);
    for (size_t i = 0; i < metrics && status == RESMON_OK; i++) {
        status = add_metric(making, i, &table->columns[FIRST_METRIC + i]);
    }
    if (status == RESMON_OK) {
        table->metadata = table_metadata(making);
        status = table->metadata != NULL ? RESMON_OK : not_kept(making);
    }
    return status;
}

/* Increments the reference count.  rm_arrow_table_free() decrements it. */
static struct rm_arrow_table *rm_arrow_table_ref(struct rm_arrow_table *table)
{
    (void)__atomic_add_fetch(&table->references, 1, __ATOMIC_RELAXED);
    return table;
}

/* Decrements the reference count; the last reference frees the table.  NULL is ignored. */
static void rm_arrow_table_free(struct rm_arrow_table *table)
{
    if (table == NULL || __atomic_sub_fetch(&table->references, 1, __ATOMIC_ACQ_REL) > 0) {
        return;
    }
    rm_run_free(table->run);
    rm_intern_free(&table->names);
    rm_arena_free(&table->memory);
    rm_free(table);
}

/* Takes a reference to `run`.  RESMON_ENOMEM.  `series` is one of RESMON_SERIES_*. */
static resmon_status rm_arrow_table_new(const struct resmon_run *run, int32_t series,
                                        struct rm_arrow_table **ret_table)
{
    struct making making = {.series = series, .table = rm_alloc(1, sizeof *making.table)};
    if (making.table == NULL) {
        return out_of_memory();
    }
    making.table->references = 1;
    making.table->run = rm_run_ref(run);
    rm_buffer_init(&making.text, INT32_MAX);
    resmon_status status = fill(&making);
    rm_buffer_free(&making.text);
    if (status != RESMON_OK) {
        rm_arrow_table_free(making.table);
        return status;
    }
    *ret_table = making.table;
    return RESMON_OK;
}

/* ---- streams --------------------------------------------------------------------------------- */

/* The private data of a stream.  One thread at a time uses a stream. */
struct source {
    struct rm_arrow_table *table;
    bool is_taken;
    const char *error;
};

/* ---- schemas ---------------------------------------------------------------------------- */

/* The children of one schema (in struct arrays: of one array).  They are in one allocation, but
 * each child is released separately. */
struct schemas {
    struct rm_arrow_table *table;
    struct ArrowSchema **pointers;
    struct ArrowSchema items[];
};

static void release_field(struct ArrowSchema *field)
{
    field->release = NULL;
    rm_arrow_table_free(field->private_data);
}

static void release_schema(struct ArrowSchema *schema)
{
    struct schemas *children = schema->private_data;
    struct rm_arrow_table *table = children->table;
    for (size_t i = 0; i < table->count; i++) {
        if (children->items[i].release != NULL) { /* else the consumer moved it */
            children->items[i].release(&children->items[i]);
        }
    }
    schema->release = NULL;
    rm_free(children);
    rm_arrow_table_free(table);
}

static struct ArrowSchema field_of(struct rm_arrow_table *table, size_t index)
{
    const struct rm_arrow_column *column = &table->columns[index];
    return (struct ArrowSchema){
        .format = column->format,
        .name = column->name,
        .metadata = column->metadata,
        .flags = column->flags,
        .release = release_field,
        .private_data = rm_arrow_table_ref(table),
    };
}

static int get_schema(struct ArrowArrayStream *stream, struct ArrowSchema *ret_schema)
{
    struct source *source = stream->private_data;
    struct rm_arrow_table *table = source->table;
    struct schemas *children = rm_alloc(table->count + 1, sizeof *children->items + sizeof(void *));
    if (children == NULL) {
        source->error = "out of memory for the schema of a run";
        return ENOMEM;
    }
    children->table = rm_arrow_table_ref(table);
    children->pointers = (struct ArrowSchema **)(void *)(children->items + table->count);
    for (size_t i = 0; i < table->count; i++) {
        children->items[i] = field_of(table, i);
        children->pointers[i] = &children->items[i];
    }
    *ret_schema = (struct ArrowSchema){
        .format = "+s",
        .name = "",
        .metadata = table->metadata,
        .n_children = (int64_t)table->count,
        .children = children->pointers,
        .release = release_schema,
        .private_data = children,
    };
    source->error = NULL;
    return 0;
}

/* ---- arrays ----------------------------------------------------------------------------- */

struct arrays {
    struct rm_arrow_table *table;
    const void *no_validity; /* the buffers of the struct array */
    struct ArrowArray **pointers;
    struct ArrowArray items[];
};

static void release_values(struct ArrowArray *values)
{
    values->release = NULL;
    rm_arrow_table_free(values->private_data);
}

static void release_array(struct ArrowArray *array)
{
    struct arrays *children = array->private_data;
    struct rm_arrow_table *table = children->table;
    for (size_t i = 0; i < table->count; i++) {
        if (children->items[i].release != NULL) {
            children->items[i].release(&children->items[i]);
        }
    }
    array->release = NULL;
    rm_free(children);
    rm_arrow_table_free(table);
}

static struct ArrowArray values_of(struct rm_arrow_table *table, size_t index)
{
    struct rm_arrow_column *column = &table->columns[index];
    return (struct ArrowArray){
        .length = (int64_t)table->run->row_count,
        .null_count = column->null_count,
        .n_buffers = RM_ARRAY_LEN(column->buffers),
        .buffers = column->buffers,
        .release = release_values,
        .private_data = rm_arrow_table_ref(table),
    };
}

static int get_next(struct ArrowArrayStream *stream, struct ArrowArray *ret_array)
{
    struct source *source = stream->private_data;
    struct rm_arrow_table *table = source->table;
    if (source->is_taken || table->run->row_count == 0) {
        *ret_array = (struct ArrowArray){0}; /* a released array marks the end of the stream */
        source->error = NULL;
        return 0;
    }
    struct arrays *children = rm_alloc(table->count + 1, sizeof *children->items + sizeof(void *));
    if (children == NULL) {
        source->error = "out of memory for the table of a run";
        return ENOMEM;
    }
    children->table = rm_arrow_table_ref(table);
    children->pointers = (struct ArrowArray **)(void *)(children->items + table->count);
    for (size_t i = 0; i < table->count; i++) {
        children->items[i] = values_of(table, i);
        children->pointers[i] = &children->items[i];
    }
    *ret_array = (struct ArrowArray){
        .length = (int64_t)table->run->row_count,
        .n_buffers = 1,
        .n_children = (int64_t)table->count,
        .buffers = &children->no_validity,
        .children = children->pointers,
        .release = release_array,
        .private_data = children,
    };
    source->is_taken = true;
    source->error = NULL;
    return 0;
}

/* ---- the stream ------------------------------------------------------------------------- */

static const char *get_last_error(struct ArrowArrayStream *stream)
{
    return ((const struct source *)stream->private_data)->error;
}

static void release_stream(struct ArrowArrayStream *stream)
{
    struct source *source = stream->private_data;
    stream->release = NULL;
    rm_arrow_table_free(source->table);
    rm_free(source);
}

resmon_status rm_arrow_export(const struct resmon_run *run, int32_t series,
                              struct ArrowArrayStream *ret_stream)
{
    struct source *source = rm_alloc(1, sizeof *source);
    if (source == NULL) {
        return rm_error(RESMON_ENOMEM, "out of memory for the stream of a run");
    }
    resmon_status status = rm_arrow_table_new(run, series, &source->table);
    if (status != RESMON_OK) {
        rm_free(source);
        return status;
    }
    *ret_stream = (struct ArrowArrayStream){
        .get_schema = get_schema,
        .get_next = get_next,
        .get_last_error = get_last_error,
        .release = release_stream,
        .private_data = source,
    };
    return RESMON_OK;
}
