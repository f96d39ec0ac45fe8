/* SPDX-License-Identifier: MIT */
/*
 * Owns the division of the process tree's energy among scopes (store/scope_records.h): the
 * energy divided so far, and the CPU time of the threads with scopes.  On the sampling thread,
 * after each sample.
 */
#ifndef RM_ENGINE_ENERGY_DIVISION_H
#define RM_ENGINE_ENERGY_DIVISION_H

#include <stdbool.h>
#include <stdint.h>

#include "collect/collect.h"
#include "scope/session.h"

/* The thread last seen in a slot. */
struct rm_thread_cpu {
    int64_t clock; /* 0: none */
    int64_t ns;    /* its CPU time */
};

struct rm_energy_division {
    struct rm_scope_session *session; /* NULL: no division */
    struct rm_shared_energy last;
    uint64_t last_ticks;
    bool is_over;    /* the session is over, and its last division is done */
    int64_t next_ns; /* CLOCK_MONOTONIC time before which no division is made, for its cost */
    double lead_s;   /* CPU time of threads that the tree's coarser CPU time did not show yet */
    struct rm_thread_cpu *threads; /* by slot */
    double *grown_s;               /* since the last division, by slot */
    double late_of;                /* weight of the time since the GPUs' last energy reading */
};

/** Whether these domains (RESMON_DOMAIN_*) give scopes energy. */
bool rm_energy_division_is_wanted(uint64_t domains);

/** Prepares for a session; RESMON_ENOMEM. */
resmon_status rm_energy_division_open(struct rm_energy_division *division,
                                      struct rm_scope_session *session);
void rm_energy_division_close(struct rm_energy_division *division);

/** Divides the energy since the last division.  `share`: part of the time that divisions may use,
 * ignored with `is_last`.  Energy that is not divided now is included in the next division. */
void rm_energy_division_take(struct rm_energy_division *division,
                             const struct rm_shared_energy *shared, double share, bool is_last);

#endif
