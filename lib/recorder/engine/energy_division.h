/* SPDX-License-Identifier: MIT */
/*
 * Owns what is needed to divide the process tree's energy among scopes (store/scope_records.h):
 * what was divided already, and the CPU time of the threads that have scopes.  On the sampling
 * thread, after each sample.
 */
#ifndef RM_ENGINE_ENERGY_DIVISION_H
#define RM_ENGINE_ENERGY_DIVISION_H

#include <stdbool.h>
#include <stdint.h>

#include "collect/collect.h"
#include "scope/session.h"

/* The thread that was seen in a slot last. */
struct rm_thread_cpu {
    int64_t clock; /* 0: none */
    int64_t ns;    /* its CPU time */
};

struct rm_energy_division {
    struct rm_scope_session *session; /* NULL: nothing is divided */
    struct rm_shared_energy last;
    uint64_t last_ticks;
    bool is_over;    /* the session is, and its last division was made */
    int64_t next_ns; /* CLOCK_MONOTONIC: not before, for its cost */
    double lead_s;   /* CPU time that threads had before the tree's figure, which is coarser, showed
                        it */
    struct rm_thread_cpu *threads; /* by slot */
    double *grown_s;               /* since the time before, by slot */
    double late_of;                /* weight of the time since the GPUs' energy was known */
};

/** Whether a run of these domains (RESMON_DOMAIN_*) has energy of scopes. */
bool rm_energy_division_is_wanted(uint64_t domains);

/** Prepares for a session; RESMON_ENOMEM. */
resmon_status rm_energy_division_open(struct rm_energy_division *division,
                                      struct rm_scope_session *session);
void rm_energy_division_close(struct rm_energy_division *division);

/** Divides what is new; `share` is how much of the time it may take, and `is_last` does it at all
 * costs.  What is not divided now is with the next. */
void rm_energy_division_take(struct rm_energy_division *division,
                             const struct rm_shared_energy *shared, double share, bool is_last);

#endif
