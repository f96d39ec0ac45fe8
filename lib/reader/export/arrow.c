/* SPDX-License-Identifier: MIT */
/*
 * The stream holds the table, and so does every schema, array and child: consumers move them about
 * as plain bytes and release them in any order, so none may rely on where it lies, nor on its
 * parent.
 */
#include "export/arrow.h"

#include <errno.h>
#include <stdbool.h>

#include "base/alloc.h"
#include "base/compiler.h"
#include "base/status.h"
#include "export/arrow_table.h"

/* Behind a stream, which is for one thread at a time. */
struct source {
    struct rm_arrow_table *table;
    bool is_taken;
    const char *error;
};

/* ---- schemas ---------------------------------------------------------------------------- */

/* The children of one schema or array: they lie with it, but each is released by itself. */
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
        if (children->items[i].release != NULL) { /* else it was moved away */
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
    const void *no_validity; /* the buffers of the struct */
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
        *ret_array = (struct ArrowArray){0}; /* released: the end */
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
