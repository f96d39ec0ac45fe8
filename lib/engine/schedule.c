/* SPDX-License-Identifier: MIT */
#include "engine/schedule.h"

#define MOST_EVERY   (UINT64_C(1) << 20)
#define MOST_BACKOFF 6 /* after failures in a row: up to 64 times less often */

struct rm_schedule rm_schedule_new(int64_t min_interval_ns, int64_t interval_ns)
{
    uint64_t every = min_interval_ns <= interval_ns
                         ? 1
                         : (uint64_t)((min_interval_ns + interval_ns - 1) / interval_ns);
    return (struct rm_schedule){.least_every = every, .every = every};
}

void rm_schedule_note(struct rm_schedule *schedule, uint64_t sample, int64_t cost_ns,
                      bool has_failed)
{
    double cost = (double)cost_ns;
    schedule->cost_ns =
        schedule->cost_ns == 0.0 ? cost : schedule->cost_ns + (cost - schedule->cost_ns) / 8.0;
    schedule->failures = has_failed ? schedule->failures + 1 : 0;
    uint64_t backoff = schedule->failures < MOST_BACKOFF ? schedule->failures : MOST_BACKOFF;
    schedule->next = sample + (schedule->every << backoff);
}

static struct rm_schedule *at(struct rm_schedule *schedules, size_t index, size_t stride)
{
    return (struct rm_schedule *)(void *)((unsigned char *)schedules + index * stride);
}

/* Share of the time that the source costs when it is read at every `every`-th sample. */
static double share(const struct rm_schedule *schedule, uint64_t every, int64_t interval_ns)
{
    return schedule->cost_ns / ((double)every * (double)interval_ns);
}

void rm_schedule_balance(struct rm_schedule *schedules, size_t count, size_t stride,
                         int64_t interval_ns, double max_overhead)
{
    double total = 0.0;
    double highest = 0.0;
    struct rm_schedule *dearest = NULL;
    struct rm_schedule *stretched = NULL; /* the one whose return costs least */
    for (size_t i = 0; i < count; i++) {
        struct rm_schedule *schedule = at(schedules, i, stride);
        double own = share(schedule, schedule->every, interval_ns);
        total += own;
        if (own > highest && schedule->every < MOST_EVERY) {
            highest = own;
            dearest = schedule;
        }
        if (schedule->every > schedule->least_every &&
            (stretched == NULL || own < share(stretched, stretched->every, interval_ns))) {
            stretched = schedule;
        }
    }
    if (total > max_overhead && dearest != NULL) {
        dearest->every *= 2;
    } else if (stretched != NULL &&
               total + share(stretched, stretched->every, interval_ns) < max_overhead * 0.8) {
        uint64_t half = stretched->every / 2;
        stretched->every = half > stretched->least_every ? half : stretched->least_every;
    }
}
