/* SPDX-License-Identifier: MIT */
#include "page/html.h"

#include <stdio.h>
#include <string.h>

#include <resmon/version.h>

#include "page/assets.h"
#include "page/counters.h"
#include "page/html_parts.h"
#include "page/names.h"
#include "page/numbers.h"
#include "page/scopes.h"
#include "page/tables.h"
#include "page/timeline.h"

#define MOST_BYTES     ((size_t)256 << 20)
#define FOLDED_FROM    5     /* runs */
#define ROWS           12800 /* points of lines of all runs; of one at most */
#define MOST_ROWS      800   /* of them, and at least */
#define LEAST_ROWS     60
#define BOXES          16000 /* the same, of flame graphs */
#define MOST_BOXES     4000
#define LEAST_BOXES    200
#define MOST_TAGS      200 /* in charts */
#define TAG_CHARACTERS 120
#define DOT            " <span aria-hidden=true>\xc2\xb7</span> "

/* A page that is being written. */
struct writing {
    struct rm_page *page;
    struct rm_buffer *out;
    struct rm_buffer data; /* JSON for the script, of the runs so far */
    struct rm_subject *subjects;
    size_t count;
};

static void put(struct writing *writing, const char *text)
{
    rm_buffer_puts(writing->out, text);
}

static void put_table(struct writing *writing, const struct rm_page_table *table)
{
    rm_html_table(writing->out, table, "h3");
}

static void put_text(struct writing *writing, const char *opening, const char *text,
                     const char *closing)
{
    put(writing, opening);
    rm_html_text(writing->out, text);
    put(writing, closing);
}

/* The part of `all` that each run has. */
static size_t part_of(size_t all, size_t count, size_t least, size_t most)
{
    size_t part = all / count;
    return part < least ? least : part < most ? part : most;
}

/* ---- one run ---------------------------------------------------------------------------- */

/* "host · 2026-11-22 01:47:03 UTC · 3 min 20 s · stopped". */
static void put_meta(struct writing *writing, const struct rm_subject *subject)
{
    struct rm_page *page = writing->page;
    const struct resmon_run *run = subject->run;
    const char *start = rm_subject_start(page, run), *outcome = rm_subject_outcome(page, run);
    const char *state = strcmp(outcome, run->info.state) == 0 ? run->info.state : "interrupted";
    const char *job = rm_run_fact_text(run, "job", "id");
    put_text(writing, "<p class=meta><bdi>", rm_page_shown(page, rm_subject_host(run)),
             "</bdi>" DOT);
    if (job[0] != '\0') {
        put_text(writing, "job ", rm_page_shown(page, job), DOT);
    }
    put_text(writing, "", start != NULL ? start : RM_PAGE_UNKNOWN, DOT);
    put_text(writing, "", rm_page_value(page, rm_subject_seconds(run), "s"),
             DOT "<span class=\"state ");
    put_text(writing, "", state, "\"><bdi>");
    put_text(writing, "", rm_page_shown(page, outcome), "</bdi></span>");
    if (run->info.label[0] != '\0') {
        put_text(writing, DOT "<bdi>", rm_page_shown(page, run->info.label), "</bdi>");
    }
    put(writing, "</p>");
}

static void put_head(struct writing *writing, const struct rm_subject *subject)
{
    const struct rm_page_tiles tiles = rm_headline_tiles(subject);
    const struct rm_page_answers answers = rm_headline_answers(subject);
    put_meta(writing, subject);
    rm_html_tiles(writing->out, &tiles);
    rm_html_answers(writing->out, &answers);
}

static void write_tags(struct writing *writing, const struct resmon_run *run)
{
    struct rm_buffer *data = &writing->data;
    rm_buffer_puts(data, ",\"tags\":[");
    for (size_t i = 0; i < run->tag_count && i < MOST_TAGS; i++) {
        rm_buffer_puts(data, i > 0 ? ",[" : "[");
        rm_numbers_put(data, (double)run->tags[i].t_ns / 1e9, 6);
        rm_buffer_puts(data, ",");
        rm_buffer_json(data,
                       rm_page_shown_at_most(writing->page, run->tags[i].label, TAG_CHARACTERS));
        rm_buffer_puts(data, "]");
    }
    rm_buffer_puts(data, "]");
}

static void put_timeline(struct writing *writing, const struct rm_timeline *timeline,
                         const char *place)
{
    put_text(writing, "<figure class=wide><figcaption><b>Scopes over time</b> <small>",
             rm_timeline_note(writing->page, timeline),
             "</small><span class=at aria-hidden=true></span></figcaption>");
    put_text(writing, "<div class=\"plot lanes\" id=\"", place, "\" role=img aria-label=\"");
    put_text(writing, "", rm_timeline_alternative(writing->page, timeline), "\"></div></figure>");
}

/* The first members of a run's data: how long it is, and from when. */
static void begin_data(struct writing *writing, const struct resmon_run *run, size_t number)
{
    rm_buffer_puts(&writing->data, number > 0 ? ",{\"seconds\":" : "{\"seconds\":");
    rm_numbers_put(&writing->data, rm_subject_reach(run), 9);
    rm_buffer_puts(&writing->data, ",\"start\":");
    rm_numbers_put(&writing->data, (double)run->info.start_realtime_ns / 1e9, 9);
    rm_buffer_puts(&writing->data, ",");
}

/* The frames of the charts, and their numbers into the data. */
static void put_charts(struct writing *writing, struct rm_subject *subject, size_t number)
{
    struct rm_page *page = writing->page;
    const struct rm_charts charts = rm_charts_of_run(subject);
    const struct rm_timeline timeline = rm_timeline_of(subject);
    struct rm_numbers numbers;
    struct rm_buffer drawn;
    rm_numbers_open(&numbers, page, rm_subject_seconds(subject->run));
    rm_buffer_init(&drawn, MOST_BYTES);
    rm_buffer_printf(writing->out, "<div class=charts data-run=%zu>", number);
    for (size_t i = 0; i < charts.count; i++) {
        const char *place = rm_page_print(page, "c%zu-%s", number, charts.items[i]->key);
        rm_html_chart(writing->out, charts.items[i], place);
        if (rm_chart_has_points(charts.items[i])) {
            for (size_t l = 0; l < charts.items[i]->count; l++) {
                rm_numbers_add(&numbers, charts.items[i]->lines[l]);
            }
            rm_buffer_puts(&drawn, drawn.length > 0 ? "," : "");
            rm_numbers_write_chart(&drawn, charts.items[i], place, false);
        }
    }
    const char *place = rm_page_print(page, "c%zu-scopes", number);
    if (timeline.count > 0) {
        put_timeline(writing, &timeline, place);
    }
    put(writing, "</div>");
    begin_data(writing, subject->run, number);
    rm_numbers_write(&numbers, &writing->data);
    write_tags(writing, subject->run);
    rm_buffer_printf(&writing->data,
                     ",\"charts\":[%s],\"events\":", drawn.text != NULL ? drawn.text : "");
    if (timeline.count > 0) {
        rm_timeline_write(&writing->data, &timeline, place);
    } else {
        rm_buffer_puts(&writing->data, "null");
    }
    rm_buffer_puts(&writing->data, "}");
    page->is_broken |= drawn.status != RESMON_OK;
    rm_buffer_free(&drawn);
    rm_numbers_close(&numbers);
}

static void put_quiet(struct writing *writing, const struct rm_subject *subject)
{
    if (subject->quiet_count > 0) {
        put_text(writing, "<p class=note>Measured, and nothing throughout: ",
                 rm_page_join(writing->page, ", ", subject->quiet, subject->quiet_count), ".</p>");
    }
}

/* Functions and a flame graph for each kind, lines, the peak. */
static void put_stacks(struct writing *writing, const struct rm_subject *subject, size_t boxes)
{
    struct rm_line_text *texts = rm_page_alloc(writing->page, RM_LINE_TEXTS, sizeof *texts);
    for (size_t kind = 0; kind < RM_STACK_KINDS; kind++) {
        const struct rm_page_table *functions = rm_profile_functions(subject, kind);
        if (functions != NULL) {
            const struct rm_boxes found = rm_flame_boxes(subject, kind, boxes);
            put_table(writing, functions);
            rm_html_flame(writing->out, writing->page, &found, kind);
        }
    }
    size_t count = texts != NULL ? rm_profile_lines(subject, texts) : 0;
    for (size_t i = 0; i < count; i++) {
        rm_html_lines(writing->out, &texts[i]);
    }
    put_table(writing, rm_profile_peak(subject));
    put_table(writing, rm_profile_untaken(subject));
}

static void put_facts(struct writing *writing, const struct rm_subject *subject)
{
    struct rm_page_table *tables[RM_FACT_TABLES];
    size_t count = rm_tables_of_facts(subject, tables);
    put(writing, "<div class=facts><section>");
    put_table(writing, rm_table_of_cost(subject));
    for (size_t i = 0; i < count; i++) {
        put(writing, "</section><section>");
        put_table(writing, tables[i]);
    }
    put(writing, "</section></div>");
}

static void put_nodes_folded(struct writing *writing, const struct rm_subject *subject)
{
    struct rm_page_table *tables[RM_NODE_TABLES];
    size_t count = rm_tables_of_nodes(subject, 1, tables);
    for (size_t i = 0; i < count; i++) {
        put(writing, "<details><summary>Node figures</summary>");
        rm_html_table(writing->out, tables[i], NULL);
        put(writing, "</details>");
    }
}

static void put_body(struct writing *writing, struct rm_subject *subject, size_t number)
{
    size_t boxes = part_of(BOXES, writing->count, LEAST_BOXES, MOST_BOXES);
    put_table(writing, rm_scopes_table(subject));
    put_charts(writing, subject, number);
    put_quiet(writing, subject);
    put_table(writing, rm_scopes_table_by_name(subject));
    put_table(writing, rm_counters_table_of_scopes(subject));
    put_stacks(writing, subject, boxes);
    put_table(writing, rm_counters_table(subject));
    put_table(writing, rm_table_of_energy(subject));
    put_table(writing, rm_table_of_tags(subject));
    if (writing->count == 1) {
        put_nodes_folded(writing, subject);
    }
    const struct rm_page_table *missing = rm_table_of_missing(subject);
    put_table(writing, missing);
    if (missing == NULL) {
        put(writing, "<h3>What was not measured, and why</h3><p class=note>Nothing that was asked "
                     "for is missing, or this file does not say.</p>");
    }
    put_facts(writing, subject);
}

/* ---- several runs ----------------------------------------------------------------------- */

static void put_alignment(struct writing *writing, const double *offsets)
{
    bool are_apart = false;
    for (size_t i = 0; offsets != NULL && i < writing->count; i++) {
        are_apart |= offsets[i] > 0.0;
    }
    if (are_apart) {
        put(writing,
            "<div class=align role=group aria-label=\"Time of the charts\"><button type=button "
            "aria-pressed=false data-align=start>from the start of each</button><button "
            "type=button "
            "aria-pressed=true data-align=clock>by the clock</button></div>");
    }
}

/* The lines of one run in the charts of all. */
static void add_numbers_of(struct rm_numbers *numbers, const struct rm_charts *charts, size_t run)
{
    for (size_t i = 0; i < charts->count; i++) {
        const struct rm_chart *chart = charts->items[i];
        for (size_t l = 0; l < chart->count; l++) {
            if (chart->lines[l]->run == run) {
                rm_numbers_add(numbers, chart->lines[l]);
            }
        }
    }
}

/* The numbers of the charts of all, by run. */
static void write_numbers_of_all(struct writing *writing, const struct rm_charts *charts,
                                 struct rm_buffer *out)
{
    rm_buffer_puts(out, ",\"runs\":[");
    for (size_t run = 0; run < writing->count; run++) {
        struct rm_numbers numbers;
        rm_numbers_open(&numbers, writing->page, rm_subject_seconds(writing->subjects[run].run));
        add_numbers_of(&numbers, charts, run);
        rm_buffer_puts(out, run > 0 ? ",{" : "{");
        rm_numbers_write(&numbers, out);
        rm_buffer_puts(out, "}");
        rm_numbers_close(&numbers);
    }
    rm_buffer_puts(out, "]");
}

/* What compares the runs; its data goes into `all`. */
static void put_all_together(struct writing *writing, struct rm_buffer *all)
{
    struct rm_page *page = writing->page;
    struct rm_page_table *nodes[RM_NODE_TABLES];
    bool is_job = rm_names_are_of_a_job(page, writing->subjects, writing->count);
    const double *offsets = rm_names_offsets(page, writing->subjects, writing->count);
    const struct rm_page_tiles tiles =
        rm_headline_tiles_of_all(writing->subjects, writing->count, is_job);
    const struct rm_charts charts = rm_charts_of_runs(writing->subjects, writing->count);
    rm_html_tiles(writing->out, &tiles);
    put(writing, "<div class=bar><h2>All together</h2>");
    put_alignment(writing, offsets);
    put(writing, "</div>");
    put_table(writing, rm_headline_table(writing->subjects, writing->count, is_job));
    put_table(writing, rm_scopes_table_of_all(writing->subjects, writing->count));
    put(writing, "<div class=charts data-run=all>");
    rm_buffer_puts(all, "{\"charts\":[");
    for (size_t i = 0; i < charts.count; i++) {
        const char *place = rm_page_print(page, "c-%s", charts.items[i]->key);
        rm_html_chart(writing->out, charts.items[i], place);
        rm_buffer_puts(all, i > 0 ? "," : "");
        rm_numbers_write_chart(all, charts.items[i], place, true);
    }
    put(writing, "</div>");
    rm_buffer_puts(all, "]");
    write_numbers_of_all(writing, &charts, all);
    rm_buffer_puts(all, ",\"offsets\":");
    for (size_t i = 0; offsets != NULL && i < writing->count; i++) {
        rm_buffer_puts(all, i > 0 ? "," : "[");
        rm_numbers_put(all, offsets[i], 9);
    }
    rm_buffer_puts(all, offsets != NULL ? "]}" : "null}");
    size_t count = rm_tables_of_nodes(writing->subjects, writing->count, nodes);
    for (size_t i = 0; i < count; i++) {
        rm_html_table(writing->out, nodes[i], "h2");
    }
}

static void put_section(struct writing *writing, size_t number)
{
    struct rm_subject *subject = &writing->subjects[number];
    rm_buffer_printf(writing->out, "<details class=run id=run%zu%s><summary><h2><bdi>", number,
                     writing->count >= FOLDED_FROM ? "" : " open");
    put_text(writing, "", subject->label, "</bdi></h2></summary>");
    put_head(writing, subject);
    put_body(writing, subject, number);
    put(writing, "</details>");
}

/* ---- the file --------------------------------------------------------------------------- */

/* Base64 of a hash that is given in hexadecimal. */
static void put_hash(struct rm_buffer *out, const char *hexadecimal)
{
    static const char letters[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    uint32_t bits = 0;
    unsigned count = 0;
    rm_buffer_puts(out, " 'sha256-");
    for (const char *at = hexadecimal; *at != '\0'; at++) {
        bits = bits << 4 | (uint32_t)(*at <= '9' ? *at - '0' : *at - 'a' + 10);
        count += 4;
        if (count >= 6) {
            count -= 6;
            rm_buffer_add(out, &letters[bits >> count & 63], 1);
        }
    }
    if (count > 0) {
        rm_buffer_add(out, &letters[bits << (6 - count) & 63], 1);
    }
    rm_buffer_puts(out, "='");
}

static void put_asset(struct writing *writing, const struct rm_asset *asset)
{
    rm_buffer_add(writing->out, asset->text, asset->length);
}

static void put_script(struct writing *writing, const struct rm_asset *asset)
{
    put(writing, "<script>");
    put_asset(writing, asset);
    put(writing, "</script>\n");
}

/* JSON that is safe within a script element: without "<". */
static void put_json(struct rm_buffer *out, const char *text)
{
    static const char unsafe[] = "<>&";
    while (text != NULL && *text != '\0') {
        size_t plain = strcspn(text, unsafe);
        rm_buffer_add(out, text, plain);
        text += plain;
        if (*text != '\0') {
            rm_buffer_printf(out, "\\u%04x", (unsigned)(unsigned char)*text++);
        }
    }
}

static void put_top(struct writing *writing, const char *title)
{
    put(writing, "<!DOCTYPE html>\n<html lang=en>\n<head>\n<meta charset=utf-8>\n"
                 "<meta http-equiv=Content-Security-Policy content=\"default-src 'none'; style-src "
                 "'unsafe-inline'; img-src data:; script-src");
    put_hash(writing->out, rm_asset_uplot_script.sha256);
    put_hash(writing->out, rm_asset_script.sha256);
    put(writing, "\">\n<meta name=viewport content=\"width=device-width, initial-scale=1\">\n"
                 "<meta name=color-scheme content=\"light dark\">\n<meta name=generator "
                 "content=\"resmon ");
    put(writing, resmon_version());
    put_text(writing, "\">\n<title>", title, "</title>\n<link rel=icon href=\"data:,\">\n<style>");
    put_asset(writing, &rm_asset_uplot_style);
    put_asset(writing, &rm_asset_style);
    put_text(writing, "</style>\n</head>\n<body>\n<header><h1><bdi>", title, "</bdi></h1>");
}

static void put_bottom(struct writing *writing, const struct rm_buffer *all)
{
    put(writing, "\n</main>\n<footer>resmon ");
    put(writing, resmon_version());
    put(writing, ". In the charts: drag to zoom, double click to see all, click a name to hide its "
                 "line.\nCharts by uPlot, copyright Leon Sorokin, MIT licence.</footer>\n"
                 "<script type=application/json id=resmon-data>{\"runs\":[");
    put_json(writing->out, writing->data.text);
    put(writing, "],\"labels\":[");
    for (size_t i = 0; i < writing->count; i++) {
        struct rm_buffer label;
        rm_buffer_init(&label, MOST_BYTES);
        rm_buffer_json(&label, writing->subjects[i].label);
        put(writing, i > 0 ? "," : "");
        put_json(writing->out, label.text);
        writing->page->is_broken |= label.status != RESMON_OK;
        rm_buffer_free(&label);
    }
    put(writing, "]");
    if (all->length > 0) {
        put(writing, ",\"all\":");
        put_json(writing->out, all->text);
    }
    put(writing, "}</script>\n");
    put_script(writing, &rm_asset_uplot_script);
    put_script(writing, &rm_asset_script);
    put(writing, "</body>\n</html>\n");
}

static void put_page(struct writing *writing, const char *title)
{
    static const char main_element[] =
        "</header>\n<main>\n<noscript><p class=empty>The charts are drawn by a script, and scripts "
        "are switched off here.\nThe tables are complete.</p></noscript>\n";
    struct rm_buffer all;
    rm_buffer_init(&all, MOST_BYTES);
    put_top(writing, title);
    if (writing->count == 1) {
        put_head(writing, &writing->subjects[0]);
        put(writing, main_element);
        put_body(writing, &writing->subjects[0], 0);
    } else {
        put_text(writing, "<p class=meta>",
                 rm_names_meta(writing->page, writing->subjects, writing->count), "</p>");
        put(writing, main_element);
        put_all_together(writing, &all);
        put(writing, "<h2>One by one</h2>");
        for (size_t i = 0; i < writing->count; i++) {
            put_section(writing, i);
        }
    }
    put_bottom(writing, &all);
    writing->page->is_broken |= all.status != RESMON_OK;
    rm_buffer_free(&all);
}

static void put_set(struct rm_buffer *out, struct rm_page_set *set)
{
    struct writing writing = {
        .page = set->page, .out = out, .subjects = set->subjects, .count = set->count};
    rm_buffer_init(&writing.data, MOST_BYTES);
    put_page(&writing, set->title);
    set->page->is_broken |= writing.data.status != RESMON_OK;
    rm_buffer_free(&writing.data);
}

resmon_status rm_html_page(struct rm_buffer *out, const struct rm_page_terms *terms)
{
    return rm_page_set_write(out, terms, part_of(ROWS, terms->count, LEAST_ROWS, MOST_ROWS),
                             put_set);
}
