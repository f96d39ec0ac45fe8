/* SPDX-License-Identifier: MIT */
#include "format/json_writer.h"

void rm_json_start(struct rm_json_writer *writer, const struct rm_output *output)
{
    writer->has_before = false;
    writer->wants_line = false;
    rm_pen_start(&writer->pen, output);
}

resmon_status rm_json_finish(struct rm_json_writer *writer)
{
    rm_pen_add(&writer->pen, "\n", 1);
    return rm_pen_finish(&writer->pen);
}

/* The comma before a value, and its key. */
static void begin(struct rm_json_writer *writer, const char *key)
{
    if (writer->has_before) {
        rm_pen_puts(&writer->pen, ",");
    }
    if (writer->wants_line) {
        rm_pen_puts(&writer->pen, "\n");
    }
    writer->has_before = true;
    writer->wants_line = false;
    if (key != NULL) {
        rm_pen_json(&writer->pen, key);
        rm_pen_puts(&writer->pen, ":");
    }
}

static void open_with(struct rm_json_writer *writer, const char *key, const char *bracket)
{
    begin(writer, key);
    rm_pen_puts(&writer->pen, bracket);
    writer->has_before = false;
}

static void close_with(struct rm_json_writer *writer, const char *bracket)
{
    rm_pen_puts(&writer->pen, bracket);
    writer->has_before = true;
    writer->wants_line = false;
}

void rm_json_open_object(struct rm_json_writer *writer, const char *key)
{
    open_with(writer, key, "{");
}

void rm_json_close_object(struct rm_json_writer *writer)
{
    close_with(writer, "}");
}

void rm_json_open_array(struct rm_json_writer *writer, const char *key)
{
    open_with(writer, key, "[");
}

void rm_json_close_array(struct rm_json_writer *writer)
{
    close_with(writer, "]");
}

void rm_json_put_text(struct rm_json_writer *writer, const char *key, const char *text)
{
    begin(writer, key);
    rm_pen_json(&writer->pen, text != NULL ? text : "");
}

void rm_json_put_double(struct rm_json_writer *writer, const char *key, double number)
{
    begin(writer, key);
    if (rm_pen_double(&writer->pen, number) == 0) {
        rm_pen_puts(&writer->pen, "null");
    }
}

void rm_json_put_u64(struct rm_json_writer *writer, const char *key, uint64_t number)
{
    begin(writer, key);
    rm_pen_u64(&writer->pen, number);
}

void rm_json_put_i64(struct rm_json_writer *writer, const char *key, int64_t number)
{
    begin(writer, key);
    rm_pen_i64(&writer->pen, number);
}

void rm_json_put_fixed(struct rm_json_writer *writer, const char *key, int64_t number, int places)
{
    begin(writer, key);
    rm_pen_fixed(&writer->pen, number, places);
}

void rm_json_put_null(struct rm_json_writer *writer, const char *key)
{
    begin(writer, key);
    rm_pen_puts(&writer->pen, "null");
}

void rm_json_break(struct rm_json_writer *writer)
{
    writer->wants_line = true;
}
