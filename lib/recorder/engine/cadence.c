/* SPDX-License-Identifier: MIT */
#include "engine/cadence.h"

#include "base/clock.h"

/* ---- when a source is read ------------------------------------------------------------------ */

#define MOST_BACKOFF 6 /* exponent of the factor after failures in a row */

/* Number of intervals that cover `ns`, at least 1. */
static uint64_t intervals_in(int64_t ns, int64_t interval_ns)
{
    return ns <= interval_ns ? 1 : (uint64_t)((ns + interval_ns - 1) / interval_ns);
}

struct rm_schedule rm_schedule_new(int64_t least_ns, int64_t interval_ns)
{
    uint64_t every = intervals_in(least_ns, interval_ns);
    return (struct rm_schedule){.least_ns = least_ns, .least_every = every, .every = every};
}

#define EARLY_SHARE 0.01 /* share of one CPU that early readings may use */

/* Gap to the next early reading: as long as the run so far, and at most the source's own interval.
 */
static uint64_t early_gap(const struct rm_schedule *schedule, uint64_t sample)
{
    double interval_ns = (double)schedule->least_ns / (double)schedule->least_every;
    double least = schedule->cost_ns / EARLY_SHARE / interval_ns;
    uint64_t gap = least < (double)schedule->every ? (uint64_t)least + 1 : schedule->every;
    gap = gap > sample + 1 ? gap : sample + 1;
    return gap < schedule->every ? gap : schedule->every;
}

void rm_schedule_note(struct rm_schedule *schedule, uint64_t sample, bool has_failed)
{
    schedule->failures = has_failed ? schedule->failures + 1 : 0;
    uint64_t backoff = schedule->failures < MOST_BACKOFF ? schedule->failures : MOST_BACKOFF;
    uint64_t gap = schedule->comes_early && !has_failed ? early_gap(schedule, sample)
                                                        : schedule->every << backoff;
    schedule->next = sample + gap;
}

void rm_schedule_note_cost(struct rm_schedule *schedule, double cost_ns)
{
    schedule->cost_ns = schedule->cost_ns == 0.0
                            ? cost_ns
                            : schedule->cost_ns + (cost_ns - schedule->cost_ns) / 8.0;
}

/* The `every` of a source at another sampling interval: as often as now, or as near to that as
 * possible. */
static uint64_t rm_schedule_paced(const struct rm_schedule *schedule, int64_t before_ns,
                                  int64_t now_ns)
{
    double period = (double)schedule->every * (double)before_ns / (double)now_ns;
    uint64_t every = schedule->every > schedule->least_every && period < RM_SCHEDULE_MOST_EVERY
                         ? (uint64_t)(period + 0.5)
                         : schedule->every;
    uint64_t least = intervals_in(schedule->least_ns, now_ns);
    return schedule->every == schedule->least_every || every < least ? least : every;
}

void rm_schedule_set_interval(struct rm_schedule *schedule, int64_t before_ns, int64_t now_ns,
                              uint64_t sample)
{
    schedule->every = rm_schedule_paced(schedule, before_ns, now_ns);
    schedule->least_every = intervals_in(schedule->least_ns, now_ns);
    if (schedule->failures == 0 && schedule->next > sample + schedule->every) {
        schedule->next = sample + schedule->every;
    }
}

/* ---- when a sample is taken ----------------------------------------------------------------- */

/* Upper bound of the sampling interval when all samples would cost too much. */
#define MOST_NS (INT64_C(604800) * RM_NS_PER_S)

/* Time over which the cost of other threads is averaged: it comes in bursts (documents, pushes). */
#define OTHERS_NS 10e9

/* Hysteresis: cost is reduced above the bound, and restored only below this part of it. */
#define CALM 0.8

struct rm_cadence rm_cadence_new(int64_t tick_ns, double max_overhead)
{
    return (struct rm_cadence){.tick_ns = tick_ns, .max_overhead = max_overhead, .every = 1};
}

int64_t rm_cadence_interval_ns(const struct rm_cadence *cadence)
{
    return (int64_t)cadence->every * cadence->tick_ns;
}

void rm_cadence_note(struct rm_cadence *cadence, int64_t cpu_ns)
{
    double cost = cpu_ns > 0 ? (double)cpu_ns : 0.0;
    cadence->cost_ns =
        cadence->cost_ns == 0.0 ? cost : cadence->cost_ns + (cost - cadence->cost_ns) / 8.0;
}

void rm_cadence_note_others(struct rm_cadence *cadence, int64_t cpu_ns, int64_t elapsed_ns)
{
    double elapsed = (double)elapsed_ns;
    if (elapsed_ns > 0 && cpu_ns >= 0) {
        cadence->others +=
            ((double)cpu_ns / elapsed - cadence->others) * elapsed / (elapsed + OTHERS_NS);
    }
}

static struct rm_schedule *at(const struct rm_schedules *schedules, size_t index)
{
    return (struct rm_schedule *)(void *)((unsigned char *)schedules->first +
                                          index * schedules->stride);
}

/* Limits the cost of other threads, which rarer samples cannot reduce: else expensive sinks would
 * stop the samples. */
static double others_of(const struct rm_cadence *cadence)
{
    double most = cadence->max_overhead / 2.0;
    return cadence->others < most ? cadence->others : most;
}

/* Share of one CPU of all costs at an interval of `every` ticks. */
static double share_at(const struct rm_cadence *cadence, const struct rm_schedules *schedules,
                       uint64_t every)
{
    double interval_ns = (double)every * (double)cadence->tick_ns;
    double sum = cadence->cost_ns / interval_ns + others_of(cadence);
    for (size_t i = 0; i < schedules->count; i++) {
        uint64_t own = rm_schedule_paced(at(schedules, i), rm_cadence_interval_ns(cadence),
                                         (int64_t)every * cadence->tick_ns);
        sum += at(schedules, i)->cost_ns / ((double)own * interval_ns);
    }
    return sum;
}

static void set_every(struct rm_cadence *cadence, const struct rm_schedules *schedules,
                      uint64_t every, uint64_t sample)
{
    int64_t before_ns = rm_cadence_interval_ns(cadence);
    cadence->every = every;
    for (size_t i = 0; i < schedules->count; i++) {
        rm_schedule_set_interval(at(schedules, i), before_ns, rm_cadence_interval_ns(cadence),
                                 sample);
    }
}

static uint64_t slower(uint64_t every)
{
    return every + (every + 1) / 2; /* 1, 2, 3, 5, 8, 12, 18, ... */
}

static uint64_t faster(uint64_t every)
{
    return every - (every + 2) / 4;
}

static double share_of(const struct rm_cadence *cadence, const struct rm_schedule *schedule)
{
    return schedule->cost_ns / ((double)schedule->every * (double)rm_cadence_interval_ns(cadence));
}

/* Reads the most expensive source less often if it costs more than the rest of a sample, else takes
 * fewer samples. */
static void stretch(struct rm_cadence *cadence, const struct rm_schedules *schedules,
                    uint64_t sample)
{
    double highest = cadence->cost_ns / (double)rm_cadence_interval_ns(cadence);
    struct rm_schedule *dearest = NULL;
    for (size_t i = 0; i < schedules->count; i++) {
        struct rm_schedule *schedule = at(schedules, i);
        double own = share_of(cadence, schedule);
        if (own > highest && schedule->every < RM_SCHEDULE_MOST_EVERY) {
            highest = own;
            dearest = schedule;
        }
    }
    if (dearest != NULL) {
        dearest->every *= 2;
    } else if (rm_cadence_interval_ns(cadence) < MOST_NS && highest > 0.0) {
        set_every(cadence, schedules, slower(cadence->every), sample);
    }
}

/* Takes samples more often first, then restores the source with the lowest cost. */
static void restore_rate(struct rm_cadence *cadence, const struct rm_schedules *schedules,
                         double total, uint64_t sample)
{
    double most = cadence->max_overhead * CALM;
    struct rm_schedule *cheapest = NULL;
    if (cadence->every > 1) {
        uint64_t every = faster(cadence->every);
        if (share_at(cadence, schedules, every) < most) {
            set_every(cadence, schedules, every, sample);
            return;
        }
    }
    for (size_t i = 0; i < schedules->count; i++) {
        struct rm_schedule *schedule = at(schedules, i);
        if (schedule->every > schedule->least_every &&
            (cheapest == NULL || share_of(cadence, schedule) < share_of(cadence, cheapest))) {
            cheapest = schedule;
        }
    }
    if (cheapest != NULL && total + share_of(cadence, cheapest) < most) {
        uint64_t half = cheapest->every / 2;
        cheapest->every = half > cheapest->least_every ? half : cheapest->least_every;
    }
}

void rm_cadence_balance(struct rm_cadence *cadence, const struct rm_schedules *schedules,
                        uint64_t sample)
{
    double total = share_at(cadence, schedules, cadence->every);
    if (total > cadence->max_overhead) {
        stretch(cadence, schedules, sample);
    } else {
        restore_rate(cadence, schedules, total, sample);
    }
}
