/* SPDX-License-Identifier: MIT */
#include "view/benchmarks.h"

#include <math.h>
#include <string.h>

#include "base/compiler.h"
#include "view/html.h"
#include "view/plots.h"
#include "view/view.h"

#define STRIP_COLUMNS 40U

/* ---- texts -------------------------------------------------------------------------------- */

static const char *time_text(struct rm_page *page, const struct rm_trend_document *document)
{
    return rm_page_time(page, document->realtime_ns, false);
}

static const char *title_of(struct rm_page *page, const struct rm_trend *trend)
{
    const char *first = "", *last = "";
    if (trend->count > 0) {
        first = time_text(page, &trend->documents[0]);
        last = time_text(page, &trend->documents[trend->count - 1]);
    }
    bool has_times = first[0] != '\0' && last[0] != '\0';
    return rm_page_print(page, "%zu benchmark%s%s%s%s%s", trend->count,
                         trend->count == 1 ? "" : "s", has_times ? ", from " : "",
                         has_times ? first : "", has_times ? " to " : "", has_times ? last : "");
}

static const char *series_name(struct rm_page *page, const struct rm_trend_series *series)
{
    return rm_figure_name(page, series->path, series->figure);
}

static const char *place_of(struct rm_page *page, const struct rm_trend_series *series)
{
    const struct rm_group_machine *machine = &series->group->machine;
    const char *const texts[] = {
        series->group->name,
        machine->cpu_model[0] != '\0' ? rm_page_print(page, "on %s", machine->cpu_model) : "",
        machine->cpus > 0.0 ? rm_page_print(page, "%.0f CPUs", machine->cpus) : "",
        machine->kernel[0] != '\0' ? rm_page_print(page, "kernel %s", machine->kernel) : ""};
    return rm_page_shown(page, rm_page_join(page, ", ", texts, RM_ARRAY_LEN(texts)));
}

static const char *document_text(struct rm_page *page, const struct rm_trend_document *document)
{
    const char *time = time_text(page, document);
    bool has_time = time[0] != '\0';
    return rm_page_print(page, "%s%s%s%s", rm_page_shown_at_most(page, document->label, 200),
                         has_time ? " (" : "", time, has_time ? ")" : "");
}

static const char *change_text(struct rm_page *page, const struct rm_trend *trend,
                               const struct rm_trend_series *series,
                               const struct rm_trend_change *change)
{
    const char *unit = rm_figures[series->figure].unit;
    double percent = 100.0 * change->shift.value / change->before;
    const char *by = rm_page_signed(page, change->shift.value, unit);
    if (change->before > 0.0 && isfinite(percent)) {
        by = rm_page_print(page, "%s%s %% (%s)", percent < 0.0 ? "-" : "+",
                           rm_page_fixed(page, fabs(percent), 1), by);
    }
    return rm_page_print(
        page, "at %s: %s, then %s: %s, p %s",
        document_text(page, &trend->documents[series->points[change->at].document]),
        rm_page_value(page, change->before, unit), rm_page_value(page, change->after, unit), by,
        rm_page_fixed(page, change->p, 3));
}

static bool is_same_place(const struct rm_trend_series *one, const struct rm_trend_series *other)
{
    char text[512];
    return strcmp(one->group->name, other->group->name) == 0 &&
           rm_group_is_same_machine(&one->group->machine, &other->group->machine, text,
                                    sizeof text);
}

static bool is_first_of_place(const struct rm_trend *trend, size_t index)
{
    size_t k = 0;
    while (k < index && !is_same_place(&trend->series[k], &trend->series[index])) {
        k++;
    }
    return k == index;
}

/* ---- the table ---------------------------------------------------------------------------- */

/* The last medians as a line of characters in eight levels. */
static void put_strip(char *text, const struct rm_trend_series *series)
{
    static const char *const levels[] = {"_", ".", "-", "=", "*", "%", "#", "@"};
    size_t first = series->count > STRIP_COLUMNS ? series->count - STRIP_COLUMNS : 0;
    double low = HUGE_VAL, high = -HUGE_VAL;
    text[0] = '\0';
    for (size_t i = first; i < series->count; i++) {
        low = fmin(low, series->points[i].median.value);
        high = fmax(high, series->points[i].median.value);
    }
    for (size_t i = first; i < series->count; i++) {
        double share = high > low ? (series->points[i].median.value - low) / (high - low) : 0.0;
        text[i - first] = levels[(size_t)(share * 7.99)][0];
        text[i - first + 1] = '\0';
    }
}

static void add_row(struct rm_page *page, struct rm_page_table *table,
                    const struct rm_trend_series *series)
{
    struct rm_page_cell *cells = rm_page_row(page, table);
    const char *unit = rm_figures[series->figure].unit;
    char text[STRIP_COLUMNS + 1];
    put_strip(text, series);
    rm_page_set(&cells[0], series_name(page, series));
    rm_page_set(&cells[1], rm_page_value(page, series->points[0].median.value, unit));
    rm_page_set(&cells[2],
                rm_page_value(page, series->points[series->count - 1].median.value, unit));
    rm_page_set(&cells[3], rm_page_print(page, "%zu", series->count));
    rm_page_set(&cells[4], rm_page_print(page, "%zu", series->change_count));
    rm_page_set(&cells[5], rm_page_print(page, "%s", text));
}

/* A table of series `first` and the others of the same command and machine, and their changes. */
static void add_table(struct rm_page *page, const struct rm_trend *trend, size_t first)
{
    static const char *const headings[] = {"", "first", "last", "benchmarks", "changes", "trend"};
    struct rm_page_table *table =
        rm_page_table_new(page, "trend", place_of(page, &trend->series[first]),
                          RM_HEADERS(headings, RM_ARRAY_LEN(headings), 1), trend->series_count);
    if (table == NULL) {
        return;
    }
    table->columns[5].is_left = true;
    table->columns[5].is_code = true;
    (void)rm_page_add_table(page, table);
    struct rm_page_list *list = rm_page_add_list(page, "");
    for (size_t i = first; i < trend->series_count; i++) {
        const struct rm_trend_series *series = &trend->series[i];
        if (is_same_place(&trend->series[first], series)) {
            add_row(page, table, series);
            for (size_t k = 0; k < series->change_count; k++) {
                rm_page_say(page, list, "%s %s", series_name(page, series),
                            change_text(page, trend, series, &series->changes[k]));
            }
        }
    }
}

/* ---- charts ------------------------------------------------------------------------------- */

/* A chart of one series: benchmarks from left to right, values upwards. */
struct chart {
    struct rm_page *page;
    struct rm_buffer *out;
    const struct rm_trend *trend;
    const struct rm_trend_series *series;
    struct rm_axis axis;
};

static const char *value_text(const struct chart *chart, double value)
{
    return rm_page_value(chart->page, value, rm_figures[chart->series->figure].unit);
}

/* The position of benchmark `index`, in percent from the left. */
static double across(const struct chart *chart, double index)
{
    return 100.0 * (index + 0.5) / (double)chart->series->count;
}

static void put_mark(const struct chart *chart, const char *class_name, double left, double bottom)
{
    struct rm_buffer *out = chart->out;
    rm_buffer_printf(out, "<i class=%s style=\"left:", class_name);
    rm_html_number(out, left, 2);
    rm_buffer_puts(out, "%;bottom:");
    rm_html_number(out, bottom, 2);
    rm_buffer_puts(out, "%");
}

/* The median, and a line for its confidence interval. */
static void put_point(const struct chart *chart, size_t index)
{
    struct rm_buffer *out = chart->out;
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
    const char *document = document_text(chart->page, &chart->trend->documents[point->document]);
    put_mark(chart, "dot", left, rm_axis_percent(&chart->axis, median->value));
    rm_html_element(out, "\" title=\"", document, ": ");
    rm_html_element(out, "", value_text(chart, median->value), "\"></i>");
}

/* The level between two changes. */
static void put_level(const struct chart *chart, size_t first, size_t end, double value)
{
    struct rm_buffer *out = chart->out;
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
        put_mark(chart, change->shift.value > 0.0 ? "\"change worse\"" : "\"change fine\"",
                 across(chart, (double)change->at - 0.5), 0.0);
        rm_html_element(chart->out, "\" title=\"",
                        change_text(chart->page, chart->trend, series, change), "\"></i>");
    }
}

static void put_ticks(const struct chart *chart)
{
    struct rm_buffer *out = chart->out;
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
        low = fmin(fmin(low, median->value), median->low); /* ignores NaN */
        high = fmax(fmax(high, median->value), median->high);
    }
    return rm_axis_open(&chart->axis, low, high, rm_figures[chart->series->figure].unit);
}

static void draw(struct rm_buffer *out, const void *what)
{
    struct chart chart = *(const struct chart *)what;
    const struct rm_trend_series *series = chart.series;
    chart.out = out;
    if (!open_axis(&chart)) {
        return;
    }
    rm_html_element(out, "<figure><figcaption><b>", series_name(chart.page, series),
                    "</b> <small>");
    rm_html_element(out, "", value_text(&chart, series->points[series->count - 1].median.value),
                    " now</small></figcaption><div class=trend>");
    put_ticks(&chart);
    put_changes(&chart);
    for (size_t i = 0; i < series->count; i++) {
        put_point(&chart, i);
    }
    rm_buffer_puts(out, "</div><ul class=remarks>");
    for (size_t i = 0; i < series->change_count; i++) {
        rm_html_element(out, "<li>",
                        change_text(chart.page, chart.trend, series, &series->changes[i]), "</li>");
    }
    rm_buffer_puts(out, "</ul></figure>\n");
}

static void add_charts(struct rm_page *page, const struct rm_trend *trend, size_t first)
{
    (void)rm_page_add(page, RM_BLOCK_TITLE, place_of(page, &trend->series[first]), NULL);
    for (size_t i = first; i < trend->series_count; i++) {
        struct chart *chart = rm_page_alloc(page, 1, sizeof *chart);
        if (chart != NULL && is_same_place(&trend->series[first], &trend->series[i])) {
            *chart = (struct chart){.page = page, .trend = trend, .series = &trend->series[i]};
            rm_page_add_drawing(page, draw, chart)->note = "plot";
        }
    }
}

/* ---- all ---------------------------------------------------------------------------------- */

static void add_places(struct rm_page *page, const struct rm_trend *trend, bool has_charts)
{
    if (has_charts) {
        (void)rm_page_add(page, RM_BLOCK_NOTE,
                          "A dot is the median of a benchmark, the line through it where it lies "
                          "(95 %). A dashed line is a change of the level: there those before and "
                          "after differ by more than in 99 of 100 random orders (E-divisive).",
                          NULL);
    }
    for (size_t i = 0; i < trend->series_count; i++) {
        if (is_first_of_place(trend, i) && has_charts) {
            add_charts(page, trend, i);
        } else if (is_first_of_place(trend, i)) {
            add_table(page, trend, i);
        }
    }
    if (trend->left_out > 0) {
        const char *text = rm_page_print(
            page, "%zu values of benchmarks are left out: only the first %u series are shown",
            trend->left_out, RM_TREND_SERIES);
        (void)rm_page_add(page, RM_BLOCK_NOTE, text, NULL);
    }
    if (trend->machines > 1) {
        const char *text = rm_page_print(
            page, "%zu kinds of machines: what they measured is not compared", trend->machines);
        (void)rm_page_add(page, RM_BLOCK_NOTE, text, NULL);
    }
}

resmon_status rm_trend_write(struct rm_buffer *out, const struct rm_trend *trend, enum rm_form form,
                             size_t width)
{
    struct rm_page page = {.title = "Benchmarks over time"};
    struct rm_render render = {.form = form, .width = width, .meta = title_of(&page, trend)};
    if (form != RM_FORM_HTML) {
        (void)rm_page_add(&page, RM_BLOCK_LINE, render.meta, NULL);
    }
    add_places(&page, trend, form == RM_FORM_HTML);
    return rm_view_render(out, &page, &render);
}
