/* SPDX-License-Identifier: MIT */
#include "view/plots.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/compiler.h"
#include "compare/ranks.h"
#include "view/diff.h"
#include "view/html.h"

/* ---- points ---------------------------------------------------------------------------------- */

#define LEAST_S   1e-9 /* that a row is taken to have lasted */
#define GAP_STEPS 8    /* of the usual distance, without a reading, are a gap */
#define GAP_PART  20   /* where they are this part of the whole, too */
#define SEEN_PART 100  /* of the largest value, from which on a band is seen */

struct point {
    size_t row; /* or group of rows */
    double time, weight, mean, low, high;
};

struct points {
    struct rm_page *page;
    struct point *items; /* only while the line is made: rm_free() */
    size_t count;
};

/* Room that is given back with rm_free(): a row takes some 100 bytes, and a page has many lines. */
static void *scratch(struct rm_page *page, size_t count, size_t size)
{
    void *found = rm_alloc(count + 1, size);
    page->is_broken |= found == NULL;
    return found;
}

static double time_of(const struct resmon_run *run, size_t row)
{
    return (double)run->t_last[row] / 1e9;
}

/* ---- rows ------------------------------------------------------------------------------- */

/* Points of one group of rows become one, extremes kept. */
static void merge(struct points *points, size_t group)
{
    size_t kept = 0;
    if (group <= 1) {
        return;
    }
    for (size_t i = 0; i < points->count; i++) {
        struct point one = points->items[i];
        struct point *last = &points->items[kept > 0 ? kept - 1 : 0];
        if (kept > 0 && last->row == one.row / group) {
            last->time = one.time;
            last->mean += one.mean * one.weight;
            last->weight += one.weight;
            last->low = one.low < last->low ? one.low : last->low;
            last->high = one.high > last->high ? one.high : last->high;
        } else {
            one.row /= group;
            one.mean *= one.weight;
            points->items[kept++] = one;
        }
    }
    points->count = kept;
    for (size_t i = 0; i < kept; i++) {
        points->items[i].mean /= points->items[i].weight;
    }
}

static int compare_sizes(const void *left, const void *right)
{
    const size_t *a = left, *b = right;
    return (*a > *b) - (*a < *b);
}

/* The median distance of neighbours, in rows. */
static size_t usual_step(const struct points *points)
{
    size_t count = points->count > 1 ? points->count - 1 : 0;
    size_t *steps = scratch(points->page, count, sizeof *steps);
    if (count == 0 || steps == NULL) {
        rm_free(steps);
        return 1;
    }
    for (size_t i = 0; i < count; i++) {
        steps[i] = points->items[i + 1].row - points->items[i].row;
    }
    qsort(steps, count, sizeof *steps, compare_sizes);
    size_t usual = steps[count / 2];
    rm_free(steps);
    return usual;
}

static void put(struct rm_points *line, double time, double mean, double low, double high)
{
    line->times[line->count] = time;
    line->mean[line->count] = mean;
    line->low[line->count] = low;
    line->high[line->count] = high;
    line->count++;
}

/* Sources that cost much are read less often than there are rows: that is no gap. */
static void put_all(struct rm_points *line, const struct points *points, double span)
{
    size_t usual = usual_step(points);
    for (size_t i = 0; i < points->count; i++) {
        const struct point *one = &points->items[i];
        const struct point *before = one - (i > 0 ? 1 : 0);
        if (one->row - before->row > GAP_STEPS * usual &&
            one->time - before->time > span / GAP_PART) {
            put(line, (one->time + before->time) / 2.0, RM_NAN, RM_NAN, RM_NAN);
        }
        put(line, one->time, one->mean, one->low, one->high);
    }
}

static bool has_band(const struct rm_points *line)
{
    double top = 0.0;
    for (size_t i = 0; i < line->count; i++) {
        top = fabs(line->high[i]) > top ? fabs(line->high[i]) : top;
    }
    for (size_t i = 0; i < line->count; i++) {
        if (line->high[i] - line->low[i] > top / SEEN_PART) {
            return true;
        }
    }
    return false;
}

static struct rm_points finished(struct points *points, const struct resmon_run *run, size_t limit)
{
    size_t group = (run->row_count + limit - 1) / limit;
    double span = run->row_count > 0 ? time_of(run, run->row_count - 1) : 0.0;
    merge(points, group);
    size_t most = 2 * points->count;
    struct rm_points line = {
        .times = rm_page_alloc(points->page, most, sizeof(double)),
        .mean = rm_page_alloc(points->page, most, sizeof(double)),
        .low = rm_page_alloc(points->page, most, sizeof(double)),
        .high = rm_page_alloc(points->page, most, sizeof(double)),
    };
    if (points->page->is_broken) {
        rm_free(points->items);
        return (struct rm_points){0};
    }
    put_all(&line, points, span);
    rm_free(points->items);
    if (!has_band(&line)) {
        line.low = line.high = NULL;
    }
    return line;
}

static struct points points_for(struct rm_page *page, const struct resmon_run *run)
{
    struct points points = {.page = page};
    points.items = scratch(page, run->row_count, sizeof *points.items);
    return points;
}

struct rm_points rm_points_of_column(struct rm_page *page, const struct resmon_run *run,
                                     size_t column, double factor, size_t limit)
{
    if (run->row_count == 0) {
        return (struct rm_points){0};
    }
    const double *mean = rm_run_series(run, column, RESMON_SERIES_MEAN);
    const double *low = rm_run_series(run, column, RESMON_SERIES_MIN);
    const double *high = rm_run_series(run, column, RESMON_SERIES_MAX);
    struct points points = points_for(page, run);
    double before = RM_NAN;
    for (size_t row = 0; points.items != NULL && row < run->row_count; row++) {
        if (isfinite(mean[row] * factor)) {
            double time = time_of(run, row);
            points.items[points.count++] = (struct point){
                .row = row,
                .time = time,
                .weight = time > before ? time - before : LEAST_S,
                .mean = mean[row] * factor,
                .low = (isfinite(low[row]) ? low[row] : mean[row]) * factor,
                .high = (isfinite(high[row]) ? high[row] : mean[row]) * factor,
            };
            before = time;
        }
    }
    return finished(&points, run, limit);
}

struct rm_points rm_points_of_rows(struct rm_page *page, const struct resmon_run *run,
                                   const double *values, size_t limit)
{
    struct points points = points_for(page, run);
    for (size_t row = 0; points.items != NULL && row < run->row_count; row++) {
        if (!isnan(values[row])) {
            double time = time_of(run, row);
            double since = row > 0 ? time - time_of(run, row - 1) : 0.0;
            double weight = since > LEAST_S ? since : LEAST_S;
            points.items[points.count++] =
                (struct point){row, time, weight, values[row], values[row], values[row]};
        }
    }
    return finished(&points, run, limit);
}

/* ---- power ------------------------------------------------------------------------------ */

/* A reading of joules. */
struct reading {
    size_t row;
    double total;
};

/* Those in which the counter had grown, `least` rows apart. */
static size_t find_grown(const struct reading *known, size_t count, size_t least,
                         struct reading *grown)
{
    size_t found = 0;
    for (size_t i = 0; i < count; i++) {
        bool is_first = found == 0;
        if (is_first || (known[i].total > grown[found - 1].total &&
                         (found == 1 || known[i].row - grown[found - 1].row >= least))) {
            grown[found++] = known[i];
        }
    }
    return found;
}

static size_t pace_of(struct rm_page *page, const struct reading *grown, size_t count)
{
    struct points points = {.page = page, .count = count};
    points.items = scratch(page, count, sizeof *points.items);
    for (size_t i = 0; points.items != NULL && i < count; i++) {
        points.items[i].row = grown[i].row;
    }
    size_t pace = count > 1 && points.items != NULL ? usual_step(&points) : 0;
    rm_free(points.items);
    return pace;
}

static void fill(double *powers, size_t from, size_t to, double watts)
{
    for (size_t row = from; row < to; row++) {
        powers[row] = watts;
    }
}

/* Where it stood still for longer than usual, it drew nothing at first. */
static void fill_powers(const struct resmon_run *run, const struct reading *grown, size_t count,
                        size_t pace, double *powers)
{
    for (size_t i = 1; i < count; i++) {
        size_t before = grown[i - 1].row, row = grown[i].row;
        size_t begin = row - before <= GAP_STEPS * pace ? before : row - pace;
        double seconds = time_of(run, row) - time_of(run, begin);
        double watts =
            (grown[i].total - grown[i - 1].total) / (seconds > LEAST_S ? seconds : LEAST_S);
        fill(powers, before + 1, begin + 1, 0.0);
        fill(powers, begin + 1, row + 1, watts);
    }
}

/* What power is found with. */
struct finding {
    struct reading *known, *grown;
    double *powers; /* of each row; NaN: not known */
};

static void find_powers(struct rm_page *page, const struct resmon_run *run, const double *totals,
                        size_t least, const struct finding *finding)
{
    const struct reading *known = finding->known, *grown = finding->grown;
    size_t count = 0;
    fill(finding->powers, 0, run->row_count, RM_NAN);
    for (size_t row = 0; row < run->row_count; row++) {
        if (isfinite(totals[row])) {
            finding->known[count++] = (struct reading){row, totals[row]};
        }
    }
    size_t found = find_grown(known, count, least, finding->grown);
    size_t pace = pace_of(page, grown, found);
    fill_powers(run, grown, found, pace, finding->powers);
    if (count > 0 && known[count - 1].row - grown[found - 1].row > GAP_STEPS * pace) {
        fill(finding->powers, grown[found - 1].row + 1, known[count - 1].row + 1, 0.0);
    }
}

void rm_points_add_power(struct rm_page *page, const struct resmon_run *run, size_t column,
                         size_t least, double *watts)
{
    if (run->row_count == 0) {
        return;
    }
    const struct finding finding = {
        .known = scratch(page, run->row_count, sizeof *finding.known),
        .grown = scratch(page, run->row_count, sizeof *finding.grown),
        .powers = scratch(page, run->row_count, sizeof *finding.powers),
    };
    if (finding.known != NULL && finding.grown != NULL && finding.powers != NULL) {
        find_powers(page, run, rm_run_series(run, column, RESMON_SERIES_LAST), least, &finding);
        for (size_t row = 0; row < run->row_count; row++) {
            double more = finding.powers[row];
            double sum = isnan(watts[row]) ? more : watts[row] + more;
            watts[row] = isnan(more) ? watts[row] : sum;
        }
    }
    rm_free(finding.known);
    rm_free(finding.grown);
    rm_free(finding.powers);
}

/* ---- what a line is --------------------------------------------------------------------- */

double rm_points_top(const struct rm_points *points)
{
    const double *values = points->high != NULL ? points->high : points->mean;
    double top = RM_NAN;
    for (size_t i = 0; i < points->count; i++) {
        top = isnan(top) || values[i] > top ? values[i] : top;
    }
    return isnan(top) ? 0.0 : top;
}

bool rm_points_are_there(const struct rm_points *points)
{
    for (size_t i = 0; i < points->count; i++) {
        if (!isnan(points->mean[i])) {
            return true;
        }
    }
    return false;
}

/* ---- plots ----------------------------------------------------------------------------------- */

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
