/* SPDX-License-Identifier: MIT */
#include "store/stats.h"

#include <stdbool.h>

#include "base/clock.h"

const double rm_over_limits[RM_OVER_COUNT] = {20.0, 40.0, 80.0, 100.0};

struct rm_stats rm_stats_empty(void)
{
    return (struct rm_stats){
        .t_last = RM_NEVER, .raw = RM_NAN, .first = RM_NAN, .all = rm_cell_empty()};
}

/*
 * Growth since the previous reading. A value that went down has wrapped, if the column has a wrap
 * value and the previous reading was in its upper half. Otherwise the source was reset (device
 * replaced, module reloaded): the result is NaN, because the growth in the gap is not known.
 */
static double growth(const struct rm_stats *stats, double wrap, double value)
{
    if (value >= stats->raw) {
        return value - stats->raw;
    }
    if (wrap > 0.0 && stats->raw > wrap / 2.0 && value < wrap / 2.0 && stats->raw <= wrap) {
        return value + (wrap - stats->raw);
    }
    return RM_NAN;
}

static struct rm_reading take_gauge(struct rm_stats *stats, double value, double dt)
{
    struct rm_reading reading = {
        .cell = {.last = value, .min = value, .max = value, .sum = value * dt, .weight = dt},
        .quantity = value,
    };
    for (int i = 0; i < RM_OVER_COUNT; i++) {
        stats->over[i] += value >= rm_over_limits[i] ? dt : 0.0;
    }
    return reading;
}

static double rate_of(struct rm_counting counting, double more, double dt)
{
    double rate = more / dt;
    return counting.most_rate > 0.0 && rate > counting.most_rate ? counting.most_rate : rate;
}

static struct rm_reading take_counter(struct rm_stats *stats, struct rm_counting counting,
                                      double value, double dt)
{
    struct rm_reading reading = {.cell = rm_cell_empty(), .quantity = RM_NAN};
    double since_start = counting.is_interval ? value : 0.0;
    double more = stats->n > 0 ? growth(stats, counting.wrap, value) : since_start;
    reading.cell.last = stats->n > 0 ? stats->all.last : 0.0;
    stats->raw = value;
    if (isnan(more)) {
        stats->resets++;
        return reading;
    }
    reading.cell.last += more;
    reading.cell.sum = more;
    reading.cell.weight = dt;
    if (dt >= RM_STATS_LEAST_RATE_S) {
        reading.quantity = rate_of(counting, more, dt);
        reading.cell.min = reading.quantity;
        reading.cell.max = reading.quantity;
    }
    return reading;
}

struct rm_reading rm_stats_take(struct rm_stats *stats, struct rm_counting counting, double value,
                                int64_t t)
{
    if (!isfinite(value)) {
        bool is_first = stats->t_last == RM_NEVER;
        if (counting.is_interval && stats->n == 0 && (is_first || !counting.is_counter)) {
            stats->t_last = t;
        }
        return (struct rm_reading){.cell = rm_cell_empty(), .quantity = RM_NAN};
    }
    double dt = stats->t_last != RM_NEVER && t > stats->t_last
                    ? (double)(t - stats->t_last) / (double)RM_NS_PER_S
                    : 0.0;
    struct rm_reading reading = counting.is_counter ? take_counter(stats, counting, value, dt)
                                                    : take_gauge(stats, value, dt);
    if (stats->n == 0) {
        stats->first = reading.cell.last;
    }
    stats->all = rm_cell_merge(&stats->all, &reading.cell);
    stats->t_last = t;
    stats->n++;
    return reading;
}
