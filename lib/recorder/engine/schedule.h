/* SPDX-License-Identifier: MIT */
/*
 * Owns the decision at which samples a source is read: never more often than it wants, less often
 * after failures, and less often when engine/cadence finds that it costs too much.  Pure.
 */
#ifndef RM_ENGINE_SCHEDULE_H
#define RM_ENGINE_SCHEDULE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RM_SCHEDULE_MOST_EVERY (UINT64_C(1) << 20)

struct rm_schedule {
    int64_t least_ns;     /* the source's own minimum interval */
    uint64_t least_every; /* by that */
    uint64_t every;       /* read at every k-th sample */
    uint64_t next;        /* number of the next sample to read it at */
    uint64_t failures;    /* in a row */
    double cost_ns;       /* moving mean of a reading */
    bool comes_early;     /* twice as long after each reading, until its own interval is reached */
};

/** A source that wants at least `least_ns` between readings, sampled at `interval_ns`. */
struct rm_schedule rm_schedule_new(int64_t least_ns, int64_t interval_ns);

static inline bool rm_schedule_is_due(const struct rm_schedule *schedule, uint64_t sample)
{
    return sample >= schedule->next;
}

/** Notes a reading at `sample`, and what a reading cost. */
void rm_schedule_note(struct rm_schedule *schedule, uint64_t sample, bool has_failed);
void rm_schedule_note_cost(struct rm_schedule *schedule, double cost_ns);

/** At every which sample it would be read if they came in another interval: as often as now, or as
 * near to that as it goes. */
uint64_t rm_schedule_paced(const struct rm_schedule *schedule, int64_t before_ns, int64_t now_ns);

/** From `sample` on, they do. */
void rm_schedule_set_interval(struct rm_schedule *schedule, int64_t before_ns, int64_t now_ns,
                              uint64_t sample);

#endif
