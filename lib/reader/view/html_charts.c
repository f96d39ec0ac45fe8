/* SPDX-License-Identifier: MIT */
#include "view/html.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/text.h"
#include "view/charts.h"

#define MOST_BYTES     ((size_t)64 << 20)
#define TIME_STEPS     1e5 /* resolution of the time axis */
#define MEAN_DIGITS    4
#define BAND_DIGITS    3
#define MOST_INSTANCES 2000
#define PLACES         6 /* decimals of seconds */
#define UNNUMBERED     UINT32_MAX
#define MANY_LINES     8  /* of a chart, from which on its legend is short */
#define MOST_DESCRIBED 40 /* lines in the description of a chart for screen readers */
#define MOST_TAGS      200
#define TAG_CHARACTERS 120

struct numbers {
    struct rm_page *page;
    int places;                         /* decimals of times */
    const struct rm_chart_line **times; /* lines with different times */
    size_t time_count, time_room;
    struct rm_buffer lines; /* the members of "lines" */
};

/* ---- numbers ---------------------------------------------------------------------------- */

static void numbers_put(struct rm_buffer *out, double value, int decimals)
{
    char text[400];
    int length = snprintf(text, sizeof text, "%.*f", decimals, value);
    rm_text_point(text);
    while (decimals > 0 && length > 1 && text[length - 1] == '0') {
        length--;
    }
    length -= length > 1 && text[length - 1] == '.' ? 1 : 0;
    rm_buffer_add(out, text, (size_t)length);
}

static void put_rounded(struct rm_buffer *out, double value, int digits)
{
    char text[64];
    if (!isfinite(value)) {
        rm_buffer_puts(out, "null");
        return;
    }
    (void)snprintf(text, sizeof text, "%.*g", digits, value);
    rm_text_point(text);
    rm_buffer_puts(out, text);
}

static void put_list(struct rm_buffer *out, const double *values, size_t count, int digits)
{
    rm_buffer_puts(out, "[");
    for (size_t i = 0; i < count; i++) {
        rm_buffer_puts(out, i > 0 ? "," : "");
        put_rounded(out, values[i], digits);
    }
    rm_buffer_puts(out, "]");
}

/* ---- lines ------------------------------------------------------------------------------ */

static void numbers_open(struct numbers *numbers, struct rm_page *page, double seconds)
{
    double step = (seconds > 1e-6 ? seconds : 1e-6) / TIME_STEPS;
    double places = -floor(log10(step));
    *numbers = (struct numbers){.page = page,
                                .places = places < 0.0   ? 0
                                          : places > 9.0 ? 9
                                                         : (int)places};
    rm_buffer_init(&numbers->lines, MOST_BYTES);
}

static void numbers_close(struct numbers *numbers)
{
    rm_buffer_free(&numbers->lines);
    rm_free(numbers->times);
}

static bool have_same_times(const struct rm_points *one, const struct rm_points *other)
{
    return one->count == other->count &&
           memcmp(one->times, other->times, one->count * sizeof *one->times) == 0;
}

/* The index of the list of times of a line; lines with equal times share a list. */
static size_t time_of(struct numbers *numbers, const struct rm_chart_line *line)
{
    for (size_t i = 0; i < numbers->time_count; i++) {
        if (have_same_times(&numbers->times[i]->points, &line->points)) {
            return i;
        }
    }
    const struct rm_chart_line **times = rm_grow(
        numbers->times, numbers->time_count, &numbers->time_room, sizeof(struct rm_chart_line *));
    if (times == NULL) {
        numbers->page->is_broken = true;
        return 0;
    }
    numbers->times = times;
    numbers->times[numbers->time_count] = line;
    return numbers->time_count++;
}

static void numbers_add(struct numbers *numbers, const struct rm_chart_line *line)
{
    struct rm_buffer *out = &numbers->lines;
    const struct rm_points *points = &line->points;
    rm_buffer_puts(out, out->length > 0 ? "," : "");
    rm_buffer_json(out, line->key);
    rm_buffer_printf(out, ":[%zu,", time_of(numbers, line));
    put_list(out, points->mean, points->count, MEAN_DIGITS);
    if (points->low != NULL) {
        rm_buffer_puts(out, ",");
        put_list(out, points->low, points->count, BAND_DIGITS);
        rm_buffer_puts(out, ",");
        put_list(out, points->high, points->count, BAND_DIGITS);
    }
    rm_buffer_puts(out, "]");
}

static void numbers_write(struct numbers *numbers, struct rm_buffer *out)
{
    rm_buffer_puts(out, "\"times\":[");
    for (size_t i = 0; i < numbers->time_count; i++) {
        const struct rm_points *points = &numbers->times[i]->points;
        rm_buffer_puts(out, i > 0 ? ",[" : "[");
        for (size_t k = 0; k < points->count; k++) {
            rm_buffer_puts(out, k > 0 ? "," : "");
            numbers_put(out, points->times[k], numbers->places);
        }
        rm_buffer_puts(out, "]");
    }
    rm_buffer_puts(out, "],\"lines\":{");
    rm_buffer_puts(out, numbers->lines.text != NULL ? numbers->lines.text : "");
    rm_buffer_puts(out, "}");
    numbers->page->is_broken |= numbers->lines.status != RESMON_OK;
}

/* ---- charts ----------------------------------------------------------------------------- */

static void numbers_write_chart(struct rm_buffer *out, const struct rm_chart *chart,
                                const char *place, bool of_runs)
{
    rm_buffer_puts(out, "{\"at\":");
    rm_buffer_json(out, place);
    rm_buffer_puts(out, ",\"unit\":");
    rm_buffer_json(out, chart->unit);
    rm_buffer_puts(out, ",\"lines\":[");
    for (size_t i = 0; i < chart->count; i++) {
        const struct rm_chart_line *line = chart->lines[i];
        rm_buffer_puts(out, i > 0 ? ",[" : "[");
        if (of_runs) {
            rm_buffer_printf(out, "%zu,%d,0,", line->run, line->colour % RM_PAGE_COLOURS);
            rm_buffer_json(out, line->key);
        } else {
            rm_buffer_json(out, line->key);
            if (line->colour < 0) {
                rm_buffer_puts(out, ",\"L\"");
            } else {
                rm_buffer_printf(out, ",%d", line->colour % RM_PAGE_COLOURS);
            }
            rm_buffer_printf(out, ",%d", line->is_level ? 1 : 0);
        }
        rm_buffer_puts(out, "]");
    }
    rm_buffer_puts(out, "]}");
}

/* ---- scopes over time ------------------------------------------------------------------- */

/* An instance of a scope: indexes of its name and thread, and its position. */
struct timeline_row {
    uint32_t name, thread, depth;
    double start_s, duration_s;
};

struct timeline {
    const char **names, **threads; /* in the order of their first instance */
    size_t name_count, thread_count;
    struct timeline_row *rows; /* by start, outer ones first */
    size_t count;
    size_t left_out; /* number of shorter instances */
};

/* An event, for sorting. */
struct candidate {
    const struct rm_run_event *event;
    size_t index;
};

static int by_index(const struct candidate *a, const struct candidate *b)
{
    return (a->index > b->index) - (a->index < b->index);
}

static int compare_durations(const void *left, const void *right)
{
    const struct candidate *a = left, *b = right;
    int64_t one = a->event->duration_ns, other = b->event->duration_ns;
    return one != other ? (one < other ? 1 : -1) : by_index(a, b);
}

static int compare_starts(const void *left, const void *right)
{
    const struct candidate *a = left, *b = right;
    if (a->event->start_ns != b->event->start_ns) {
        return a->event->start_ns < b->event->start_ns ? -1 : 1;
    }
    return a->event->depth != b->event->depth ? (a->event->depth < b->event->depth ? -1 : 1)
                                              : compare_durations(left, right);
}

/* New numbers of names or threads, by their index in the run. */
static uint32_t *numbers_of(struct rm_page *page, size_t count)
{
    uint32_t *numbers = rm_page_alloc(page, count, sizeof *numbers);
    for (size_t i = 0; numbers != NULL && i < count; i++) {
        numbers[i] = UNNUMBERED;
    }
    return numbers;
}

static const char *thread_text(struct rm_page *page, const struct rm_run_thread *thread)
{
    return rm_page_print(page, "%s (%llu)",
                         rm_page_shown(page, thread->name[0] != '\0' ? thread->name : "thread"),
                         (unsigned long long)thread->id);
}

static void add_row(const struct rm_subject *subject, struct timeline *timeline,
                    const struct rm_run_event *event, uint32_t *names, uint32_t *threads)
{
    const struct resmon_run *run = subject->run;
    uint32_t *name = &names[event->name], *thread = &threads[event->thread];
    if (*name == UNNUMBERED) {
        *name = (uint32_t)timeline->name_count;
        timeline->names[timeline->name_count++] =
            rm_page_shown(subject->page, run->event_names[event->name]);
    }
    if (*thread == UNNUMBERED) {
        *thread = (uint32_t)timeline->thread_count;
        timeline->threads[timeline->thread_count++] =
            thread_text(subject->page, &run->threads[event->thread]);
    }
    timeline->rows[timeline->count++] =
        (struct timeline_row){*name, *thread, event->depth, (double)event->start_ns / 1e9,
                              (double)event->duration_ns / 1e9};
}

static struct timeline timeline_of(const struct rm_subject *subject)
{
    const struct resmon_run *run = subject->run;
    struct rm_page *page = subject->page;
    struct timeline timeline = {0};
    size_t count = run->event_count < MOST_INSTANCES ? run->event_count : MOST_INSTANCES;
    struct candidate *candidates = rm_page_alloc(page, run->event_count, sizeof *candidates);
    uint32_t *names = numbers_of(page, run->event_name_count);
    uint32_t *threads = numbers_of(page, run->thread_count);
    timeline.names = rm_page_alloc(page, run->event_name_count, sizeof *timeline.names);
    timeline.threads = rm_page_alloc(page, run->thread_count, sizeof *timeline.threads);
    timeline.rows = rm_page_alloc(page, count, sizeof *timeline.rows);
    if (page->is_broken) {
        return (struct timeline){0};
    }
    for (size_t i = 0; i < run->event_count; i++) {
        candidates[i] = (struct candidate){&run->events[i], i};
    }
    qsort(candidates, run->event_count, sizeof *candidates, compare_durations);
    qsort(candidates, count, sizeof *candidates, compare_starts);
    for (size_t i = 0; i < count; i++) {
        add_row(subject, &timeline, candidates[i].event, names, threads);
    }
    timeline.left_out = run->event_count - count;
    return timeline;
}

static const char *timeline_note(struct rm_page *page, const struct timeline *timeline)
{
    static const char note[] = "each instance of a scope, by thread";
    return timeline->left_out > 0 ? rm_page_print(page, "%s; the %s longest, %s are left out", note,
                                                  rm_page_grouped(page, MOST_INSTANCES),
                                                  rm_page_grouped(page, timeline->left_out))
                                  : note;
}

static const char *timeline_alternative(struct rm_page *page, const struct timeline *timeline)
{
    return rm_page_print(page,
                         "Scopes over time: %zu instances of %zu scopes in %zu threads; their sums "
                         "are in the table of scopes",
                         timeline->count, timeline->name_count, timeline->thread_count);
}

static void put_texts(struct rm_buffer *out, const char *key, const char *const *texts,
                      size_t count)
{
    rm_buffer_printf(out, ",\"%s\":[", key);
    for (size_t i = 0; i < count; i++) {
        rm_buffer_puts(out, i > 0 ? "," : "");
        rm_buffer_json(out, texts[i]);
    }
    rm_buffer_puts(out, "]");
}

static void timeline_write(struct rm_buffer *out, const struct timeline *timeline,
                           const char *place)
{
    rm_buffer_puts(out, "{\"at\":");
    rm_buffer_json(out, place);
    put_texts(out, "names", timeline->names, timeline->name_count);
    put_texts(out, "threads", timeline->threads, timeline->thread_count);
    rm_buffer_puts(out, ",\"rows\":[");
    for (size_t i = 0; i < timeline->count; i++) {
        const struct timeline_row *row = &timeline->rows[i];
        rm_buffer_printf(out, "%s[%u,%u,%u,", i > 0 ? "," : "", row->name, row->thread, row->depth);
        numbers_put(out, row->start_s, PLACES);
        rm_buffer_puts(out, ",");
        numbers_put(out, row->duration_s, PLACES);
        rm_buffer_puts(out, "]");
    }
    rm_buffer_puts(out, "]}");
}

/* ---- frames ----------------------------------------------------------------------------- */

/* A line of a chart and its index. */
struct keyed {
    const struct rm_chart_line *line;
    size_t index;
};

/* By color, so that the program is first; bounds last. */
static int compare_keys(const void *left, const void *right)
{
    const struct keyed *a = left, *b = right;
    bool a_is_bound = a->line->colour < 0, b_is_bound = b->line->colour < 0;
    if (a_is_bound != b_is_bound) {
        return a_is_bound ? 1 : -1;
    }
    if (a->line->colour != b->line->colour) {
        return a->line->colour < b->line->colour ? -1 : 1;
    }
    return (a->index > b->index) - (a->index < b->index);
}

static void put_key(struct rm_buffer *out, const struct keyed *key)
{
    const struct rm_chart_line *line = key->line;
    rm_buffer_puts(out, "<button type=button class=\"key k");
    if (line->colour < 0) {
        rm_buffer_puts(out, "-limit");
    } else {
        rm_buffer_printf(out, "%d", line->colour % RM_PAGE_COLOURS);
    }
    rm_buffer_printf(out, "%s\" aria-pressed=true data-line=%zu><i></i>",
                     line->is_level ? " dash" : "", key->index);
    rm_html_element(out, "<bdi>", line->label, "</bdi>");
    rm_html_element(out, "<span class=now>", line->summary, "</span></button>");
}

/* The description of a chart for screen readers. */
static void put_alternative(struct rm_buffer *out, const struct rm_chart *chart)
{
    bool is_first = true;
    rm_html_text(out, chart->title);
    rm_buffer_puts(out, ". ");
    for (size_t i = 0; i < chart->count && i < MOST_DESCRIBED; i++) {
        if (chart->lines[i]->summary[0] != '\0') {
            rm_buffer_puts(out, is_first ? "" : ". ");
            rm_html_element(out, "", chart->lines[i]->label, ": ");
            rm_html_text(out, chart->lines[i]->summary);
            is_first = false;
        }
    }
}

static void put_keys(struct rm_buffer *out, const struct rm_chart *chart)
{
    struct keyed *keys = rm_alloc(chart->count + 1, sizeof *keys);
    if (keys == NULL) {
        out->status = RESMON_ENOMEM;
        return;
    }
    for (size_t i = 0; i < chart->count; i++) {
        keys[i] = (struct keyed){chart->lines[i], i};
    }
    qsort(keys, chart->count, sizeof *keys, compare_keys);
    rm_buffer_printf(out, "<div class=\"keys%s\">", chart->count > MANY_LINES ? " many" : "");
    for (size_t i = 0; i < chart->count; i++) {
        put_key(out, &keys[i]);
    }
    rm_buffer_puts(out, "</div>");
    rm_free(keys);
}

/* The frame of a chart: title, legend with statistics of the whole run, and the element with the id
 * `place` in which it is drawn. */
static void put_frame(struct rm_buffer *out, const struct rm_chart *chart, const char *place)
{
    rm_html_element(out, "<figure><figcaption><b>", chart->title, "</b> ");
    if (chart->note[0] != '\0') {
        rm_html_element(out, "<small>", chart->note, "</small>");
    }
    rm_buffer_puts(out, "<span class=at aria-hidden=true></span></figcaption>");
    if (rm_chart_has_points(chart)) {
        rm_html_element(out, "<div class=plot id=\"", place, "\" role=img aria-label=\"");
        put_alternative(out, chart);
        rm_buffer_puts(out, "\"></div>");
        put_keys(out, chart);
    } else {
        rm_html_element(out, "<p class=empty>",
                        chart->missing[0] != '\0' ? chart->missing : "Not measured.", "</p>");
    }
    rm_buffer_puts(out, "</figure>");
}

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

/* ---- charts of one run ------------------------------------------------------------------ */

/* The first members of a run's data: its length and start. */
static void begin_run(struct rm_buffer *json, const struct resmon_run *run)
{
    rm_buffer_puts(json, json->length > 0 ? ",{\"seconds\":" : "{\"seconds\":");
    numbers_put(json, rm_subject_reach(run), 9);
    rm_buffer_puts(json, ",\"start\":");
    numbers_put(json, (double)run->info.start_realtime_ns / 1e9, 9);
}

static void write_tags(struct rm_html_charts *charts, const struct resmon_run *run)
{
    struct rm_buffer *json = &charts->runs;
    rm_buffer_puts(json, ",\"tags\":[");
    for (size_t i = 0; i < run->tag_count && i < MOST_TAGS; i++) {
        rm_buffer_puts(json, i > 0 ? ",[" : "[");
        numbers_put(json, (double)run->tags[i].t_ns / 1e9, 6);
        rm_buffer_puts(json, ",");
        rm_buffer_json(json,
                       rm_page_shown_at_most(charts->page, run->tags[i].label, TAG_CHARACTERS));
        rm_buffer_puts(json, "]");
    }
    rm_buffer_puts(json, "]");
}

static void put_timeline(struct rm_html_charts *charts, const struct timeline *timeline,
                         const char *place)
{
    struct rm_buffer *out = charts->out;
    rm_buffer_puts(out, "<figure class=wide><figcaption><b>Scopes over time</b> <small>");
    rm_html_text(out, timeline_note(charts->page, timeline));
    rm_buffer_puts(out, "</small><span class=at aria-hidden=true></span></figcaption>"
                        "<div class=\"plot lanes\" id=\"");
    rm_html_text(out, place);
    rm_buffer_puts(out, "\" role=img aria-label=\"");
    rm_html_text(out, timeline_alternative(charts->page, timeline));
    rm_buffer_puts(out, "\"></div></figure>");
}

/* Writes the frames; the charts go to `drawn`, and their lines to `numbers`. */
static void put_frames(struct rm_html_charts *charts, const struct rm_charts *found, size_t number,
                       struct numbers *numbers, struct rm_buffer *drawn)
{
    for (size_t i = 0; i < found->count; i++) {
        const struct rm_chart *chart = found->items[i];
        const char *place = rm_page_print(charts->page, "c%zu-%s", number, chart->key);
        put_frame(charts->out, chart, place);
        for (size_t l = 0; rm_chart_has_points(chart) && l < chart->count; l++) {
            numbers_add(numbers, chart->lines[l]);
        }
        if (rm_chart_has_points(chart)) {
            rm_buffer_puts(drawn, drawn->length > 0 ? "," : "");
            numbers_write_chart(drawn, chart, place, false);
        }
    }
}

void rm_html_charts_put(struct rm_html_charts *charts, size_t number)
{
    struct rm_subject *subject = &charts->subjects[number];
    const struct rm_charts found = rm_charts_of_run(subject);
    const struct timeline timeline = timeline_of(subject);
    const char *place = rm_page_print(charts->page, "c%zu-scopes", number);
    struct rm_buffer *json = &charts->runs, drawn;
    struct numbers numbers;
    numbers_open(&numbers, charts->page, rm_subject_seconds(subject->run));
    rm_buffer_init(&drawn, MOST_BYTES);
    rm_buffer_printf(charts->out, "<div class=charts data-run=%zu>", number);
    put_frames(charts, &found, number, &numbers, &drawn);
    if (timeline.count > 0) {
        put_timeline(charts, &timeline, place);
    }
    rm_buffer_puts(charts->out, "</div>");
    begin_run(json, subject->run);
    rm_buffer_puts(json, ",");
    numbers_write(&numbers, json);
    write_tags(charts, subject->run);
    rm_buffer_printf(json, ",\"charts\":[%s],\"events\":", drawn.text != NULL ? drawn.text : "");
    if (timeline.count > 0) {
        timeline_write(json, &timeline, place);
    } else {
        rm_buffer_puts(json, "null");
    }
    rm_buffer_puts(json, "}");
    charts->page->is_broken |= drawn.status != RESMON_OK;
    rm_buffer_free(&drawn);
    numbers_close(&numbers);
}

/* ---- charts of several runs ------------------------------------------------------------- */

static void add_numbers_of(struct numbers *numbers, const struct rm_charts *found, size_t run)
{
    for (size_t i = 0; i < found->count; i++) {
        const struct rm_chart *chart = found->items[i];
        for (size_t l = 0; l < chart->count; l++) {
            if (chart->lines[l]->run == run) {
                numbers_add(numbers, chart->lines[l]);
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
        struct numbers numbers;
        numbers_open(&numbers, charts->page, rm_subject_seconds(charts->subjects[run].run));
        add_numbers_of(&numbers, found, run);
        rm_buffer_puts(json, run > 0 ? ",{" : "{");
        numbers_write(&numbers, json);
        rm_buffer_puts(json, "}");
        numbers_close(&numbers);
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
        put_frame(charts->out, found.items[i], place);
        rm_buffer_puts(json, i > 0 ? "," : "");
        numbers_write_chart(json, found.items[i], place, true);
    }
    rm_buffer_puts(charts->out, "</div>");
    rm_buffer_puts(json, "]");
    write_numbers_of_all(charts, &found);
    rm_buffer_puts(json, ",\"offsets\":");
    for (size_t i = 0; offsets != NULL && i < charts->count; i++) {
        rm_buffer_puts(json, i > 0 ? "," : "[");
        numbers_put(json, offsets[i], 9);
    }
    rm_buffer_puts(json, offsets != NULL ? "]}" : "null}");
}

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
