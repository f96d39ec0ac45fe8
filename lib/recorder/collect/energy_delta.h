/* SPDX-License-Identifier: MIT */
/*
 * Owns the amount that an energy counter has grown by: counters wrap at values of their own, stand
 * still while their file cannot be read, and start again when a driver is loaded anew.  Pure.
 */
#ifndef RM_COLLECT_ENERGY_DELTA_H
#define RM_COLLECT_ENERGY_DELTA_H

#include <stdbool.h>
#include <stdint.h>

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

#endif
