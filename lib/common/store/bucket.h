/* SPDX-License-Identifier: MIT */
/*
 * Owns the bucket: the summary of one column over several samples, and the lossless merge of two
 * buckets.
 *
 * A gauge read at time t counts for the interval since the previous reading: sum += value * dt,
 * weight += dt. A counter: sum += growth, weight += dt; min and max are of growth / dt. So the mean
 * (of a counter: the mean rate) is sum / weight for any width of bucket.
 */
#ifndef RM_STORE_BUCKET_H
#define RM_STORE_BUCKET_H

#include <math.h>
#include <stdint.h>

#include "base/compiler.h"

/* One column of one bucket.  NaN: not read. */
struct rm_cell {
    double last; /* gauge: last reading; counter: growth since the start of the run */
    double min;
    double max;
    double sum;
    double weight; /* s */
};

/* The time that a row of cells covers, in ns since the start of the run. */
struct rm_span {
    int64_t t_first;
    int64_t t_last;
    uint64_t n; /* samples */
};

/* Minimum and maximum that ignore NaN, unless both arguments are NaN. */
static inline double rm_lesser(double a, double b)
{
    return a < b || isnan(b) ? a : b;
}

static inline double rm_greater(double a, double b)
{
    return a > b || isnan(b) ? a : b;
}

static inline struct rm_cell rm_cell_empty(void)
{
    return (struct rm_cell){RM_NAN, RM_NAN, RM_NAN, 0.0, 0.0};
}

static inline struct rm_cell rm_cell_merge(const struct rm_cell *early, const struct rm_cell *late)
{
    return (struct rm_cell){
        .last = isnan(late->last) ? early->last : late->last,
        .min = rm_lesser(early->min, late->min),
        .max = rm_greater(early->max, late->max),
        .sum = early->sum + late->sum,
        .weight = early->weight + late->weight,
    };
}

/** Time-weighted mean (counter: mean rate). For a gauge with a single reading: this reading. */
static inline double rm_cell_mean(const struct rm_cell *cell, int is_counter)
{
    if (cell->weight > 0.0) {
        /* The mean must lie between the extremes; rounding of the sums could move it outside. */
        return rm_lesser(rm_greater(cell->sum / cell->weight, cell->min), cell->max);
    }
    return is_counter ? RM_NAN : cell->last;
}

static inline struct rm_span rm_span_merge(const struct rm_span *early, const struct rm_span *late)
{
    return (struct rm_span){early->t_first, late->t_last, early->n + late->n};
}

#endif
