/* SPDX-License-Identifier: MIT */
#include "view/plots.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/compiler.h"
#include "view/diff.h"
#include "view/html.h"

/* ---- axes ------------------------------------------------------------------------------- */

#define ROOM   0.05 /* of the whole, on both sides */
#define WANTED 5.0  /* ticks, about */

/* What the numbers of a unit are round in: bytes in powers of 1024. */
static double scale_of(double size, const char *unit)
{
    double scale = 1.0;
    while (strcmp(unit, "B") == 0 && size >= 1024.0 * scale) {
        scale *= 1024.0;
    }
    return scale;
}

/* 1, 2 or 5 times a power of ten. */
static double round_step(double least)
{
    double power = pow(10.0, floor(log10(least)));
    double times = least / power;
    return power * (times <= 1.0 ? 1.0 : times <= 2.0 ? 2.0 : times <= 5.0 ? 5.0 : 10.0);
}

bool rm_axis_open(struct rm_axis *axis, double low, double high, const char *unit)
{
    double size = fmax(fabs(low), fabs(high)), wide = high - low;
    *axis = (struct rm_axis){.tick_count = 0};
    if (!isfinite(wide) || !(size < 1e300)) {
        return false;
    }
    wide = wide > 1e-9 * size ? wide : size > 0.0 ? 0.02 * size : 1.0;
    double middle = low + (high - low) / 2.0;
    axis->low = middle - wide * (0.5 + ROOM);
    axis->high = middle + wide * (0.5 + ROOM);
    double scale = scale_of(size, unit);
    double step = scale * round_step(wide / WANTED / scale);
    double tick = ceil(axis->low / step) * step;
    while (tick <= axis->high && axis->tick_count < RM_AXIS_TICKS) {
        axis->ticks[axis->tick_count++] = fabs(tick) < 0.5 * step ? 0.0 : tick;
        tick += step;
    }
    return true;
}

double rm_axis_percent(const struct rm_axis *axis, double value)
{
    double share = (value - axis->low) / (axis->high - axis->low);
    return 100.0 * fmin(fmax(share, 0.0), 1.0);
}

/* ---- as HTML ------------------------------------------------------------------------------ */

static void put_mark(struct rm_buffer *out, const struct rm_axis *axis, const char *class_name,
                     double value)
{
    rm_buffer_printf(out, "<i class=%s style=\"left:", class_name);
    rm_html_number(out, rm_axis_percent(axis, value), 2);
    rm_buffer_puts(out, "%");
}

static void put_band(struct rm_buffer *out, const struct rm_axis *axis, double low, double high)
{
    put_mark(out, axis, "band", low);
    rm_buffer_puts(out, ";width:");
    rm_html_number(out, rm_axis_percent(axis, high) - rm_axis_percent(axis, low), 2);
    rm_buffer_puts(out, "%\"></i>");
}

void rm_axis_put_ticks(struct rm_buffer *out, const struct rm_axis *axis,
                       const char *const texts[RM_AXIS_TICKS])
{
    rm_buffer_puts(out, "<div class=\"row axis\" aria-hidden=true><span class=name></span><span "
                        "class=field>");
    for (size_t i = 0; i < axis->tick_count; i++) {
        put_mark(out, axis, "tick", axis->ticks[i]);
        rm_html_element(out, "\">", texts[i], "</i>");
    }
    rm_buffer_puts(out, "</span><span class=said></span></div>");
}

/* ---- dots ------------------------------------------------------------------------------- */

#define MOST_DOTS 600U
#define DOT_WIDTH 0.9 /* percent of the axis */
#define DOT_HIGH  7.0 /* px */
#define MOST_HIGH 63.0
#define ROW_ROOM  11.0

struct dots {
    struct rm_buffer *out;
    struct rm_page *page;
    const char *unit;
    struct rm_axis axis;
};

static const char *value_text(const struct dots *plot, double value)
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
static unsigned stack(const struct dots *plot, const double *sorted, size_t count, unsigned *levels)
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

static void put_median(const struct dots *plot, const struct rm_between *median)
{
    if (!isnan(median->low)) {
        put_band(plot->out, &plot->axis, median->low, median->high);
    }
    put_mark(plot->out, &plot->axis, "mid", median->value);
    rm_html_element(plot->out, "\" title=\"median ", value_text(plot, median->value), "\"></i>");
}

static void put_dots(const struct dots *plot, const double *sorted, size_t count,
                     const struct rm_between *median, unsigned *levels)
{
    unsigned most = stack(plot, sorted, count, levels);
    double each = fmin(DOT_HIGH, MOST_HIGH / most);
    rm_buffer_puts(plot->out, "<span class=field style=\"height:");
    rm_html_number(plot->out, each * most + ROW_ROOM, 1);
    rm_buffer_puts(plot->out, "px\">");
    put_median(plot, median);
    for (size_t i = 0; i < count; i++) {
        put_mark(plot->out, &plot->axis, "dot", sorted[i]);
        rm_buffer_puts(plot->out, ";bottom:");
        rm_html_number(plot->out, 3.0 + each * levels[i], 1);
        rm_html_element(plot->out, "px\" title=\"", value_text(plot, sorted[i]), "\"></i>");
    }
    rm_buffer_puts(plot->out, "</span>");
}

static void put_dots_row(const struct dots *plot, const struct rm_dots_row *row)
{
    double *sorted = NULL;
    struct rm_values known;
    struct rm_between median;
    bool is_there = rm_group_known(row->row, &sorted, &known) == RESMON_OK &&
                    rm_median_of(known, 0.95, &median) == RESMON_OK;
    unsigned *levels = is_there ? rm_page_alloc(plot->page, known.count + 1, sizeof *levels) : NULL;
    if (levels != NULL) {
        qsort(sorted, known.count, sizeof *sorted, compare_values);
        rm_buffer_printf(plot->out, "<div class=\"row k%d\"><span class=name><bdi>",
                         row->colour % RM_PAGE_COLOURS);
        rm_html_element(plot->out, "", rm_page_shown_at_most(plot->page, row->label, 120),
                        "</bdi></span>");
        put_dots(plot, sorted, thin(sorted, known.count), &median, levels);
        rm_html_element(plot->out, "<span class=said>", value_text(plot, median.value),
                        "</span></div>");
    }
    plot->page->is_broken |= levels == NULL;
    rm_free(sorted);
}

/* ---- the plot ----------------------------------------------------------------------------- */

static void put_dot_ticks(const struct dots *plot)
{
    const char *texts[RM_AXIS_TICKS];
    for (size_t i = 0; i < plot->axis.tick_count; i++) {
        texts[i] = value_text(plot, plot->axis.ticks[i]);
    }
    rm_axis_put_ticks(plot->out, &plot->axis, texts);
}

static bool has_values(const struct rm_group_row *row)
{
    size_t at = 0;
    while (row != NULL && at < row->count && isnan(row->values[at])) {
        at++;
    }
    return row != NULL && at < row->count;
}

void rm_dots_draw(struct rm_buffer *out, const struct rm_page_block *block)
{
    const struct rm_dots *dots = block->what;
    struct dots plot = {.out = out, .page = dots->page, .unit = dots->unit};
    double low = RM_NAN, high = RM_NAN;
    size_t most = 0; /* runs of a row */
    for (size_t i = 0; i < dots->count; i++) {
        const struct rm_group_row *row = dots->rows[i].row;
        most = row != NULL && row->count > most ? row->count : most;
        for (size_t k = 0; row != NULL && k < row->count; k++) {
            low = fmin(low, row->values[k]); /* not of NaN */
            high = fmax(high, row->values[k]);
        }
    }
    if (!rm_axis_open(&plot.axis, low, high, dots->unit)) {
        return;
    }
    rm_html_element(out, "<figure><figcaption><b>", dots->title, "</b>");
    if (most > MOST_DOTS) {
        rm_buffer_printf(out, " <small>of %zu runs %u, evenly by their order</small>", most,
                         MOST_DOTS);
    }
    rm_buffer_puts(out, "</figcaption><div class=dots>");
    for (size_t i = 0; i < dots->count; i++) {
        if (has_values(dots->rows[i].row)) {
            put_dots_row(&plot, &dots->rows[i]);
        }
    }
    put_dot_ticks(&plot);
    rm_buffer_puts(out, "</div></figure>");
}

/* ---- intervals -------------------------------------------------------------------------- */

#define LEAST_SHARE 2.0 /* percent to both sides that the axis has */
#define MOST_SHARE  100.0

struct forest {
    struct rm_buffer *out;
    struct rm_page *page;
    struct rm_axis axis;
};

const char *rm_verdict_class(enum rm_verdict verdict)
{
    static const char *const classes[] = {"", "fine", "unsure", "worse"};
    return classes[verdict];
}

/* ---- what is drawn ------------------------------------------------------------------------ */

static double percent_of(const struct rm_diff_row *row, double amount)
{
    return 100.0 * amount / row->before.value;
}

static bool has_share(const struct rm_diff_row *row)
{
    return row->before.value > 0.0 && isfinite(percent_of(row, row->shift.value));
}

/* The farthest that the axis must go, for all rows. */
static double reach_of(const struct rm_diff *diff)
{
    double reach = LEAST_SHARE;
    unsigned changed = 0;
    for (size_t i = 0; i < diff->row_count; i++) {
        const struct rm_diff_row *row = &diff->rows[i];
        if (!rm_diff_is_shown(row, false, &changed) || !has_share(row)) {
            continue;
        }
        reach = fmax(reach, fabs(percent_of(row, row->shift.value)));
        reach = fmax(reach, fabs(percent_of(row, row->shift.low))); /* not of NaN */
        reach = fmax(reach, fabs(percent_of(row, row->shift.high)));
        reach = row->rule != NULL ? fmax(reach, percent_of(row, row->allowance)) : reach;
    }
    return fmin(reach, MOST_SHARE);
}

/* ---- rows --------------------------------------------------------------------------------- */

static void put_field(const struct forest *plot, const struct rm_diff_row *row)
{
    struct rm_buffer *out = plot->out;
    rm_buffer_puts(out, "<span class=field>");
    put_mark(out, &plot->axis, "zero", 0.0);
    rm_buffer_puts(out, "\"></i>");
    if (row->rule != NULL) {
        put_mark(out, &plot->axis, "allowed", percent_of(row, row->allowance));
        rm_html_element(out, "\" title=\"", rm_page_shown(plot->page, row->rule->text), "\"></i>");
    }
    if (!row->is_counted && !isnan(row->shift.low)) {
        put_band(out, &plot->axis, percent_of(row, row->shift.low),
                 percent_of(row, row->shift.high));
    }
    put_mark(out, &plot->axis, "dot", percent_of(row, row->shift.value));
    rm_buffer_puts(out, "\"></i></span>");
}

static void put_forest_row(const struct forest *plot, const struct rm_diff_row *row)
{
    rm_buffer_printf(plot->out, "<div class=\"row %s\"><span class=name><bdi>",
                     rm_verdict_class(row->verdict));
    rm_html_element(plot->out, "", rm_diff_row_name(plot->page, row), "</bdi></span>");
    put_field(plot, row);
    rm_html_element(plot->out, "<span class=said><b>", rm_diff_row_change(plot->page, row),
                    "</b> ");
    rm_html_element(plot->out, "", rm_verdict_name(row->verdict), "</span></div>");
}

static void put_forest_ticks(const struct forest *plot)
{
    const char *texts[RM_AXIS_TICKS];
    for (size_t i = 0; i < plot->axis.tick_count; i++) {
        double tick = plot->axis.ticks[i];
        bool is_whole = fabs(tick - round(tick)) < 1e-9;
        texts[i] = rm_page_print(plot->page, "%s%s %%", tick > 0.0 ? "+" : "",
                                 rm_page_fixed(plot->page, tick, is_whole ? 0 : 1));
    }
    rm_axis_put_ticks(plot->out, &plot->axis, texts);
}

void rm_intervals_draw(struct rm_buffer *out, const struct rm_page_block *block)
{
    const struct rm_intervals *intervals = block->what;
    const struct rm_diff *diff = intervals->diff;
    struct forest plot = {.out = out, .page = intervals->page};
    double reach = reach_of(diff);
    unsigned changed = 0;
    bool has_any = false;
    (void)rm_axis_open(&plot.axis, -reach, reach, "%");
    for (size_t i = 0; i < diff->row_count; i++) {
        if (!rm_diff_is_shown(&diff->rows[i], false, &changed) || !has_share(&diff->rows[i])) {
            continue;
        }
        if (!has_any) {
            rm_buffer_puts(
                out, "<figure><figcaption><b>Change</b> <small>of the median difference; the band: "
                     "its 95 % confidence interval; the dashed line: the limit of the rule; to the "
                     "right: more than before</small></figcaption><div class=\"dots forest\">");
        }
        has_any = true;
        put_forest_row(&plot, &diff->rows[i]);
    }
    if (has_any) {
        put_forest_ticks(&plot);
        rm_buffer_puts(out, "</div></figure>");
    }
}
