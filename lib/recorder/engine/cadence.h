/* SPDX-License-Identifier: MIT */
/*
 * Owns the decision how often a sample is taken: at every tick of the interval that was asked for,
 * unless what the library's threads cost would be more than it may.  Then a sample comes at every
 * k-th tick, and sources that cost more than all else of a sample at every j-th sample.  Pure.
 */
#ifndef RM_ENGINE_CADENCE_H
#define RM_ENGINE_CADENCE_H

#include <stddef.h>
#include <stdint.h>

#include "engine/schedule.h"

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
