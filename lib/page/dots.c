/* SPDX-License-Identifier: MIT */
#include "page/dots.h"

#include <math.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "page/axis.h"
#include "page/html_parts.h"

#define COLOURS   8
#define MOST_DOTS 600U
#define DOT_WIDTH 0.9 /* percent of the axis */
#define DOT_HIGH  7.0 /* px */
#define MOST_HIGH 63.0
#define ROW_ROOM  11.0

struct plot {
    struct rm_buffer *out;
    struct rm_page *page;
    const char *unit;
    struct rm_axis axis;
};

static const char *value_text(const struct plot *plot, double value)
{
    return rm_page_value(plot->page, value, plot->unit);
}

/* ---- one row ------------------------------------------------------------------------------ */

static int compare_values(const void *left, const void *right)
{
    const double *a = left, *b = right;
    return (*a > *b) - (*a < *b);
}

/* Of many, some: evenly by their order. */
static size_t thin(double *sorted, size_t count)
{
    for (size_t i = 0; count > MOST_DOTS && i < MOST_DOTS; i++) {
        sorted[i] = sorted[i * (count - 1) / (MOST_DOTS - 1)];
    }
    return count < MOST_DOTS ? count : MOST_DOTS;
}

/* How many lie on each other at most; `levels`: on how many each dot lies. */
static unsigned stack(const struct plot *plot, const double *sorted, size_t count, unsigned *levels)
{
    unsigned most = 0;
    double at = -1.0;
    for (size_t i = 0; i < count; i++) {
        double percent = floor(rm_axis_percent(&plot->axis, sorted[i]) / DOT_WIDTH);
        levels[i] = i > 0 && percent <= at ? levels[i - 1] + 1 : 0;
        at = percent;
        most = levels[i] > most ? levels[i] : most;
    }
    return most + 1;
}

static void put_median(const struct plot *plot, const struct rm_between *median)
{
    if (!isnan(median->low)) {
        rm_axis_put_band(plot->out, &plot->axis, median->low, median->high);
    }
    rm_axis_put_mark(plot->out, &plot->axis, "mid", median->value);
    rm_html_element(plot->out, "\" title=\"median ", value_text(plot, median->value), "\"></i>");
}

static void put_dots(const struct plot *plot, const double *sorted, size_t count,
                     const struct rm_between *median, unsigned *levels)
{
    unsigned most = stack(plot, sorted, count, levels);
    double each = fmin(DOT_HIGH, MOST_HIGH / most);
    rm_buffer_puts(plot->out, "<span class=field style=\"height:");
    rm_html_number(plot->out, each * most + ROW_ROOM, 1);
    rm_buffer_puts(plot->out, "px\">");
    put_median(plot, median);
    for (size_t i = 0; i < count; i++) {
        rm_axis_put_mark(plot->out, &plot->axis, "dot", sorted[i]);
        rm_buffer_puts(plot->out, ";bottom:");
        rm_html_number(plot->out, 3.0 + each * levels[i], 1);
        rm_html_element(plot->out, "px\" title=\"", value_text(plot, sorted[i]), "\"></i>");
    }
    rm_buffer_puts(plot->out, "</span>");
}

static resmon_status put_row(const struct plot *plot, const struct rm_dots_row *row)
{
    double *sorted = NULL;
    struct rm_values known;
    struct rm_between median;
    resmon_status status = rm_group_known(row->row, &sorted, &known);
    status = status == RESMON_OK ? rm_median_of(known, 0.95, &median) : status;
    unsigned *levels = status == RESMON_OK ? rm_alloc(known.count + 1, sizeof *levels) : NULL;
    if (levels != NULL) {
        qsort(sorted, known.count, sizeof *sorted, compare_values);
        rm_buffer_printf(plot->out, "<div class=\"row k%d\"><span class=name><bdi>",
                         row->colour % COLOURS);
        rm_html_element(plot->out, "", rm_page_shown_at_most(plot->page, row->label, 120),
                        "</bdi></span>");
        put_dots(plot, sorted, thin(sorted, known.count), &median, levels);
        rm_html_element(plot->out, "<span class=said>", value_text(plot, median.value),
                        "</span></div>");
    }
    status = status == RESMON_OK && levels == NULL ? RESMON_ENOMEM : status;
    rm_free(levels);
    rm_free(sorted);
    return status;
}

/* ---- the plot ----------------------------------------------------------------------------- */

static void put_ticks(const struct plot *plot)
{
    const char *texts[RM_AXIS_TICKS];
    for (size_t i = 0; i < plot->axis.tick_count; i++) {
        texts[i] = value_text(plot, plot->axis.ticks[i]);
    }
    rm_axis_put_ticks(plot->out, &plot->axis, texts);
}

static bool is_known(const struct rm_group_row *row)
{
    size_t at = 0;
    while (row != NULL && at < row->count && isnan(row->values[at])) {
        at++;
    }
    return row != NULL && at < row->count;
}

resmon_status rm_dots_put(struct rm_buffer *out, struct rm_page *page, const char *title,
                          const char *unit, const struct rm_dots_row *rows, size_t count)
{
    struct plot plot = {.out = out, .page = page, .unit = unit};
    double low = RM_NAN, high = RM_NAN;
    resmon_status status = RESMON_OK;
    size_t most = 0; /* runs of a row */
    for (size_t i = 0; i < count; i++) {
        most = rows[i].row != NULL && rows[i].row->count > most ? rows[i].row->count : most;
        for (size_t k = 0; rows[i].row != NULL && k < rows[i].row->count; k++) {
            low = fmin(low, rows[i].row->values[k]); /* not of NaN */
            high = fmax(high, rows[i].row->values[k]);
        }
    }
    if (!rm_axis_open(&plot.axis, low, high, unit)) {
        return RESMON_OK;
    }
    rm_html_element(out, "<figure><figcaption><b>", title, "</b>");
    if (most > MOST_DOTS) {
        rm_buffer_printf(out, " <small>of %zu runs %u, evenly by their order</small>", most,
                         MOST_DOTS);
    }
    rm_buffer_puts(out, "</figcaption><div class=dots>");
    for (size_t i = 0; i < count && status == RESMON_OK; i++) {
        status = is_known(rows[i].row) ? put_row(&plot, &rows[i]) : RESMON_OK;
    }
    put_ticks(&plot);
    rm_buffer_puts(out, "</div></figure>");
    return status;
}
