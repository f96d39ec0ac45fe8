/* SPDX-License-Identifier: MIT */
#include "view/charts.h"

#include <math.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/compiler.h"

#define LEAST_S   1e-9 /* lower bound of the duration of a row */
#define GAP_STEPS 8    /* times the median distance of readings is a gap, */
#define GAP_PART  20   /* if it is also at least 1/20 of the run */
#define SEEN_PART 100  /* a band wider than 1/100 of the largest value can be seen */

struct point {
    size_t row; /* or index of a group of rows */
    double time, weight, mean, low, high;
};

struct points {
    struct rm_page *page;
    struct point *items; /* rm_free() when the line is finished */
    size_t count;
};

/* Memory for rm_free(), not of the page: a row takes about 100 bytes, and a page has many lines. */
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

/* Merges the points of each group of rows into one: weighted mean, minimum and maximum. */
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

/* The median distance of neighbors, in rows. */
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

/* Expensive sources are read less often than there are rows, which is not a gap. */
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

/* The readings in which the counter had grown, at least `least` rows apart. */
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

/* If the counter did not grow for longer than usual, the power was 0 at first. */
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

/* Scratch memory for the power of each row. */
struct power_rows {
    struct reading *known, *grown;
    double *powers; /* of each row; NaN: not known */
};

static void find_powers(struct rm_page *page, const struct resmon_run *run, const double *totals,
                        size_t least, const struct power_rows *rows)
{
    const struct reading *known = rows->known, *grown = rows->grown;
    size_t count = 0;
    fill(rows->powers, 0, run->row_count, RM_NAN);
    for (size_t row = 0; row < run->row_count; row++) {
        if (isfinite(totals[row])) {
            rows->known[count++] = (struct reading){row, totals[row]};
        }
    }
    size_t found = find_grown(known, count, least, rows->grown);
    size_t pace = pace_of(page, grown, found);
    fill_powers(run, grown, found, pace, rows->powers);
    if (count > 0 && known[count - 1].row - grown[found - 1].row > GAP_STEPS * pace) {
        fill(rows->powers, grown[found - 1].row + 1, known[count - 1].row + 1, 0.0);
    }
}

void rm_points_add_power(struct rm_page *page, const struct resmon_run *run, size_t column,
                         size_t least, double *watts)
{
    if (run->row_count == 0) {
        return;
    }
    const struct power_rows rows = {
        .known = scratch(page, run->row_count, sizeof *rows.known),
        .grown = scratch(page, run->row_count, sizeof *rows.grown),
        .powers = scratch(page, run->row_count, sizeof *rows.powers),
    };
    if (rows.known != NULL && rows.grown != NULL && rows.powers != NULL) {
        find_powers(page, run, rm_run_series(run, column, RESMON_SERIES_LAST), least, &rows);
        for (size_t row = 0; row < run->row_count; row++) {
            double more = rows.powers[row];
            double sum = isnan(watts[row]) ? more : watts[row] + more;
            watts[row] = isnan(more) ? watts[row] : sum;
        }
    }
    rm_free(rows.known);
    rm_free(rows.grown);
    rm_free(rows.powers);
}

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
