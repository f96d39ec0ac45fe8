/* SPDX-License-Identifier: MIT */
/*
 * Owns rates of CPU clocks between readings.  The kernel adds a running thread's time to its
 * process's clock at ticks (1 to 10 ms apart) and at switches: over less than a few ticks, a rate
 * would be 0 and then several CPUs.  So it is taken over LEAST_NS at least.
 */
#ifndef RM_COLLECT_RATE_H
#define RM_COLLECT_RATE_H

#include <math.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/compiler.h"

#define RM_RATE_LEAST_NS (40 * RM_NS_PER_MS)

/* Zeroed: no reading yet. */
struct rm_rate {
    double last;
    int64_t last_ns; /* CLOCK_MONOTONIC; 0: none */
};

/** Growth of `value` per second since the reading that it was last taken at; NaN at the first, and
 * while that is too short ago. */
static inline double rm_rate_take(struct rm_rate *rate, double value, int64_t now_ns)
{
    int64_t elapsed_ns = now_ns - rate->last_ns;
    if (rate->last_ns != 0 && elapsed_ns < RM_RATE_LEAST_NS) {
        return RM_NAN;
    }
    double growth = rate->last_ns != 0 ? fmax(value - rate->last, 0.0) : RM_NAN;
    *rate = (struct rm_rate){value, now_ns};
    return growth / ((double)elapsed_ns * 1e-9);
}

#endif
