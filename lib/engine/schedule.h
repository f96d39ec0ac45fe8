/* SPDX-License-Identifier: MIT */
/*
 * Owns the decision at which samples a source is read: never more often than it wants, less often
 * after failures, and less often when all sources together would cost more than they may.  Pure.
 */
#ifndef RM_ENGINE_SCHEDULE_H
#define RM_ENGINE_SCHEDULE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct rm_schedule {
    uint64_t least_every; /* from the source's own minimum interval */
    uint64_t every;       /* read at every k-th sample */
    uint64_t next;        /* number of the next sample to read it at */
    uint64_t failures;    /* in a row */
    double cost_ns;       /* moving mean of a reading */
};

/** A source that wants at least `min_interval_ns` between readings, sampled at `interval_ns`. */
struct rm_schedule rm_schedule_new(int64_t min_interval_ns, int64_t interval_ns);

static inline bool rm_schedule_is_due(const struct rm_schedule *schedule, uint64_t sample)
{
    return sample >= schedule->next;
}

/** Notes a reading at `sample`. */
void rm_schedule_note(struct rm_schedule *schedule, uint64_t sample, int64_t cost_ns,
                      bool has_failed);

/**
 * Keeps the sum of costs below `max_overhead` of the time: one step a sample, doubling the interval
 * of the source that costs most per time, or halving that of one that was stretched, once it fits.
 * `schedules` are `stride` bytes apart.
 */
void rm_schedule_balance(struct rm_schedule *schedules, size_t count, size_t stride,
                         int64_t interval_ns, double max_overhead);

#endif
