/* SPDX-License-Identifier: MIT */
#include "view/renderers.h"

#include <math.h>

#include <resmon/report.h>

#include "base/compiler.h"
#include "format/json_writer.h"
#include "view/charts.h"

#define POINTS_OF_ALL 300 /* of a line in a chart of several runs */

/* A JSON document while it is written. */
struct data {
    struct rm_report *view;
    struct rm_json_writer json;
};

static void put_texts(struct rm_json_writer *json, const char *key, const char *const *texts,
                      size_t count)
{
    rm_json_open_array(json, key);
    for (size_t i = 0; i < count; i++) {
        rm_json_put_text(json, NULL, texts[i]);
    }
    rm_json_close_array(json);
}

/* ---- tiles and rows --------------------------------------------------------------------- */

static void put_tile(struct rm_json_writer *json, const char *label, const char *value,
                     const char *small)
{
    const char *texts[] = {label, value, small};
    put_texts(json, NULL, texts, RM_ARRAY_LEN(texts));
}

static void put_tiles(struct data *data, const struct rm_page_tiles *tiles)
{
    for (size_t i = 0; i < tiles->count; i++) {
        put_tile(&data->json, tiles->items[i].label, tiles->items[i].value, tiles->items[i].small);
    }
}

static void put_answers(struct data *data, const struct rm_page_rows *rows)
{
    for (size_t i = 0; i < rows->count; i++) {
        const struct rm_page_row *row = &rows->items[i];
        put_tile(&data->json, row->label, row->value,
                 rm_page_join(data->view->page, "; ", row->clauses, row->count));
    }
}

/* ---- tables ----------------------------------------------------------------------------- */

/* A text; a cell with a reason or a bar is an object. */
static void put_cell(struct data *data, const struct rm_page_cell *cell)
{
    struct rm_json_writer *json = &data->json;
    const char *text = cell->text;
    for (uint32_t i = 0; i < cell->depth; i++) {
        text = rm_page_print(data->view->page, "\xe2\x80\x83%s", text);
    }
    if (cell->marks != NULL && cell->marks[0] != '\0') {
        text = rm_page_print(data->view->page, "%s%s", text, cell->marks);
    }
    if (cell->reason == NULL && cell->share < 0.0) {
        rm_json_put_text(json, NULL, text);
        return;
    }
    rm_json_open_object(json, NULL);
    rm_json_put_text(json, "text", text);
    if (cell->reason != NULL) {
        rm_json_put_text(json, "reason", cell->reason);
    } else {
        rm_json_put_double(json, "share", cell->share);
        rm_json_put_double(json, "inner", cell->inner);
    }
    rm_json_close_object(json);
}

/* The visible columns: titles, the number of text columns from the left, and the indexes of columns
 * with long text. */
static void put_columns(struct rm_json_writer *json, const struct rm_page_table *table)
{
    size_t left = 0, at = 0;
    rm_json_open_array(json, "headers");
    for (size_t i = 0; i < table->column_count; i++) {
        if (table->columns[i].title != NULL) {
            rm_json_put_text(json, NULL, table->columns[i].title);
            left += left == at && (table->columns[i].is_left || table->columns[i].is_wide) ? 1 : 0;
            at++;
        }
    }
    rm_json_close_array(json);
    rm_json_put_u64(json, "left", left);
    rm_json_open_array(json, "wide");
    at = 0;
    for (size_t i = 0; i < table->column_count; i++) {
        const struct rm_page_column *column = &table->columns[i];
        if (column->title != NULL) {
            if (column->is_wide || (column->is_left && at >= left)) {
                rm_json_put_u64(json, NULL, at);
            }
            at++;
        }
    }
    rm_json_close_array(json);
}

static void put_table(struct data *data, const struct rm_page_table *table)
{
    struct rm_json_writer *json = &data->json;
    rm_json_open_object(json, NULL);
    rm_json_put_text(json, "key", table->key);
    rm_json_put_text(json, "title", table->title);
    put_columns(json, table);
    rm_json_open_array(json, "notes");
    if (table->lead[0] != '\0') {
        rm_json_put_text(json, NULL, table->lead);
    }
    for (size_t i = 0; i < table->note_count; i++) {
        rm_json_put_text(json, NULL, table->notes[i]);
    }
    rm_json_close_array(json);
    rm_json_open_array(json, "rows");
    for (size_t row = 0; row < table->count; row++) {
        rm_json_open_array(json, NULL);
        for (size_t column = 0; column < table->column_count; column++) {
            if (table->columns[column].title != NULL) {
                put_cell(data, &rm_page_cells(table, row)[column]);
            }
        }
        rm_json_close_array(json);
    }
    rm_json_close_array(json);
    rm_json_close_object(json);
}

/* ---- charts ----------------------------------------------------------------------------- */

static void put_numbers(struct rm_json_writer *json, const char *key, const double *values,
                        size_t count)
{
    if (values == NULL) {
        rm_json_put_null(json, key);
        return;
    }
    rm_json_open_array(json, key);
    for (size_t i = 0; i < count; i++) {
        rm_json_put_double(json, NULL, values[i]);
    }
    rm_json_close_array(json);
}

static void put_line(struct rm_json_writer *json, const struct rm_chart_line *line)
{
    const struct rm_points *points = &line->points;
    rm_json_open_object(json, NULL);
    rm_json_put_text(json, "key", line->key);
    rm_json_put_text(json, "label", line->label);
    rm_json_put_i64(json, "colour", line->colour);
    rm_json_put_u64(json, "is_level", line->is_level ? 1 : 0);
    rm_json_put_text(json, "said", line->summary);
    rm_json_put_u64(json, "run", line->run);
    rm_json_put_double(json, "top", rm_points_top(points));
    put_numbers(json, "times", points->times, points->count);
    put_numbers(json, "mean", points->mean, points->count);
    put_numbers(json, "low", points->low, points->count);
    put_numbers(json, "high", points->high, points->count);
    rm_json_close_object(json);
}

static void put_charts(struct data *data, const struct rm_charts *charts)
{
    struct rm_json_writer *json = &data->json;
    rm_json_open_array(json, "charts");
    for (size_t i = 0; i < charts->count; i++) {
        const struct rm_chart *chart = charts->items[i];
        rm_json_open_object(json, NULL);
        rm_json_put_text(json, "key", chart->key);
        rm_json_put_text(json, "title", chart->title);
        rm_json_put_text(json, "unit", chart->unit);
        rm_json_put_text(json, "note", chart->note);
        rm_json_put_text(json, "missing", chart->missing);
        rm_json_put_u64(json, "has_points", rm_chart_has_points(chart) ? 1 : 0);
        rm_json_open_array(json, "lines");
        for (size_t l = 0; l < chart->count; l++) {
            put_line(json, chart->lines[l]);
        }
        rm_json_close_array(json);
        rm_json_close_object(json);
    }
    rm_json_close_array(json);
}

static void put_run_charts(struct data *data, struct rm_subject *subject)
{
    const struct resmon_run *run = subject->run;
    const struct rm_charts charts = rm_charts_of_run(subject);
    put_charts(data, &charts);
    put_texts(&data->json, "quiet", subject->quiet, subject->quiet_count);
    rm_json_open_array(&data->json, "tags");
    for (size_t i = 0; i < run->tag_count; i++) {
        rm_json_open_array(&data->json, NULL);
        rm_json_put_double(&data->json, NULL, (double)run->tags[i].t_ns / 1e9);
        rm_json_put_text(&data->json, NULL, rm_page_shown(data->view->page, run->tags[i].label));
        rm_json_close_array(&data->json);
    }
    rm_json_close_array(&data->json);
}

/* ---- runs ------------------------------------------------------------------------------- */

static void put_meta(struct data *data, const struct rm_subject *subject)
{
    const char *texts[RM_SUBJECT_META];
    size_t count = rm_subject_meta(subject, texts);
    put_texts(&data->json, "meta", texts, count);
}

/* All blocks of a kind of the current run. */
static void put_kind(struct data *data, const char *key, const struct rm_page_block *first,
                     enum rm_page_block_kind kind)
{
    rm_json_open_array(&data->json, key);
    for (const struct rm_page_block *block = first;
         block != NULL && block->kind != RM_BLOCK_RUN && block->kind != RM_BLOCK_ALL;
         block = block->next) {
        if (block->kind != kind) {
            continue;
        }
        if (kind == RM_BLOCK_TILES) {
            put_tiles(data, block->what);
        } else if (kind == RM_BLOCK_ROWS) {
            put_answers(data, block->what);
        } else {
            put_table(data, block->what);
        }
    }
    rm_json_close_array(&data->json);
}

static void put_run(struct data *data, const struct rm_page_block *run)
{
    struct rm_json_writer *json = &data->json;
    struct rm_subject *subject = &data->view->subjects[run->number];
    rm_json_open_object(json, NULL);
    rm_json_put_text(json, "label", subject->label);
    rm_json_put_double(json, "seconds", rm_subject_reach(subject->run));
    put_meta(data, subject);
    if (rm_report_wants(data->view, RESMON_PAGE_FIGURES)) {
        put_kind(data, "tiles", run->next, RM_BLOCK_TILES);
        put_kind(data, "answers", run->next, RM_BLOCK_ROWS);
    }
    if (rm_report_wants(data->view, RESMON_PAGE_CHARTS)) {
        put_run_charts(data, subject);
    }
    if (rm_report_wants(data->view, RESMON_PAGE_TABLES)) {
        put_kind(data, "tables", run->next, RM_BLOCK_TABLE);
    }
    rm_json_close_object(json);
}

/* The comparison of several runs. */
static void put_all(struct data *data, const struct rm_page_block *all)
{
    struct rm_json_writer *json = &data->json;
    struct rm_subject *subjects = data->view->subjects;
    size_t count = data->view->count;
    rm_json_open_object(json, "all");
    rm_json_put_text(json, "words", rm_names_words(data->view->page, subjects, count));
    rm_json_put_text(json, "meta", rm_names_meta(data->view->page, subjects, count));
    put_numbers(json, "offsets", rm_names_offsets(data->view->page, subjects, count), count);
    if (rm_report_wants(data->view, RESMON_PAGE_FIGURES)) {
        put_kind(data, "tiles", all->next, RM_BLOCK_TILES);
    }
    if (rm_report_wants(data->view, RESMON_PAGE_CHARTS)) {
        for (size_t i = 0; i < count; i++) {
            subjects[i].most_points = POINTS_OF_ALL;
        }
        const struct rm_charts charts = rm_charts_of_runs(subjects, count);
        put_charts(data, &charts);
    }
    if (rm_report_wants(data->view, RESMON_PAGE_TABLES)) {
        put_kind(data, "tables", all->next, RM_BLOCK_TABLE);
    }
    rm_json_close_object(json);
}

void rm_data_write(struct rm_buffer *out, struct rm_report *view)
{
    const struct rm_output output = rm_buffer_output(out);
    struct data data = {.view = view};
    const struct rm_page_block *all = NULL;
    rm_json_start(&data.json, &output);
    rm_json_open_object(&data.json, NULL);
    rm_json_put_text(&data.json, "title", view->page->title);
    rm_json_open_array(&data.json, "runs");
    for (const struct rm_page_block *block = view->page->first; block != NULL;
         block = block->next) {
        all = block->kind == RM_BLOCK_ALL ? block : all;
        if (block->kind == RM_BLOCK_RUN) {
            put_run(&data, block);
        }
    }
    rm_json_close_array(&data.json);
    if (all != NULL) {
        put_all(&data, all);
    }
    rm_json_close_object(&data.json);
    view->page->is_broken |= rm_json_finish(&data.json) != RESMON_OK;
}

/* ---- one table -------------------------------------------------------------------------- */

static void put_figure(struct rm_json_writer *json, const struct rm_page_column *column,
                       const struct rm_page_cell *cell)
{
    if (!cell->is_figure) {
        rm_json_put_text(json, column->key, cell->text);
    } else if (isfinite(cell->value)) {
        rm_json_put_double(json, column->key, cell->value);
    } else {
        rm_json_put_null(json, column->key);
    }
}

void rm_data_write_table(struct rm_buffer *out, const struct rm_page_table *table)
{
    const struct rm_output output = rm_buffer_output(out);
    struct rm_json_writer json;
    rm_json_start(&json, &output);
    rm_json_open_array(&json, NULL);
    for (size_t row = 0; table != NULL && row < table->count; row++) {
        rm_json_open_object(&json, NULL);
        for (size_t i = 0; i < table->column_count; i++) {
            put_figure(&json, &table->columns[i], &rm_page_cells(table, row)[i]);
        }
        rm_json_close_object(&json);
    }
    rm_json_close_array(&json);
    if (rm_json_finish(&json) != RESMON_OK && out->status == RESMON_OK) {
        out->status = RESMON_ENOMEM;
    }
    rm_buffer_puts(out, "\n");
}
