/* SPDX-License-Identifier: MIT */
/*
 * Owns by how much counters have grown between readings.  Of named things that come and go (disks,
 * interfaces) the growth of each is added up, so that a total never falls when one vanishes, and
 * never jumps when one appears.  Energy counters wrap at values of their own, stand still while
 * their file cannot be read, and start again when a driver is loaded anew.
 *
 * And rates of CPU clocks.  The kernel adds a running thread's time to its process's clock at ticks
 * (1 to 10 ms apart) and at switches: over less than a few ticks, a rate would be 0 and then
 * several CPUs.  So it is taken over RM_RATE_LEAST_NS at least.
 */
#ifndef RM_COLLECT_DELTA_H
#define RM_COLLECT_DELTA_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/compiler.h"
#include "base/parse.h"

#define RM_DELTA_NAME_BYTES 40
#define RM_DELTA_FIELDS     8
#define RM_DELTA_MAX_THINGS 4096U

struct rm_delta_thing {
    char name[RM_DELTA_NAME_BYTES];
    uint32_t class; /* the collector's own bits, from its classify function */
    bool is_known;  /* `last` is of the reading before */
    bool is_seen;
    uint64_t last[RM_DELTA_FIELDS];
};

struct rm_delta_table {
    struct rm_delta_thing *things;
    size_t count;
    size_t room;
    size_t next; /* files list things in the same order again */
};

void rm_delta_free(struct rm_delta_table *table);

/** Starts a reading. */
void rm_delta_begin(struct rm_delta_table *table);

/**
 * The thing called `name`; a new one is classified by `classify(context, name)`.  NULL: too many,
 * too long a name, or no memory.
 */
struct rm_delta_thing *rm_delta_find(struct rm_delta_table *table, struct rm_text name,
                                     uint32_t (*classify)(void *context, const char *name),
                                     void *context);

/**
 * Takes the thing's counters; `ret_growth` is what was added since the reading before: 0 for a new
 * thing, and for a counter that fell (the device was reset).  `wrap` (0: none): it is 32 bits wide
 * in the kernel, and starts again at 0 after this.
 */
void rm_delta_take(struct rm_delta_thing *thing, const uint64_t *now, const uint64_t *wrap,
                   size_t fields, double *ret_growth);

/** Ends a reading: what was not seen is forgotten, and new when it returns. */
void rm_delta_end(struct rm_delta_table *table);

/* What became of a reading. */
enum rm_energy_event {
    RM_ENERGY_OK,
    RM_ENERGY_WRAPPED,
    RM_ENERGY_GAP,       /* it failed: the next one has its share */
    RM_ENERGY_DISCARDED, /* it cannot be: what it would have added is not */
};

/* Zeroed but for unit_j, max, limit_w and begin_ns: no reading yet. */
struct rm_energy_counter {
    double unit_j;    /* J of one count */
    uint64_t max;     /* highest count; 0: not known, it does not wrap */
    double limit_w;   /* more than this cannot be drawn; 0: no limit */
    int64_t begin_ns; /* what counts begins then, before the first reading, and until that the power
                         is taken to be that of the first growth; 0: with the first reading */
    double joules;    /* since then */
    uint64_t last;    /* count at last_ns */
    int64_t last_ns;  /* CLOCK_MONOTONIC */
    int64_t first_ns;
    bool has_last;
    bool has_moved; /* since the first reading: one that never does measures nothing */
    uint64_t wraps, gaps, discarded;
};

/** Takes a count that was read at `now_ns`. */
enum rm_energy_event rm_energy_take(struct rm_energy_counter *counter, uint64_t count,
                                    int64_t now_ns);

/** A reading failed. */
enum rm_energy_event rm_energy_miss(struct rm_energy_counter *counter);

/** The counter begins again at 0: what it had counted since the last reading is lost. */
void rm_energy_restart(struct rm_energy_counter *counter);

/** How often it must be read so that it cannot wrap twice in between, at `limit_w`; 0: any. */
int64_t rm_energy_poll_ns(const struct rm_energy_counter *counter);

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
