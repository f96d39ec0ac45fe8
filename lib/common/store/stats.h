/* SPDX-License-Identifier: MIT */
/*
 * Owns the running statistics of one column over every sample of a run. They are never computed
 * from decimated rows.
 */
#ifndef RM_STORE_STATS_H
#define RM_STORE_STATS_H

#include <stdint.h>

#include "store/bucket.h"

#define RM_OVER_COUNT 4 /* time at or above 20, 40, 80, 100 */

extern const double rm_over_limits[RM_OVER_COUNT];

#define RM_NEVER INT64_MIN

/* No rate is computed over less time than this: it would depend on when the readings came, because
 * two samples may be almost at the same time. The growth in this time counts in totals and means,
 * and in no rate. */
#define RM_STATS_LEAST_RATE_S 0.5e-3

struct rm_stats {
    uint64_t n;      /* readings */
    uint64_t resets; /* counter: number of times that it decreased */
    int64_t t_last;  /* of the last reading, ns since start; RM_NEVER: none yet */
    double raw;      /* counter: the last raw reading */
    double first;
    struct rm_cell all; /* over the whole run */
    double over[RM_OVER_COUNT];
};

/* The contribution of one reading. It is made once and then merged into the run, the open bucket
 * and the sketch. */
struct rm_reading {
    struct rm_cell cell;
    double quantity; /* value for quantiles: the level, or the rate; NaN: none */
};

/* The counting rules of a column. */
struct rm_counting {
    int is_counter;
    int is_interval;  /* a reading covers the time since the first attempt, even a failed one; of a
                         gauge: since the previous attempt; a counter was 0 at the first */
    double wrap;      /* counter: it wraps at this value; 0: it never wraps */
    double most_rate; /* counter: highest possible growth in a second; 0: no limit */
};

struct rm_stats rm_stats_empty(void);

/** Takes the reading `value` at `t` (NaN: not read) and updates `stats`. */
struct rm_reading rm_stats_take(struct rm_stats *stats, struct rm_counting counting, double value,
                                int64_t t);

#endif
