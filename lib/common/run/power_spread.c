/* SPDX-License-Identifier: MIT */
#include "run/power_spread.h"

#include <math.h>

#include "base/compiler.h"

void rm_power_add(struct rm_power_spread *spread, double watts, double seconds)
{
    double step = watts - spread->mean_w;
    spread->n++;
    spread->mean_w += step / (double)spread->n;
    spread->squares += step * (watts - spread->mean_w);
    spread->joules += watts * seconds;
    spread->seconds += seconds;
    spread->seconds2 += seconds * seconds;
}

double rm_power_mean(const struct rm_power_spread *spread)
{
    return spread->seconds > 0.0 ? spread->joules / spread->seconds : RM_NAN;
}

double rm_power_variance(const struct rm_power_spread *spread)
{
    return spread->n > 1 ? spread->squares / (double)(spread->n - 1) * spread->seconds2 /
                               (spread->seconds * spread->seconds)
                         : RM_NAN;
}

/* ---- stretches of a run ----------------------------------------------------------------- */

/* The energy of a run over time.  Components may be read less often than others: a point is a row
 * in which each has grown since the point before, so that no stretch ends inside of a jump. */
struct curve {
    const struct resmon_run *run;
    const double *parts[RM_ENERGY_PARTS];
    bool must_grow[RM_ENERGY_PARTS]; /* it does at all */
    double last[RM_ENERGY_PARTS];
    double last_s;
    size_t count, row;
    bool has_last;
};

struct point {
    double s, joules;
};

static void begin(struct curve *curve, const struct resmon_run *run,
                  const bool is_used[RM_ENERGY_PARTS])
{
    *curve = (struct curve){.run = run};
    for (size_t i = 0; i < RM_ENERGY_PARTS; i++) {
        int64_t column = is_used[i] ? rm_run_energy_column(run, i) : -1;
        if (column >= 0 && run->row_count > 0) {
            curve->must_grow[curve->count] = run->columns[column].last > 0.0;
            curve->parts[curve->count++] = rm_run_series(run, (size_t)column, RESMON_SERIES_LAST);
        }
    }
}

static bool is_point(const struct curve *curve, size_t row)
{
    for (size_t i = 0; i < curve->count; i++) {
        double value = curve->parts[i][row];
        if (!isfinite(value) ||
            (curve->has_last && curve->must_grow[i] && !(value > curve->last[i]))) {
            return false;
        }
    }
    return curve->count > 0 &&
           (!curve->has_last || (double)curve->run->t_last[row] * 1e-9 > curve->last_s);
}

static bool next(struct curve *curve, struct point *ret_point)
{
    for (; curve->row < curve->run->row_count; curve->row++) {
        if (!is_point(curve, curve->row)) {
            continue;
        }
        *ret_point = (struct point){.s = (double)curve->run->t_last[curve->row] * 1e-9};
        for (size_t i = 0; i < curve->count; i++) {
            curve->last[i] = curve->parts[i][curve->row];
            ret_point->joules += curve->last[i];
        }
        curve->last_s = ret_point->s;
        curve->has_last = true;
        curve->row++;
        return true;
    }
    return false;
}

/* Ends a stretch at the first point at or past each n-th part of the time. */
static struct rm_power_spread divide(struct curve *curve, double seconds, double count)
{
    struct rm_power_spread spread = {0};
    struct point first, from, point;
    double done = 0.0;
    if (!next(curve, &first)) {
        return spread;
    }
    from = first;
    while (next(curve, &point)) {
        /* The last point is at the end but for rounding. */
        double share = (point.s - first.s) / seconds * count + 1e-9;
        if (floor(share) > done) {
            rm_power_add(&spread, (point.joules - from.joules) / (point.s - from.s),
                         point.s - from.s);
            done = floor(share);
            from = point;
        }
    }
    return spread;
}

struct rm_stretches rm_power_divide(const struct resmon_run *run,
                                    const bool is_used[RM_ENERGY_PARTS])
{
    struct rm_stretches result = {.readings = 0};
    struct curve curve;
    struct point point;
    double first_s = 0.0;
    begin(&curve, run, is_used);
    while (next(&curve, &point)) {
        first_s = result.readings == 0 ? point.s : first_s;
        result.seconds = point.s - first_s;
        result.readings++;
    }
    double intervals = result.readings > 0 ? (double)(result.readings - 1) : 0.0;
    double count = floor(fmin(fmin(RM_STRETCHES, intervals / RM_STRETCH_POINTS),
                              result.seconds / RM_STRETCH_S + 1e-9));
    if (count >= RM_STRETCHES_MIN) {
        begin(&curve, run, is_used);
        result.spread = divide(&curve, result.seconds, count);
    }
    if (result.spread.n < RM_STRETCHES_MIN) {
        result.spread = (struct rm_power_spread){0};
    }
    return result;
}
