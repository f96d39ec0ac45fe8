/* SPDX-License-Identifier: MIT */
/*
 * Owns the growth of counters between readings.  For named things that come and go (disks,
 * interfaces), the growth of each is added up: a total never falls when a thing vanishes, and
 * never jumps when one appears.  Energy counters wrap at limits of their own, miss readings
 * while their file cannot be read, and restart when a driver is loaded again.
 *
 * And rates of CPU clocks.  The kernel adds a running thread's time to its process's clock at
 * ticks (1 to 10 ms apart) and at context switches: over less than a few ticks, a rate would
 * alternate between 0 and several CPUs.  So rates are taken over at least RM_RATE_LEAST_NS.
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
    uint32_t class; /* bits of the collector, from its classify function */
    bool is_known;  /* `last` is of the previous reading */
    bool is_seen;
    uint64_t last[RM_DELTA_FIELDS];
};

struct rm_delta_table {
    struct rm_delta_thing *things;
    size_t count;
    size_t room;
    size_t next; /* index to try first: files list things in the same order each time */
};

void rm_delta_free(struct rm_delta_table *table);

/** Begins a reading. */
void rm_delta_begin(struct rm_delta_table *table);

/**
 * The thing called `name`; a new one is classified by `classify(context, name)`.  NULL: too many
 * things, too long a name, or out of memory.
 */
struct rm_delta_thing *rm_delta_find(struct rm_delta_table *table, struct rm_text name,
                                     uint32_t (*classify)(void *context, const char *name),
                                     void *context);

/**
 * Takes the thing's counters.  `ret_growth` is the growth since the previous reading: 0 for a
 * new thing, and for a counter that fell (the device was reset).  `wrap` (0: none): the counter
 * has 32 bits in the kernel, and restarts at 0 after this value.
 */
void rm_delta_take(struct rm_delta_thing *thing, const uint64_t *now, const uint64_t *wrap,
                   size_t fields, double *ret_growth);

/** Ends a reading: things that were not seen are forgotten, and are new when they return. */
void rm_delta_end(struct rm_delta_table *table);

/* Result of a reading. */
enum rm_energy_event {
    RM_ENERGY_OK,
    RM_ENERGY_WRAPPED,
    RM_ENERGY_GAP,       /* it failed: the next reading includes its energy */
    RM_ENERGY_DISCARDED, /* an impossible value: its growth is not added */
};

/* Zeroed but for unit_j, max, limit_w and begin_ns: no reading yet. */
struct rm_energy_counter {
    double unit_j;    /* J of one count */
    uint64_t max;     /* highest count; 0: unknown, it does not wrap */
    double limit_w;   /* highest possible power; 0: no limit */
    int64_t begin_ns; /* begin of the energy, before the first reading: until that, the power of the
                         first growth is assumed; 0: the energy begins with the first reading */
    double joules;    /* energy since the begin */
    uint64_t last;    /* count at last_ns */
    int64_t last_ns;  /* CLOCK_MONOTONIC */
    int64_t first_ns;
    bool has_last;
    bool has_moved; /* since the first reading; a counter that never moves measures nothing */
    uint64_t wraps, gaps, discarded;
};

/** Takes a count read at `now_ns`. */
enum rm_energy_event rm_energy_take(struct rm_energy_counter *counter, uint64_t count,
                                    int64_t now_ns);

/** A reading failed. */
enum rm_energy_event rm_energy_miss(struct rm_energy_counter *counter);

/** The counter restarted at 0: its growth since the last reading is lost. */
void rm_energy_restart(struct rm_energy_counter *counter);

/** Longest interval in which the counter cannot wrap twice, at limit_w; 0: no limit. */
int64_t rm_energy_poll_ns(const struct rm_energy_counter *counter);

#define RM_RATE_LEAST_NS (40 * RM_NS_PER_MS)

/* Zeroed: no reading yet. */
struct rm_rate {
    double last;
    int64_t last_ns; /* CLOCK_MONOTONIC; 0: none */
};

/** Growth of `value` per second since the last rate; NaN at the first call, and while the last rate
 * is too recent. */
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
