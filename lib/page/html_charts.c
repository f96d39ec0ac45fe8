/* SPDX-License-Identifier: MIT */
#include "page/html_charts.h"

#include "page/charts.h"
#include "page/html_parts.h"
#include "page/numbers.h"
#include "page/timeline.h"

#define MOST_BYTES     ((size_t)256 << 20)
#define MOST_TAGS      200
#define TAG_CHARACTERS 120

void rm_html_charts_open(struct rm_html_charts *charts, struct rm_buffer *out, struct rm_page *page,
                         struct rm_subject *subjects, size_t count)
{
    *charts = (struct rm_html_charts){page, out, subjects, count, {0}, {0}};
    rm_buffer_init(&charts->runs, MOST_BYTES);
    rm_buffer_init(&charts->all, MOST_BYTES);
}

void rm_html_charts_close(struct rm_html_charts *charts)
{
    rm_buffer_free(&charts->runs);
    rm_buffer_free(&charts->all);
}

/* ---- of one run --------------------------------------------------------------------------- */

/* The first members of a run's data: how long it is, and from when. */
static void begin_run(struct rm_buffer *json, const struct resmon_run *run)
{
    rm_buffer_puts(json, json->length > 0 ? ",{\"seconds\":" : "{\"seconds\":");
    rm_numbers_put(json, rm_subject_reach(run), 9);
    rm_buffer_puts(json, ",\"start\":");
    rm_numbers_put(json, (double)run->info.start_realtime_ns / 1e9, 9);
}

static void write_tags(struct rm_html_charts *charts, const struct resmon_run *run)
{
    struct rm_buffer *json = &charts->runs;
    rm_buffer_puts(json, ",\"tags\":[");
    for (size_t i = 0; i < run->tag_count && i < MOST_TAGS; i++) {
        rm_buffer_puts(json, i > 0 ? ",[" : "[");
        rm_numbers_put(json, (double)run->tags[i].t_ns / 1e9, 6);
        rm_buffer_puts(json, ",");
        rm_buffer_json(json,
                       rm_page_shown_at_most(charts->page, run->tags[i].label, TAG_CHARACTERS));
        rm_buffer_puts(json, "]");
    }
    rm_buffer_puts(json, "]");
}

static void put_timeline(struct rm_html_charts *charts, const struct rm_timeline *timeline,
                         const char *place)
{
    struct rm_buffer *out = charts->out;
    rm_buffer_puts(out, "<figure class=wide><figcaption><b>Scopes over time</b> <small>");
    rm_html_text(out, rm_timeline_note(charts->page, timeline));
    rm_buffer_puts(out, "</small><span class=at aria-hidden=true></span></figcaption>"
                        "<div class=\"plot lanes\" id=\"");
    rm_html_text(out, place);
    rm_buffer_puts(out, "\" role=img aria-label=\"");
    rm_html_text(out, rm_timeline_alternative(charts->page, timeline));
    rm_buffer_puts(out, "\"></div></figure>");
}

/* The frames, what is drawn in them into `drawn`, and the lines into `numbers`. */
static void put_frames(struct rm_html_charts *charts, const struct rm_charts *found, size_t number,
                       struct rm_numbers *numbers, struct rm_buffer *drawn)
{
    for (size_t i = 0; i < found->count; i++) {
        const struct rm_chart *chart = found->items[i];
        const char *place = rm_page_print(charts->page, "c%zu-%s", number, chart->key);
        rm_html_chart(charts->out, chart, place);
        for (size_t l = 0; rm_chart_has_points(chart) && l < chart->count; l++) {
            rm_numbers_add(numbers, chart->lines[l]);
        }
        if (rm_chart_has_points(chart)) {
            rm_buffer_puts(drawn, drawn->length > 0 ? "," : "");
            rm_numbers_write_chart(drawn, chart, place, false);
        }
    }
}

void rm_html_charts_put(struct rm_html_charts *charts, size_t number)
{
    struct rm_subject *subject = &charts->subjects[number];
    const struct rm_charts found = rm_charts_of_run(subject);
    const struct rm_timeline timeline = rm_timeline_of(subject);
    const char *place = rm_page_print(charts->page, "c%zu-scopes", number);
    struct rm_buffer *json = &charts->runs, drawn;
    struct rm_numbers numbers;
    rm_numbers_open(&numbers, charts->page, rm_subject_seconds(subject->run));
    rm_buffer_init(&drawn, MOST_BYTES);
    rm_buffer_printf(charts->out, "<div class=charts data-run=%zu>", number);
    put_frames(charts, &found, number, &numbers, &drawn);
    if (timeline.count > 0) {
        put_timeline(charts, &timeline, place);
    }
    rm_buffer_puts(charts->out, "</div>");
    begin_run(json, subject->run);
    rm_buffer_puts(json, ",");
    rm_numbers_write(&numbers, json);
    write_tags(charts, subject->run);
    rm_buffer_printf(json, ",\"charts\":[%s],\"events\":", drawn.text != NULL ? drawn.text : "");
    if (timeline.count > 0) {
        rm_timeline_write(json, &timeline, place);
    } else {
        rm_buffer_puts(json, "null");
    }
    rm_buffer_puts(json, "}");
    charts->page->is_broken |= drawn.status != RESMON_OK;
    rm_buffer_free(&drawn);
    rm_numbers_close(&numbers);
}

/* ---- of all ------------------------------------------------------------------------------- */

static void add_numbers_of(struct rm_numbers *numbers, const struct rm_charts *found, size_t run)
{
    for (size_t i = 0; i < found->count; i++) {
        const struct rm_chart *chart = found->items[i];
        for (size_t l = 0; l < chart->count; l++) {
            if (chart->lines[l]->run == run) {
                rm_numbers_add(numbers, chart->lines[l]);
            }
        }
    }
}

/* The numbers of the charts of all, by run. */
static void write_numbers_of_all(struct rm_html_charts *charts, const struct rm_charts *found)
{
    struct rm_buffer *json = &charts->all;
    rm_buffer_puts(json, ",\"runs\":[");
    for (size_t run = 0; run < charts->count; run++) {
        struct rm_numbers numbers;
        rm_numbers_open(&numbers, charts->page, rm_subject_seconds(charts->subjects[run].run));
        add_numbers_of(&numbers, found, run);
        rm_buffer_puts(json, run > 0 ? ",{" : "{");
        rm_numbers_write(&numbers, json);
        rm_buffer_puts(json, "}");
        rm_numbers_close(&numbers);
    }
    rm_buffer_puts(json, "]");
}

void rm_html_charts_put_all(struct rm_html_charts *charts, const double *offsets)
{
    const struct rm_charts found = rm_charts_of_runs(charts->subjects, charts->count);
    struct rm_buffer *json = &charts->all;
    rm_buffer_puts(charts->out, "<div class=charts data-run=all>");
    rm_buffer_puts(json, "{\"charts\":[");
    for (size_t i = 0; i < found.count; i++) {
        const char *place = rm_page_print(charts->page, "c-%s", found.items[i]->key);
        rm_html_chart(charts->out, found.items[i], place);
        rm_buffer_puts(json, i > 0 ? "," : "");
        rm_numbers_write_chart(json, found.items[i], place, true);
    }
    rm_buffer_puts(charts->out, "</div>");
    rm_buffer_puts(json, "]");
    write_numbers_of_all(charts, &found);
    rm_buffer_puts(json, ",\"offsets\":");
    for (size_t i = 0; offsets != NULL && i < charts->count; i++) {
        rm_buffer_puts(json, i > 0 ? "," : "[");
        rm_numbers_put(json, offsets[i], 9);
    }
    rm_buffer_puts(json, offsets != NULL ? "]}" : "null}");
}

/* ---- the numbers -------------------------------------------------------------------------- */

void rm_html_charts_write(struct rm_html_charts *charts, struct rm_buffer *json)
{
    bool has_own = charts->runs.length > 0;
    for (size_t i = 0; !has_own && i < charts->count; i++) {
        begin_run(&charts->runs, charts->subjects[i].run);
        rm_buffer_puts(&charts->runs, ",\"charts\":[],\"tags\":[],\"events\":null}");
    }
    rm_buffer_puts(json, "{\"runs\":[");
    rm_buffer_puts(json, charts->runs.text != NULL ? charts->runs.text : "");
    rm_buffer_puts(json, "],\"labels\":[");
    for (size_t i = 0; i < charts->count; i++) {
        rm_buffer_puts(json, i > 0 ? "," : "");
        rm_buffer_json(json, charts->subjects[i].label);
    }
    rm_buffer_puts(json, "]");
    if (charts->all.length > 0) {
        rm_buffer_puts(json, ",\"all\":");
        rm_buffer_puts(json, charts->all.text);
    }
    rm_buffer_puts(json, "}");
    charts->page->is_broken |= charts->runs.status != RESMON_OK || charts->all.status != RESMON_OK;
}
