/* SPDX-License-Identifier: MIT */
/*
 * Owns the running statistics of one column over every sample of a run: never computed from
 * decimated rows.
 */
#ifndef RM_STORE_STATS_H
#define RM_STORE_STATS_H

#include <stdint.h>

#include "store/bucket.h"

#define RM_OVER_COUNT 4 /* time at or over 20, 40, 80, 100 */

extern const double rm_over_limits[RM_OVER_COUNT];

#define RM_NEVER INT64_MIN

/* Over less time than this, a rate would tell when readings came, and not what they are of: two
 * samples may be almost at one time, where one was asked for.  What grew meanwhile is in totals and
 * means, and in no rate. */
#define RM_STATS_LEAST_RATE_S 0.5e-3

struct rm_stats {
    uint64_t n;      /* readings */
    uint64_t resets; /* counter: times it ran backwards */
    int64_t t_last;  /* of the last reading, ns since start; RM_NEVER: none yet */
    double raw;      /* counter: the last reading as read */
    double first;
    struct rm_cell all; /* over the whole run */
    double over[RM_OVER_COUNT];
};

/* What one reading adds; made once, then merged into the run, the open bucket and the sketch. */
struct rm_reading {
    struct rm_cell cell;
    double quantity; /* what quantiles are of: the level, or the rate; NaN: none */
};

/* How a column is to be counted. */
struct rm_counting {
    int is_counter;
    int is_interval; /* stands for the time since the first attempt, even where that gave nothing; a
                        gauge: since the attempt before; a counter was 0 then */
    double wrap;     /* counter: it counts modulo this; 0: it never wraps */
    double most_rate; /* counter: it cannot grow by more in a second; 0: no limit */
};

struct rm_stats rm_stats_empty(void);

/** Takes the reading `value` at `t` (NaN: not read) and updates `stats`. */
struct rm_reading rm_stats_take(struct rm_stats *stats, struct rm_counting counting, double value,
                                int64_t t);

#endif
