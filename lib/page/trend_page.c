/* SPDX-License-Identifier: MIT */
#include "page/trend_page.h"

#include <math.h>

#include "base/status.h"
#include "page/axis.h"
#include "page/html_file.h"
#include "page/html_parts.h"
#include "page/page.h"
#include "report/trend.h"

struct writing {
    struct rm_page *page;
    struct rm_buffer *out;
    const struct rm_trend *trend;
    char text[RM_SENTENCE_BYTES]; /* the sentence that is being put */
};

/* A chart: benchmarks from left to right, values upwards. */
struct chart {
    struct writing *writing;
    const struct rm_trend_series *series;
    struct rm_axis axis;
};

static const char *value_text(const struct chart *chart, double value)
{
    return rm_page_value(chart->writing->page, value, rm_figures[chart->series->figure].unit);
}

/* ---- one chart ---------------------------------------------------------------------------- */

/* In percent: of benchmark `index` of the series, in the middle of its part. */
static double across(const struct chart *chart, double index)
{
    return 100.0 * (index + 0.5) / (double)chart->series->count;
}

static void put_mark(const struct chart *chart, const char *class_name, double left, double bottom)
{
    struct rm_buffer *out = chart->writing->out;
    rm_buffer_printf(out, "<i class=%s style=\"left:", class_name);
    rm_html_number(out, left, 2);
    rm_buffer_puts(out, "%;bottom:");
    rm_html_number(out, bottom, 2);
    rm_buffer_puts(out, "%");
}

/* The median, and a line for where it lies. */
static void put_point(const struct chart *chart, size_t index)
{
    struct rm_buffer *out = chart->writing->out;
    const struct rm_trend_point *point = &chart->series->points[index];
    const struct rm_between *median = &point->median;
    double left = across(chart, (double)index);
    if (!isnan(median->low)) {
        double low = rm_axis_percent(&chart->axis, median->low);
        put_mark(chart, "range", left, low);
        rm_buffer_puts(out, ";height:");
        rm_html_number(out, rm_axis_percent(&chart->axis, median->high) - low, 2);
        rm_buffer_puts(out, "%\"></i>");
    }
    rm_trend_say_document(chart->writing->text, &chart->writing->trend->documents[point->document]);
    put_mark(chart, "dot", left, rm_axis_percent(&chart->axis, median->value));
    rm_html_element(out, "\" title=\"", rm_page_shown(chart->writing->page, chart->writing->text),
                    ": ");
    rm_html_element(out, "", value_text(chart, median->value), "\"></i>");
}

/* From one change to the next. */
static void put_level(const struct chart *chart, size_t first, size_t end, double value)
{
    struct rm_buffer *out = chart->writing->out;
    put_mark(chart, "level", across(chart, (double)first - 0.5),
             rm_axis_percent(&chart->axis, value));
    rm_buffer_puts(out, ";width:");
    rm_html_number(out, 100.0 * (double)(end - first) / (double)chart->series->count, 2);
    rm_buffer_puts(out, "%\"></i>");
}

static void put_changes(const struct chart *chart)
{
    const struct rm_trend_series *series = chart->series;
    for (size_t i = 0; i < series->change_count; i++) {
        const struct rm_trend_change *change = &series->changes[i];
        size_t end = i + 1 < series->change_count ? series->changes[i + 1].at : series->count;
        if (i == 0) {
            put_level(chart, 0, change->at, change->before);
        }
        put_level(chart, change->at, end, change->after);
        rm_trend_say_change(chart->writing->text, chart->writing->trend, series, change);
        put_mark(chart, change->shift.value > 0.0 ? "\"change worse\"" : "\"change fine\"",
                 across(chart, (double)change->at - 0.5), 0.0);
        rm_html_element(chart->writing->out, "\" title=\"",
                        rm_page_shown(chart->writing->page, chart->writing->text), "\"></i>");
    }
}

static void put_ticks(const struct chart *chart)
{
    struct rm_buffer *out = chart->writing->out;
    for (size_t i = 0; i < chart->axis.tick_count; i++) {
        put_mark(chart, "grid", 0.0, rm_axis_percent(&chart->axis, chart->axis.ticks[i]));
        rm_html_element(out, "\"><b>", value_text(chart, chart->axis.ticks[i]), "</b></i>");
    }
}

static bool open_axis(struct chart *chart)
{
    double low = RM_NAN, high = RM_NAN;
    for (size_t i = 0; i < chart->series->count; i++) {
        const struct rm_between *median = &chart->series->points[i].median;
        low = fmin(fmin(low, median->value), median->low); /* not of NaN */
        high = fmax(fmax(high, median->value), median->high);
    }
    return rm_axis_open(&chart->axis, low, high, rm_figures[chart->series->figure].unit);
}

/* What its changes are in words, below it. */
static void put_words(const struct chart *chart)
{
    struct writing *writing = chart->writing;
    rm_buffer_puts(writing->out, "<ul class=remarks>");
    for (size_t i = 0; i < chart->series->change_count; i++) {
        rm_trend_say_change(writing->text, writing->trend, chart->series,
                            &chart->series->changes[i]);
        rm_html_element(writing->out, "<li>", rm_page_shown(writing->page, writing->text), "</li>");
    }
    rm_buffer_puts(writing->out, "</ul></figure>\n");
}

static void put_chart(struct writing *writing, const struct rm_trend_series *series)
{
    struct chart chart = {.writing = writing, .series = series};
    if (!open_axis(&chart)) {
        return;
    }
    rm_trend_say_figure(writing->text, series);
    rm_html_element(writing->out, "<figure><figcaption><b>",
                    rm_page_shown_at_most(writing->page, writing->text, 100), "</b> <small>");
    rm_html_element(writing->out, "",
                    value_text(&chart, series->points[series->count - 1].median.value),
                    " now</small></figcaption><div class=trend>");
    put_ticks(&chart);
    put_changes(&chart);
    for (size_t i = 0; i < series->count; i++) {
        put_point(&chart, i);
    }
    rm_buffer_puts(writing->out, "</div>");
    put_words(&chart);
}

/* ---- the page ----------------------------------------------------------------------------- */

static void put_place(struct writing *writing, size_t first)
{
    const struct rm_trend *trend = writing->trend;
    rm_trend_say_place(writing->text, &trend->series[first]);
    rm_html_element(writing->out, "<h2><bdi>", rm_page_shown(writing->page, writing->text),
                    "</bdi></h2>");
    rm_buffer_puts(writing->out, "<div class=charts>");
    for (size_t i = first; i < trend->series_count; i++) {
        if (rm_trend_is_same_place(&trend->series[first], &trend->series[i])) {
            put_chart(writing, &trend->series[i]);
        }
    }
    rm_buffer_puts(writing->out, "</div>\n");
}

static void put_file(struct writing *writing)
{
    const struct rm_trend *trend = writing->trend;
    const struct rm_html_file file = {writing->out, "Benchmarks over time", false};
    rm_html_file_begin(&file);
    rm_trend_say_title(writing->text, trend);
    rm_html_element(writing->out, "<p class=meta>", writing->text, "</p>");
    rm_html_file_main(&file);
    rm_buffer_puts(writing->out,
                   "<p class=note>A dot is the median of a benchmark, the line through it where it "
                   "lies (95 %). A dashed line is a change of the level: there those before and "
                   "after differ by more than in 99 of 100 random orders (E-divisive).</p>\n");
    for (size_t i = 0; i < trend->series_count; i++) {
        if (rm_trend_is_first_of_place(trend, i)) {
            put_place(writing, i);
        }
    }
    if (trend->left_out > 0) {
        rm_buffer_printf(writing->out,
                         "<p class=note>%zu values of benchmarks are left out: only the first %u "
                         "series are shown.</p>",
                         trend->left_out, RM_TREND_SERIES);
    }
    if (trend->machines > 1) {
        rm_buffer_printf(writing->out,
                         "<p class=note>%zu kinds of machines: what they measured is not "
                         "compared.</p>",
                         trend->machines);
    }
    rm_html_file_end(&file, NULL);
}

resmon_status rm_trend_page_put(struct rm_buffer *out, const struct rm_trend *trend)
{
    struct rm_page page = {.is_broken = false};
    struct writing writing = {.page = &page, .out = out, .trend = trend};
    put_file(&writing);
    resmon_status status =
        page.is_broken ? rm_error(RESMON_ENOMEM, "out of memory for a page") : RESMON_OK;
    rm_arena_free(&page.arena);
    return status;
}
