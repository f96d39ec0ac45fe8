/* SPDX-License-Identifier: MIT */
#include "engine/schedule.h"

#define MOST_BACKOFF 6 /* after failures in a row: up to 64 times less often */

/* How many intervals it takes to fill `ns`, 1 at least. */
static uint64_t intervals_in(int64_t ns, int64_t interval_ns)
{
    return ns <= interval_ns ? 1 : (uint64_t)((ns + interval_ns - 1) / interval_ns);
}

struct rm_schedule rm_schedule_new(int64_t least_ns, int64_t interval_ns)
{
    uint64_t every = intervals_in(least_ns, interval_ns);
    return (struct rm_schedule){.least_ns = least_ns, .least_every = every, .every = every};
}

#define EARLY_SHARE 0.01 /* of one CPU, that early readings may take */

/* As long as the run has lasted so far, and no longer than the source wants. */
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

uint64_t rm_schedule_paced(const struct rm_schedule *schedule, int64_t before_ns, int64_t now_ns)
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
