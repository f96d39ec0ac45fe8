/* SPDX-License-Identifier: MIT */
/*
 * Owns the energy of scopes: a record for each node of the scope trees, and the rule by which the
 * energy that the process tree drew between two samples is divided among the scopes that were open.
 * Nothing of it happens in a scope; the sampler alone writes, under the scope session's lock, which
 * keeps threads from coming, going and making nodes meanwhile, but not from entering and leaving.
 *
 * The rule, for the time between two samples.  Of the processors' energy, each thread that has
 * scopes owns a part as its CPU time of all CPU time of the tree; it goes to the thread's scopes as
 * their share of that time.  The rest (threads and processes without scopes, whatever CPU time is
 * in the retired trees, memory) goes to all scopes by wall time, and wholly when they cover it.  A
 * scope has what the scopes in it have: children never exceed it, and all together never the tree.
 * So has one below which another thread hung a scope what that has; the scope that this thread had
 * open around has nothing for that time.  Tasks have none: they have no thread.
 *
 * GPUs are not read at each sample.  What they drew since they were read goes to the scopes of all
 * that time by wall time, weighed with the power that the tree's GPUs had then, where it is known.
 *
 * Doubt: a scope that fills a fraction f of such a time is given f of a part, as though power had
 * been even; were it anything from nothing to twice the mean, that is wrong by min(f, 1 - f) at
 * most.
 */
#ifndef RM_STORE_SCOPE_ENERGY_H
#define RM_STORE_SCOPE_ENERGY_H

#include <stdint.h>

#include "store/scope_records.h"

/* What the tree drew between two samples. */
struct rm_energy_slice {
    uint64_t now;               /* ticks */
    uint64_t elapsed;           /* ticks since the last division */
    double cpu_j;               /* goes with CPU time */
    double other_j;             /* with wall time */
    double cpu_s;               /* CPU time of the tree */
    const double *thread_cpu_s; /* by thread slot, of those that are live; 0: not known */
    double late_weight;         /* of this time, for energy that is known late */
    double late_of; /* of all time since that was known before, if it is known now; 0: no */
    double late_j;  /* that energy: goes with wall time and these weights */
};

/** Divides it.  A first one, of no energy in UINT64_MAX ticks, sets the beginning. */
void rm_scope_energy_divide(const struct rm_block *block, const struct rm_energy_slice *slice);

/** The published record of a node, copied consistently; {0, 0} where energy is not recorded. */
struct rm_scope_energy rm_scope_energy_of(const struct rm_block *block, rm_node_ref ref);

#endif
