/* SPDX-License-Identifier: MIT */
#include "view/plots.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/compiler.h"
#include "compare/ranks.h"
#include "metric/view.h"
#include "view/benchmarks.h"
#include "view/html.h"

/* ---- axes ------------------------------------------------------------------------------- */

#define MARGIN 0.05 /* of the range of values, on both sides */
#define WANTED 5.0  /* ticks, about */

/* The scale in which numbers of a unit are round: powers of 1024 for bytes. */
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
    axis->low = middle - wide * (0.5 + MARGIN);
    axis->high = middle + wide * (0.5 + MARGIN);
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

/* The row of tick labels below the others. */
static void put_ticks(struct rm_buffer *out, const struct rm_axis *axis,
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
    struct rm_page *page;
    const char *title, *unit;
    const struct rm_dots_row *rows;
    size_t count;
    struct rm_buffer *out; /* these two: while it is drawn */
    struct rm_axis axis;
};

static const char *value_text(const struct dots *plot, double value)
{
    return rm_page_value(plot->page, value, plot->unit);
}

static int compare_values(const void *left, const void *right)
{
    const double *a = left, *b = right;
    return (*a > *b) - (*a < *b);
}

/* Thins many values out, evenly by their order. */
static size_t thin(double *sorted, size_t count)
{
    for (size_t i = 0; count > MOST_DOTS && i < MOST_DOTS; i++) {
        sorted[i] = sorted[i * (count - 1) / (MOST_DOTS - 1)];
    }
    return count < MOST_DOTS ? count : MOST_DOTS;
}

/* Stacks dots that would overlap: `levels` is the number of dots below each.  Returns the height of
 * the highest stack. */
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

static void put_dot_ticks(const struct dots *plot)
{
    const char *texts[RM_AXIS_TICKS];
    for (size_t i = 0; i < plot->axis.tick_count; i++) {
        texts[i] = value_text(plot, plot->axis.ticks[i]);
    }
    put_ticks(plot->out, &plot->axis, texts);
}

static bool has_values(const struct rm_group_row *row)
{
    size_t at = 0;
    while (row != NULL && at < row->count && isnan(row->values[at])) {
        at++;
    }
    return row != NULL && at < row->count;
}

static void draw_dots(struct rm_buffer *out, const void *what)
{
    struct dots plot = *(const struct dots *)what;
    double low = RM_NAN, high = RM_NAN;
    size_t most = 0; /* runs of a row */
    plot.out = out;
    for (size_t i = 0; i < plot.count; i++) {
        const struct rm_group_row *row = plot.rows[i].row;
        most = row != NULL && row->count > most ? row->count : most;
        for (size_t k = 0; row != NULL && k < row->count; k++) {
            low = fmin(low, row->values[k]); /* ignores NaN */
            high = fmax(high, row->values[k]);
        }
    }
    if (!rm_axis_open(&plot.axis, low, high, plot.unit)) {
        return;
    }
    rm_html_element(out, "<figure><figcaption><b>", plot.title, "</b>");
    if (most > MOST_DOTS) {
        rm_buffer_printf(out, " <small>of %zu runs %u, evenly by their order</small>", most,
                         MOST_DOTS);
    }
    rm_buffer_puts(out, "</figcaption><div class=dots>");
    for (size_t i = 0; i < plot.count; i++) {
        if (has_values(plot.rows[i].row)) {
            put_dots_row(&plot, &plot.rows[i]);
        }
    }
    put_dot_ticks(&plot);
    rm_buffer_puts(out, "</div></figure>");
}

void rm_page_add_dots(struct rm_page *page, const char *title, const char *unit,
                      const struct rm_dots_row *rows, size_t count)
{
    struct dots *plot = rm_page_alloc(page, 1, sizeof *plot);
    struct rm_dots_row *copy = rm_page_alloc(page, count, sizeof *copy);
    if (plot != NULL && copy != NULL) {
        memcpy(copy, rows, count * sizeof *copy);
        *plot =
            (struct dots){.page = page, .title = title, .unit = unit, .rows = copy, .count = count};
        rm_page_add_drawing(page, draw_dots, plot)->note = "plot";
    }
}

/* ---- intervals -------------------------------------------------------------------------- */

#define LEAST_SHARE 2.0 /* percent to both sides of the axis */
#define MOST_SHARE  100.0

struct forest {
    struct rm_page *page;
    const struct rm_diff *diff;
    struct rm_buffer *out; /* these two: while it is drawn */
    struct rm_axis axis;
};

const char *rm_verdict_class(enum rm_verdict verdict)
{
    static const char *const classes[] = {"", "fine", "unsure", "worse"};
    return classes[verdict];
}

static double percent_of(const struct rm_diff_row *row, double amount)
{
    return 100.0 * amount / row->before.value;
}

static bool has_share(const struct rm_diff_row *row)
{
    return row->before.value > 0.0 && isfinite(percent_of(row, row->shift.value));
}

/* The length of the axis to both sides, for all rows. */
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
        reach = fmax(reach, fabs(percent_of(row, row->shift.low))); /* ignores NaN */
        reach = fmax(reach, fabs(percent_of(row, row->shift.high)));
        reach = row->rule != NULL ? fmax(reach, percent_of(row, row->allowance)) : reach;
    }
    return fmin(reach, MOST_SHARE);
}

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
    rm_html_element(plot->out, "", rm_figure_name(plot->page, row->path, row->figure),
                    "</bdi></span>");
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
    put_ticks(plot->out, &plot->axis, texts);
}

static void draw_forest(struct rm_buffer *out, const void *what)
{
    struct forest plot = *(const struct forest *)what;
    const struct rm_diff *diff = plot.diff;
    double reach = reach_of(diff);
    unsigned changed = 0;
    bool has_any = false;
    plot.out = out;
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

void rm_page_add_intervals(struct rm_page *page, const struct rm_diff *diff)
{
    struct forest *plot = rm_page_alloc(page, 1, sizeof *plot);
    if (plot != NULL) {
        *plot = (struct forest){.page = page, .diff = diff};
        (void)rm_page_add_drawing(page, draw_forest, plot);
    }
}

/* ---- heat maps ------------------------------------------------------------------------------- */

#define MOST_LINES   512 /* of a picture; of more nodes, neighbors share a line */
#define MOST_NAMES   48  /* nodes with names beside the picture */
#define LINE_PIXELS  16  /* height of a node with a name */
#define WHOLE_PIXELS 480 /* height of the picture of more nodes */
#define COLOURS      256 /* 0: the value is not known */
#define HEAD_BYTES   54  /* of a BMP file, before its colors */

/* A picture: a byte for each node and cell of time, from the top left. */
struct picture {
    size_t lines, columns;
    unsigned char *bytes;
};

struct map {
    struct rm_buffer *out;
    struct rm_page *page;
    const struct resmon_run *run;
    const char *title, *unit;
    struct rm_view_row row;
    int64_t all; /* the column of all nodes */
    double most; /* the value of the darkest color, in `unit` */
};

/* viridis, by S. van der Walt and N. Smith, 2015 (CC0): perceptually uniform, also in gray. */
static const unsigned char viridis[][3] = {
    {68, 1, 84},    {72, 40, 120},  {62, 74, 137},  {49, 104, 142}, {38, 130, 142},
    {31, 158, 137}, {53, 183, 121}, {110, 206, 88}, {181, 222, 43}, {253, 231, 37}};
static const unsigned char unknown[3] = {214, 218, 224};

static void colour_at(double share, unsigned char rgb[3])
{
    const size_t last = RM_ARRAY_LEN(viridis) - 1;
    double at = share * (double)last;
    size_t below = (size_t)at;
    below = below < last ? below : last - 1;
    for (int i = 0; i < 3; i++) {
        double from = viridis[below][i], to = viridis[below + 1][i];
        rgb[i] = (unsigned char)lround(from + (to - from) * (at - (double)below));
    }
}

static void put_number(unsigned char *at, uint32_t number)
{
    for (int i = 0; i < 4; i++) {
        at[i] = (unsigned char)(number >> 8 * i);
    }
}

/* A Windows BMP file with a table of colors: uncompressed, lines from the bottom up. */
static unsigned char *make_file(const struct map *map, const struct picture *picture,
                                size_t *ret_bytes)
{
    size_t stride = (picture->columns + 3) / 4 * 4, table = HEAD_BYTES + 4 * COLOURS;
    unsigned char *file = rm_page_alloc(map->page, table + stride * picture->lines, 1);
    if (file == NULL) {
        return NULL;
    }
    *ret_bytes = table + stride * picture->lines;
    file[0] = 'B';
    file[1] = 'M';
    put_number(file + 2, (uint32_t)*ret_bytes);
    put_number(file + 10, (uint32_t)table);
    put_number(file + 14, 40); /* bytes of the second header */
    put_number(file + 18, (uint32_t)picture->columns);
    put_number(file + 22, (uint32_t)picture->lines);
    put_number(file + 26, 8U << 16 | 1); /* bits of a pixel, and planes */
    for (size_t i = 0; i < COLOURS; i++) {
        unsigned char rgb[3];
        memcpy(rgb, unknown, sizeof rgb);
        if (i > 0) {
            colour_at((double)(i - 1) / (COLOURS - 2), rgb);
        }
        put_number(file + HEAD_BYTES + 4 * i,
                   (uint32_t)rgb[0] << 16 | (uint32_t)rgb[1] << 8 | rgb[2]);
    }
    for (size_t line = 0; line < picture->lines; line++) {
        memcpy(file + table + stride * line,
               picture->bytes + picture->columns * (picture->lines - 1 - line), picture->columns);
    }
    return file;
}

/* The values of the metric of a node; NULL: it has none. */
static const double *series_of(const struct map *map, size_t node)
{
    int64_t column = rm_run_node_column(map->run, map->all, node);
    return column >= 0 ? rm_run_series(map->run, (size_t)column, RESMON_SERIES_MEAN) : NULL;
}

static unsigned char shade_of(const struct map *map, double value)
{
    double share = value / map->row.divisor / map->most;
    share = fmin(fmax(share, 0.0), 1.0);
    return isnan(value) ? 0 : (unsigned char)(1 + lround(share * (COLOURS - 2)));
}

/* Of nodes that share a line, the highest value is shown. */
static bool draw_picture(const struct map *map, struct picture *picture)
{
    size_t nodes = map->run->node_count;
    picture->columns = map->run->row_count;
    picture->lines = nodes < MOST_LINES ? nodes : MOST_LINES;
    picture->bytes = rm_page_alloc(map->page, picture->lines * picture->columns, 1);
    for (size_t node = 0; node < nodes && picture->bytes != NULL; node++) {
        unsigned char *line = picture->bytes + node * picture->lines / nodes * picture->columns;
        const double *series = series_of(map, node);
        for (size_t i = 0; series != NULL && i < picture->columns; i++) {
            unsigned char shade = shade_of(map, series[i]);
            line[i] = shade > line[i] ? shade : line[i];
        }
    }
    return picture->bytes != NULL;
}

/* The names of all nodes; of many, of the first and the last. */
static void put_names(const struct map *map)
{
    const struct resmon_run *run = map->run;
    size_t last = run->node_count - 1;
    rm_buffer_puts(map->out, "<div class=nodes>");
    for (size_t i = 0; i <= last; i += last < MOST_NAMES ? 1 : last) {
        rm_html_element(map->out, "<span><bdi>",
                        rm_page_shown_at_most(map->page, run->nodes[i].name, 40), "</bdi></span>");
    }
    rm_buffer_puts(map->out, "</div>");
}

static void put_time(const struct map *map)
{
    const char *texts[RM_AXIS_TICKS];
    struct rm_axis axis;
    double end_s = rm_subject_seconds(map->run);
    if (!rm_axis_open(&axis, 0.0, end_s, "s")) {
        return;
    }
    axis.low = 0.0;
    axis.high = end_s;
    size_t count = 0;
    for (size_t i = 0; i < axis.tick_count; i++) {
        if (axis.ticks[i] >= 0.0 && axis.ticks[i] <= 0.97 * end_s) {
            axis.ticks[count++] = axis.ticks[i];
        }
    }
    axis.tick_count = count;
    for (size_t i = 0; i < count; i++) {
        texts[i] = rm_page_value(map->page, axis.ticks[i], "s");
    }
    put_ticks(map->out, &axis, texts);
}

static void put_key(const struct map *map)
{
    rm_buffer_puts(map->out, "<span class=shades>0 <i style=\"background:linear-gradient(90deg");
    for (size_t i = 0; i < RM_ARRAY_LEN(viridis); i++) {
        rm_buffer_printf(map->out, ",rgb(%d %d %d)", viridis[i][0], viridis[i][1], viridis[i][2]);
    }
    rm_html_element(map->out, ")\"></i> ", rm_page_value(map->page, map->most, map->unit),
                    " <i class=none></i> not known</span>");
}

static void put_map(const struct map *map)
{
    struct picture picture;
    size_t bytes = 0, nodes = map->run->node_count;
    unsigned char *file = draw_picture(map, &picture) ? make_file(map, &picture, &bytes) : NULL;
    if (file == NULL) {
        return;
    }
    size_t pixels = nodes <= MOST_NAMES ? nodes * LINE_PIXELS : WHOLE_PIXELS;
    rm_html_element(map->out, "<figure class=heat><figcaption><b>", map->title, "</b> <small>");
    const char *instance = map->run->columns[map->all].instance;
    rm_html_element(map->out, "", instance[0] != '\0' ? instance : map->row.label, "</small>");
    put_key(map);
    rm_buffer_printf(map->out, "</figcaption><div class=map style=\"height:%zupx\">", pixels);
    put_names(map);
    rm_html_element(map->out, "<img alt=\"", map->title,
                    " of each node over time\" src=\"data:image/bmp;base64,");
    rm_buffer_base64(map->out, file, bytes, false);
    rm_buffer_puts(map->out, "\"></div>");
    put_time(map);
    rm_buffer_puts(map->out, "</figure>");
}

/* Finds the highest value, for percent at least 100; false: all values are 0. */
static bool find_most(struct map *map)
{
    map->most = 0.0;
    for (size_t node = 0; node < map->run->node_count; node++) {
        const double *series = series_of(map, node);
        for (size_t row = 0; series != NULL && row < map->run->row_count; row++) {
            map->most = fmax(map->most, series[row] / map->row.divisor);
        }
    }
    bool has_any = map->most > 0.0;
    map->most = has_any && strcmp(map->unit, "%") == 0 ? fmax(100.0, map->most) : map->most;
    return has_any;
}

/* Draws a map of the metric, of each instance that all nodes have; false: it is not measured, or 0.
 */
static bool put_metric(struct map *map)
{
    const struct resmon_run *run = map->run;
    bool is_put = false;
    map->all = rm_run_column_of(run, map->row.metric->id, NULL);
    for (; map->all >= 0 && (size_t)map->all < run->column_count &&
           strcmp(run->columns[map->all].metric, rm_metric_name(map->row.metric)) == 0;
         map->all++) {
        if (run->columns[map->all].level == RESMON_LEVEL_JOB && find_most(map)) {
            put_map(map);
            is_put = true;
        }
    }
    return is_put;
}

void rm_heat_draw(struct rm_buffer *out, const void *what)
{
    const struct rm_subject *subject = what;
    struct map map = {.out = out, .page = subject->page, .run = subject->run};
    struct rm_view_row head;
    for (size_t i = 0; i < subject->plot_count; i++) {
        map.row = rm_view_chart_of(subject->plots[i]);
        map.title = map.row.label;
        map.unit = map.row.unit;
        map.row.label = "of each node";
        (void)put_metric(&map);
    }
    for (size_t i = 0; subject->run->node_count > 0 && rm_view_row(i, &head); i++) {
        size_t at = i;
        if (head.view != RM_VIEW_JOB || head.metric != NULL) {
            continue;
        }
        map.title = head.label;
        map.unit = head.unit;
        while (rm_view_next(RM_VIEW_JOB, head.group, &at, &map.row)) {
            if (put_metric(&map)) {
                break;
            }
        }
    }
}
