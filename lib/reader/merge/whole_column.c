/* SPDX-License-Identifier: MIT */
#include "merge/whole_column.h"

#include <math.h>
#include <string.h>

#include "base/compiler.h"
#include "run/record.h"
#include "store/bucket.h"

static double *series_of(const struct rm_merge_whole *whole, size_t node, int kind)
{
    return rm_run_series(whole->run, whole->column + 1 + node, kind);
}

static double *own_series(const struct rm_merge_whole *whole, int kind)
{
    return rm_run_series(whole->run, whole->column, kind);
}

/* What a node counts in a sum: all of it, or of a share as much as it has of all nodes. */
static double part_of(const struct rm_merge_whole *whole, size_t node)
{
    double all = 0.0;
    for (size_t i = 0; i < whole->nodes; i++) {
        all += whole->weights[i];
    }
    return whole->metric->is_share ? whole->weights[node] / all : 1.0;
}

/* ---- rows ----------------------------------------------------------------------------------- */

/* Of those nodes that have the row. */
static void fill_row(const struct rm_merge_whole *whole, size_t row)
{
    double sum = 0.0, weights = 0.0, low = RM_NAN, high = RM_NAN;
    bool is_share = whole->metric->is_share;
    for (size_t i = 0; i < whole->nodes; i++) {
        double mean = series_of(whole, i, RESMON_SERIES_MEAN)[row];
        if (!isnan(mean)) {
            sum += is_share ? whole->weights[i] * mean : mean;
            weights += whole->weights[i];
            low = rm_lesser(series_of(whole, i, RESMON_SERIES_MIN)[row], low);
            high = rm_greater(series_of(whole, i, RESMON_SERIES_MAX)[row], high);
        }
    }
    if (weights > 0.0) {
        own_series(whole, RESMON_SERIES_MEAN)[row] = is_share ? sum / weights : sum;
    }
    if (weights > 0.0 && is_share) { /* no reading tells those of a sum */
        own_series(whole, RESMON_SERIES_MIN)[row] = low;
        own_series(whole, RESMON_SERIES_MAX)[row] = high;
    }
}

/* Growth until each row: of nodes that are over, all of it. */
static void fill_growth(const struct rm_merge_whole *whole)
{
    double *sums = own_series(whole, RESMON_SERIES_LAST);
    for (size_t i = 0; i < whole->nodes; i++) {
        const double *growths = series_of(whole, i, RESMON_SERIES_LAST);
        double part = part_of(whole, i), growth = 0.0;
        for (size_t row = 0; row < whole->run->row_count; row++) {
            growth = isnan(growths[row]) ? growth : growths[row];
            sums[row] = (isnan(sums[row]) ? 0.0 : sums[row]) + part * growth;
        }
    }
}

/* ---- statistics ----------------------------------------------------------------------------- */

void rm_merge_column_settle(const struct resmon_run *run, size_t index)
{
    resmon_column *column = &run->columns[index];
    const double *means = rm_run_series(run, index, RESMON_SERIES_MEAN);
    column->min = column->max = RM_NAN;
    for (size_t i = 0; i < run->row_count; i++) {
        column->min = rm_lesser(means[i], column->min);
        column->max = rm_greater(means[i], column->max);
    }
}

/* A mean over the time that each node has it for. */
static void settle_share(const struct rm_merge_whole *whole, resmon_column *column)
{
    double sum = 0.0, times = 0.0;
    column->min = column->max = RM_NAN;
    for (size_t i = 0; i < whole->nodes; i++) {
        const resmon_column *node = &whole->run->columns[whole->column + 1 + i];
        double time = whole->weights[i] * rm_greater(node->duration_s, 1e-9);
        sum += time * node->mean;
        times += time;
        column->min = rm_lesser(node->min, column->min);
        column->max = rm_greater(node->max, column->max);
    }
    column->mean = sum / times;
}

static void settle(const struct rm_merge_whole *whole)
{
    resmon_column *column = &whole->run->columns[whole->column];
    rm_record_clear(RM_RECORD_statistics, column);
    column->first = column->last = column->integral = 0.0;
    column->duration_s = (double)whole->run->info.duration_ns / 1e9;
    for (size_t i = 0; i < whole->nodes; i++) {
        const resmon_column *node = &whole->run->columns[whole->column + 1 + i];
        double part = part_of(whole, i);
        column->n += node->n;
        column->first += part * node->first;
        column->last += part * node->last;
        column->integral += part * node->integral;
    }
    if (whole->metric->is_share) {
        settle_share(whole, column);
    } else {
        column->mean =
            column->duration_s > 0.0 ? column->integral / column->duration_s : column->last;
        rm_merge_column_settle(whole->run, whole->column);
    }
}

void rm_merge_column_fill(const struct rm_merge_whole *whole)
{
    for (size_t row = 0; row < whole->run->row_count; row++) {
        fill_row(whole, row);
    }
    if (whole->metric->is_counter) {
        fill_growth(whole);
    } else {
        memcpy(own_series(whole, RESMON_SERIES_LAST), own_series(whole, RESMON_SERIES_MEAN),
               whole->run->row_count * sizeof(double));
    }
    settle(whole);
}
