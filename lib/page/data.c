/* SPDX-License-Identifier: MIT */
#include "page/data.h"

#include <resmon/report.h>

#include "format/json_writer.h"
#include "page/charts.h"
#include "page/counters.h"
#include "page/headline.h"
#include "page/names.h"
#include "page/profile.h"
#include "page/scopes.h"
#include "page/tables.h"

#define MOST_POINTS   600 /* of a line of one run */
#define POINTS_OF_ALL 300 /* of a line beside those of others */

/* Data that is being written. */
struct writing {
    struct rm_page *page;
    struct rm_json_writer json;
    struct rm_subject *subjects;
    size_t count;
    uint64_t parts;
};

static bool wants(const struct writing *writing, uint64_t part)
{
    return (writing->parts & part) != 0;
}

static void put_texts(struct rm_json_writer *json, const char *key, const char *const *texts,
                      size_t count)
{
    rm_json_open_array(json, key);
    for (size_t i = 0; i < count; i++) {
        rm_json_put_text(json, NULL, texts[i]);
    }
    rm_json_close_array(json);
}

/* ---- figures ---------------------------------------------------------------------------- */

static void put_tiles(struct rm_json_writer *json, const char *key,
                      const struct rm_page_tile *tiles, size_t count)
{
    rm_json_open_array(json, key);
    for (size_t i = 0; i < count; i++) {
        const char *texts[] = {tiles[i].label, tiles[i].value, tiles[i].small};
        put_texts(json, NULL, texts, RM_ARRAY_LEN(texts));
    }
    rm_json_close_array(json);
}

/* "host", "2026-11-22 01:47:03 UTC", "3 min 20 s", "stopped", and the label. */
static void put_meta(struct writing *writing, const struct rm_subject *subject)
{
    struct rm_page *page = writing->page;
    const struct resmon_run *run = subject->run;
    const char *start = rm_subject_start(page, run);
    const char *texts[] = {
        rm_page_shown(page, rm_subject_host(run)),
        start != NULL ? start : RM_PAGE_UNKNOWN,
        rm_page_value(page, rm_subject_seconds(run), "s"),
        rm_page_shown(page, rm_subject_outcome(page, run)),
        rm_page_shown(page, run->info.label),
    };
    put_texts(&writing->json, "meta", texts,
              RM_ARRAY_LEN(texts) - (run->info.label[0] != '\0' ? 0 : 1));
}

/* ---- tables ----------------------------------------------------------------------------- */

/* A text; what is missing, and what has a bar, is an object. */
static void put_cell(struct rm_json_writer *json, const struct rm_page_cell *cell)
{
    if (cell->reason == NULL && cell->share < 0.0) {
        rm_json_put_text(json, NULL, cell->text);
        return;
    }
    rm_json_open_object(json, NULL);
    rm_json_put_text(json, "text", cell->text);
    if (cell->reason != NULL) {
        rm_json_put_text(json, "reason", cell->reason);
    } else {
        rm_json_put_double(json, "share", cell->share);
        rm_json_put_double(json, "inner", cell->inner);
    }
    rm_json_close_object(json);
}

static void put_table(struct writing *writing, const struct rm_page_table *table)
{
    struct rm_json_writer *json = &writing->json;
    if (table == NULL) {
        return;
    }
    rm_json_open_object(json, NULL);
    rm_json_put_text(json, "key", table->key);
    rm_json_put_text(json, "title", table->title);
    put_texts(json, "headers", table->headers, table->columns);
    rm_json_put_u64(json, "left", table->left);
    rm_json_open_array(json, "wide");
    for (size_t i = 0; i < table->columns; i++) {
        if ((table->wide >> i & 1) != 0) {
            rm_json_put_u64(json, NULL, i);
        }
    }
    rm_json_close_array(json);
    put_texts(json, "notes", table->notes, table->note_count);
    rm_json_open_array(json, "rows");
    for (size_t row = 0; row < table->count; row++) {
        rm_json_open_array(json, NULL);
        for (size_t column = 0; column < table->columns; column++) {
            put_cell(json, &rm_page_cells(table, row)[column]);
        }
        rm_json_close_array(json);
    }
    rm_json_close_array(json);
    rm_json_close_object(json);
}

static void put_tables(struct writing *writing, struct rm_page_table *const *tables, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        put_table(writing, tables[i]);
    }
}

static void put_run_tables(struct writing *writing, const struct rm_subject *subject)
{
    struct rm_page_table *nodes[RM_NODE_TABLES], *facts[RM_FACT_TABLES];
    rm_json_open_array(&writing->json, "tables");
    put_table(writing, rm_scopes_table(subject));
    put_table(writing, rm_scopes_table_by_name(subject));
    put_table(writing, rm_counters_table_of_scopes(subject));
    for (size_t kind = 0; kind < RM_STACK_KINDS; kind++) {
        put_table(writing, rm_profile_functions(subject, kind));
    }
    put_table(writing, rm_profile_peak(subject));
    put_table(writing, rm_profile_untaken(subject));
    put_table(writing, rm_profile_checkpoints(subject));
    put_table(writing, rm_counters_table(subject));
    put_table(writing, rm_table_of_energy(subject));
    put_table(writing, rm_table_of_tags(subject));
    put_tables(writing, nodes, rm_tables_of_nodes(subject, 1, nodes));
    put_table(writing, rm_table_of_missing(subject));
    put_table(writing, rm_table_of_cost(subject));
    put_tables(writing, facts, rm_tables_of_facts(subject, facts));
    rm_json_close_array(&writing->json);
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
    rm_json_put_text(json, "said", line->said);
    rm_json_put_u64(json, "run", line->run);
    rm_json_put_double(json, "top", rm_points_top(points));
    put_numbers(json, "times", points->times, points->count);
    put_numbers(json, "mean", points->mean, points->count);
    put_numbers(json, "low", points->low, points->count);
    put_numbers(json, "high", points->high, points->count);
    rm_json_close_object(json);
}

static void put_charts(struct writing *writing, const struct rm_charts *charts)
{
    struct rm_json_writer *json = &writing->json;
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

static void put_run_charts(struct writing *writing, struct rm_subject *subject)
{
    const struct resmon_run *run = subject->run;
    const struct rm_charts charts = rm_charts_of_run(subject);
    put_charts(writing, &charts);
    put_texts(&writing->json, "quiet", subject->quiet, subject->quiet_count);
    rm_json_open_array(&writing->json, "tags");
    for (size_t i = 0; i < run->tag_count; i++) {
        rm_json_open_array(&writing->json, NULL);
        rm_json_put_double(&writing->json, NULL, (double)run->tags[i].t_ns / 1e9);
        rm_json_put_text(&writing->json, NULL, rm_page_shown(writing->page, run->tags[i].label));
        rm_json_close_array(&writing->json);
    }
    rm_json_close_array(&writing->json);
}

/* ---- runs ------------------------------------------------------------------------------- */

static void put_run(struct writing *writing, struct rm_subject *subject)
{
    struct rm_json_writer *json = &writing->json;
    const struct resmon_run *run = subject->run;
    rm_json_open_object(json, NULL);
    rm_json_put_text(json, "label", subject->label);
    rm_json_put_double(json, "seconds", rm_subject_reach(run));
    put_meta(writing, subject);
    if (wants(writing, RESMON_PAGE_FIGURES)) {
        const struct rm_page_tiles tiles = rm_headline_tiles(subject);
        const struct rm_page_answers answers = rm_headline_answers(subject);
        put_tiles(json, "tiles", tiles.items, tiles.count);
        put_tiles(json, "answers", answers.items, answers.count);
    }
    if (wants(writing, RESMON_PAGE_CHARTS)) {
        put_run_charts(writing, subject);
    }
    if (wants(writing, RESMON_PAGE_TABLES)) {
        put_run_tables(writing, subject);
    }
    rm_json_close_object(json);
}

/* What compares several runs. */
static void put_all(struct writing *writing)
{
    struct rm_json_writer *json = &writing->json;
    struct rm_subject *subjects = writing->subjects;
    size_t count = writing->count;
    struct rm_page_table *nodes[RM_NODE_TABLES];
    bool is_job = rm_names_are_of_a_job(writing->page, subjects, count);
    const double *offsets = rm_names_offsets(writing->page, subjects, count);
    rm_json_open_object(json, "all");
    rm_json_put_text(json, "words", rm_names_words(writing->page, subjects, count));
    rm_json_put_text(json, "meta", rm_names_meta(writing->page, subjects, count));
    put_numbers(json, "offsets", offsets, count);
    if (wants(writing, RESMON_PAGE_FIGURES)) {
        const struct rm_page_tiles tiles = rm_headline_tiles_of_all(subjects, count, is_job);
        put_tiles(json, "tiles", tiles.items, tiles.count);
    }
    if (wants(writing, RESMON_PAGE_CHARTS)) {
        for (size_t i = 0; i < count; i++) {
            subjects[i].most_points = POINTS_OF_ALL;
        }
        const struct rm_charts charts = rm_charts_of_runs(subjects, count);
        put_charts(writing, &charts);
    }
    if (wants(writing, RESMON_PAGE_TABLES)) {
        rm_json_open_array(json, "tables");
        put_table(writing, rm_headline_table(subjects, count, is_job));
        put_table(writing, rm_scopes_table_of_all(subjects, count));
        put_tables(writing, nodes, rm_tables_of_nodes(subjects, count, nodes));
        rm_json_close_array(json);
    }
    rm_json_close_object(json);
}

static void put_data(struct writing *writing, const char *title)
{
    struct rm_json_writer *json = &writing->json;
    rm_json_open_object(json, NULL);
    rm_json_put_text(json, "title", title);
    rm_json_open_array(json, "runs");
    for (size_t i = 0; i < writing->count; i++) {
        put_run(writing, &writing->subjects[i]);
    }
    rm_json_close_array(json);
    if (writing->count > 1) {
        put_all(writing);
    }
    rm_json_close_object(json);
}

static void put_set(struct rm_buffer *out, struct rm_page_set *set)
{
    const struct rm_output output = rm_buffer_output(out);
    struct writing writing = {.page = set->page,
                              .subjects = set->subjects,
                              .count = set->count,
                              .parts = set->terms->parts != 0 ? set->terms->parts : UINT64_MAX};
    rm_json_start(&writing.json, &output);
    put_data(&writing, set->title);
    set->page->is_broken |= rm_json_finish(&writing.json) != RESMON_OK;
}

resmon_status rm_page_data(struct rm_buffer *out, const struct rm_page_terms *terms)
{
    return rm_page_set_write(out, terms, MOST_POINTS, put_set);
}
