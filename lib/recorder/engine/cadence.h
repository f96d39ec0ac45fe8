/* SPDX-License-Identifier: MIT */
/*
 * Owns the sampling rate: a sample at every tick of the requested interval, unless the library's
 * threads would use more than the permitted CPU time.  Then samples are taken at every k-th
 * tick, and sources that cost more than the rest of a sample are read at every j-th sample.
 *
 * Also owns the schedule of a source, which has a minimum interval.  The source is read less often
 * after failures, and less often when it costs too much.  Pure.
 */
#ifndef RM_ENGINE_CADENCE_H
#define RM_ENGINE_CADENCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RM_SCHEDULE_MOST_EVERY (UINT64_C(1) << 20)

struct rm_schedule {
    int64_t least_ns;     /* the source's minimum interval */
    uint64_t least_every; /* lower bound of `every` for least_ns */
    uint64_t every;       /* the source is read at every k-th sample */
    uint64_t next;        /* number of the sample of the next reading */
    uint64_t failures;    /* failures in a row */
    double cost_ns;       /* moving average of a reading's cost */
    bool comes_early;     /* the gap doubles after each reading, up to the source's own interval */
};

/** A schedule with at least `least_ns` between readings, for samples at `interval_ns`. */
struct rm_schedule rm_schedule_new(int64_t least_ns, int64_t interval_ns);

static inline bool rm_schedule_is_due(const struct rm_schedule *schedule, uint64_t sample)
{
    return sample >= schedule->next;
}

/** Notes a reading at `sample`, and its cost. */
void rm_schedule_note(struct rm_schedule *schedule, uint64_t sample, bool has_failed);
void rm_schedule_note_cost(struct rm_schedule *schedule, double cost_ns);

/** Sets the sampling interval from `sample` on. */
void rm_schedule_set_interval(struct rm_schedule *schedule, int64_t before_ns, int64_t now_ns,
                              uint64_t sample);

struct rm_cadence {
    int64_t tick_ns;     /* requested interval */
    double max_overhead; /* bound, as a share of one CPU */
    uint64_t every;      /* ticks between samples */
    /* moving average of a sample's CPU time without its sources; 0: no sample yet */
    double cost_ns;
    /* share of one CPU used by the threads of sinks and of the recording, over some s */
    double others;
};

/* Schedules, `stride` bytes apart. */
struct rm_schedules {
    struct rm_schedule *first;
    size_t count;
    size_t stride;
};

struct rm_cadence rm_cadence_new(int64_t tick_ns, double max_overhead);

/** Time between samples. */
int64_t rm_cadence_interval_ns(const struct rm_cadence *cadence);

/** Notes the cost of a sample since the end of the previous one: waking, reading, storing and
 * queueing, without its sources. */
void rm_cadence_note(struct rm_cadence *cadence, int64_t cpu_ns);

/** Notes the CPU time of the monitor's threads for sinks and for the recording over an interval. */
void rm_cadence_note_others(struct rm_cadence *cadence, int64_t cpu_ns, int64_t elapsed_ns);

/**
 * Keeps the sum of all costs below the bound, one step per sample.  Above it, the samples or the
 * source with the highest cost over time become rarer; well below it, they are restored.
 * `sample` is the number of the next sample.
 */
void rm_cadence_balance(struct rm_cadence *cadence, const struct rm_schedules *schedules,
                        uint64_t sample);

#endif
