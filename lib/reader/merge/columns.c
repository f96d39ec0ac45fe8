/* SPDX-License-Identifier: MIT */
#include "merge/columns.h"

#include <math.h>
#include <string.h>

#include "base/compiler.h"
#include "metric/view.h"
#include "run/record.h"
#include "store/bucket.h"

/* ---- which ones ----------------------------------------------------------------------------- */

static bool is_listed(const struct rm_merge_metrics *metrics, uint32_t id)
{
    for (size_t i = 0; i < metrics->count; i++) {
        if (metrics->rows[i].metric->id == id) {
            return true;
        }
    }
    return false;
}

void rm_merge_metrics_list(struct rm_merge_metrics *metrics)
{
    struct rm_view_row row;
    metrics->count = 0;
    for (size_t at = 0;
         metrics->count < RM_MERGE_COLUMNS && rm_view_next(RM_VIEW_JOB, NULL, &at, &row);) {
        const struct rm_metric *metric = row.metric;
        if (!is_listed(metrics, metric->id)) {
            metrics->rows[metrics->count++] = (struct rm_merge_metric){
                .metric = metric,
                .name = rm_metric_name(metric),
                .is_counter = (metric->kind & RM_KIND_MASK) == RESMON_COUNTER,
                .is_share = strcmp(rm_metric_unit(metric), "%") == 0 ||
                            strstr(rm_metric_name(metric), ".psi.") != NULL,
                .is_of_host =
                    metric->level != RESMON_LEVEL_PROCESS && metric->level != RESMON_LEVEL_TREE,
            };
        }
    }
}

/* ---- the columns of a metric ---------------------------------------------------------------- */

/* "gpu0": a slice of one ("gpu0.1") is in its GPU's figures. */
static bool is_whole_device(const char *instance)
{
    return instance[strcspn(instance, "./:")] == '\0';
}

void rm_merge_devices_find(const struct rm_merge_metric *metric, const struct resmon_run *run,
                           struct rm_merge_devices *ret_devices)
{
    bool is_of_devices = metric->metric->level == RESMON_LEVEL_DEVICE;
    size_t most = is_of_devices ? RM_MERGE_DEVICES : 1;
    ret_devices->count = 0;
    for (size_t i = 0; i < run->column_count && ret_devices->count < most; i++) {
        const resmon_column *column = &run->columns[i];
        if (column->n > 0 && strcmp(column->metric, metric->name) == 0 &&
            (!is_of_devices || is_whole_device(column->instance))) {
            ret_devices->columns[ret_devices->count++] = i;
        }
    }
}

/* ---- statistics ----------------------------------------------------------------------------- */

/* Of several at one time: what no reading tells is not known. */
static void add(resmon_column *sum, const resmon_column *more)
{
    sum->n += more->n;
    sum->first += more->first;
    sum->last += more->last;
    sum->mean += more->mean;
    sum->integral += more->integral;
    sum->resets += more->resets;
    sum->duration_s = rm_greater(sum->duration_s, more->duration_s);
    sum->min = sum->max = sum->p50 = sum->p95 = RM_NAN;
    for (size_t i = 0; i < RM_ARRAY_LEN(sum->over_s); i++) {
        sum->over_s[i] = RM_NAN;
    }
}

/* Of shares that `count` devices have, a mean. */
static void divide(resmon_column *sum, double count, double min, double max)
{
    sum->first /= count;
    sum->last /= count;
    sum->mean /= count;
    sum->integral /= count;
    sum->min = min;
    sum->max = max;
}

void rm_merge_statistics_add(struct rm_merge_column *column, const resmon_column *more,
                             uint64_t parts)
{
    if (column->parts == 0) {
        column->statistics = *more;
    } else {
        add(&column->statistics, more);
    }
    column->parts += parts;
}

/* Means are weighted with the times that they are over. */
static void follow(resmon_column *sum, const resmon_column *more, int order)
{
    bool is_counter = sum->kind == RESMON_COUNTER;
    double times = sum->duration_s + more->duration_s;
    sum->n += more->n;
    sum->resets += more->resets;
    sum->first = order < 0 ? more->first : sum->first;
    sum->last = is_counter ? sum->last + more->last : order > 0 ? more->last : sum->last;
    sum->min = rm_lesser(more->min, sum->min);
    sum->max = rm_greater(more->max, sum->max);
    if (times > 0.0) {
        sum->mean = (sum->mean * sum->duration_s + more->mean * more->duration_s) / times;
    }
    sum->integral += more->integral;
    sum->duration_s = times;
    sum->p50 = sum->p95 = RM_NAN;
    for (size_t i = 0; i < RM_ARRAY_LEN(sum->over_s); i++) {
        sum->over_s[i] += more->over_s[i];
    }
}

void rm_merge_statistics_follow(struct rm_merge_column *column, const resmon_column *more,
                                int order)
{
    if (column->parts == 0) {
        column->statistics = *more;
    } else {
        follow(&column->statistics, more, order);
    }
    column->parts = 1;
}

resmon_column rm_merge_statistics_of(const struct rm_merge_metric *metric,
                                     const struct resmon_run *run,
                                     const struct rm_merge_devices *devices)
{
    resmon_column sum = run->columns[devices->columns[0]];
    double min = sum.min, max = sum.max;
    for (size_t i = 1; i < devices->count; i++) {
        const resmon_column *column = &run->columns[devices->columns[i]];
        min = rm_lesser(column->min, min);
        max = rm_greater(column->max, max);
        add(&sum, column);
    }
    if (devices->count > 1 && metric->is_share) {
        divide(&sum, (double)devices->count, min, max);
    }
    return sum;
}

/* ---- rows ----------------------------------------------------------------------------------- */

/* What the columns of a metric have in a row, together. */
struct reading {
    double value; /* gauge: mean; counter: growth since the start */
    double low, high;
    size_t columns;
};

static struct reading reading_of(const struct rm_merge_metric *metric, const struct resmon_run *run,
                                 const struct rm_merge_devices *devices, size_t row)
{
    struct reading reading = {.low = RM_NAN, .high = RM_NAN};
    int kind = metric->is_counter ? RESMON_SERIES_LAST : RESMON_SERIES_MEAN;
    for (size_t i = 0; i < devices->count; i++) {
        size_t at = devices->columns[i];
        double value = rm_run_series(run, at, kind)[row];
        if (!isnan(value)) {
            reading.value += value;
            reading.low = rm_lesser(rm_run_series(run, at, RESMON_SERIES_MIN)[row], reading.low);
            reading.high = rm_greater(rm_run_series(run, at, RESMON_SERIES_MAX)[row], reading.high);
            reading.columns++;
        }
    }
    if (reading.columns > 1 && metric->is_share) {
        reading.value /= (double)reading.columns;
    } else if (reading.columns > 1) {
        reading.low = reading.high = RM_NAN;
    }
    return reading;
}

/* A time of the run, which a document that was changed may have anywhere. */
static int64_t time_of(const struct rm_merge_rows *rows, int64_t t_ns)
{
    int64_t time_ns = rows->start_ns + (t_ns < RM_MERGE_LONGEST ? t_ns : RM_MERGE_LONGEST);
    return time_ns < rows->from_ns ? rows->from_ns : time_ns > rows->to_ns ? rows->to_ns : time_ns;
}

/* A reading stands for the time since the one before it; rows of a merged run for their cells. */
void rm_merge_rows_add(const struct rm_merge_metric *metric, const struct rm_merge_rows *rows,
                       const struct rm_merge_devices *devices, struct rm_grid_cell *cells)
{
    const struct resmon_run *run = rows->run;
    int64_t before_ns = run->row_count > 0 ? run->t_first[0] : 0;
    double before = 0.0; /* growth until then */
    for (size_t i = 0; i < run->row_count; i++) {
        const struct reading reading = reading_of(metric, run, devices, i);
        if (reading.columns == 0) {
            continue;
        }
        int64_t from_ns = rows->is_merged ? run->t_first[i] : before_ns;
        struct rm_grid_row row = {
            .from_ns = time_of(rows, from_ns),
            .to_ns = time_of(rows, run->t_last[i]),
            .mean = reading.value,
            .low = reading.low,
            .high = reading.high,
        };
        if (metric->is_counter && row.to_ns <= row.from_ns) {
            continue; /* what it grew by goes to the next row */
        }
        if (metric->is_counter) {
            row.mean = (reading.value - before) / ((double)(row.to_ns - row.from_ns) / 1e9);
            before = reading.value;
        }
        before_ns = run->t_last[i];
        rm_grid_add(cells, rows->span, rows->width_ns, &row);
    }
}
