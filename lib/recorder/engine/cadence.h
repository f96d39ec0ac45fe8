/* SPDX-License-Identifier: MIT */
/*
 * Owns the decision how often a sample is taken: at every tick of the interval that was asked for,
 * unless what the library's threads cost would be more than it may.  Then a sample comes at every
 * k-th tick, and sources that cost more than all else of a sample at every j-th sample.  And the
 * decision at which samples a source is read: never more often than it wants, less often after
 * failures, and less often when it costs too much.  Pure.
 */
#ifndef RM_ENGINE_CADENCE_H
#define RM_ENGINE_CADENCE_H

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

/** From `sample` on, they do. */
void rm_schedule_set_interval(struct rm_schedule *schedule, int64_t before_ns, int64_t now_ns,
                              uint64_t sample);

struct rm_cadence {
    int64_t tick_ns;     /* the interval that was asked for */
    double max_overhead; /* share of one CPU */
    uint64_t every;      /* ticks from one sample to the next */
    double cost_ns;      /* CPU time of a sample without its sources: moving mean; 0: none yet */
    double others; /* share of one CPU that threads of sinks and recording take, over some s */
};

/* Schedules, `stride` bytes apart. */
struct rm_schedules {
    struct rm_schedule *first;
    size_t count;
    size_t stride;
};

struct rm_cadence rm_cadence_new(int64_t tick_ns, double max_overhead);

/** From one sample to the next. */
int64_t rm_cadence_interval_ns(const struct rm_cadence *cadence);

/** Notes what a sample cost, from the end of the one before: waking, reading, keeping, handing on;
 * less what its sources did. */
void rm_cadence_note(struct rm_cadence *cadence, int64_t cpu_ns);

/** Notes what the monitor's threads that call sinks and copy the recording took in some time. */
void rm_cadence_note_others(struct rm_cadence *cadence, int64_t cpu_ns, int64_t elapsed_ns);

/**
 * Keeps the sum of all costs below the bound, one step a sample: past it, what costs most per time
 * comes less often, samples as a whole or one source; well below it, what was stretched comes back.
 * `sample` is the number of the next one.
 */
void rm_cadence_balance(struct rm_cadence *cadence, const struct rm_schedules *schedules,
                        uint64_t sample);

#endif
