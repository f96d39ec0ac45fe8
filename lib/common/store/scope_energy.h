/* SPDX-License-Identifier: MIT */
/*
 * Owns the energy of scopes: a record for each node of the scope trees, and the rule that divides
 * the energy of the process tree between two samples among the open scopes. A scope itself does no
 * work for this. The sampler alone writes, under the scope session's lock. The lock keeps threads
 * from starting, ending and creating nodes meanwhile, but not from entering and leaving scopes.
 *
 * The rule, for the time between two samples. Each thread that has scopes gets a part of the
 * processors' energy: its CPU time over all CPU time of the tree. The thread's scopes get the
 * fraction of this part that is their share of that time. The rest goes to all scopes by wall time,
 * and wholly when the scopes cover that time. The rest is memory, threads and processes without
 * scopes, and any CPU time in the retired trees. The energy of a scope is inclusive: its children
 * never exceed it, and all scopes together never exceed the tree. If another thread hangs a scope
 * below a scope, the energy of the hung scope is included there. The scopes that this other thread
 * had open around it get nothing for that time. Tasks get no energy: they have no thread.
 *
 * GPUs are not read at each sample. Their energy since the last reading goes to the scopes of that
 * whole time by wall time. It is weighted with the power of the tree's GPUs at each time, where
 * this power is known.
 *
 * Doubt: a scope that fills a fraction f of the time between two samples gets a fraction f of a
 * part, as if power were even. If the real power is anything from 0 to twice the mean, the error is
 * at most min(f, 1 - f).
 */
#ifndef RM_STORE_SCOPE_ENERGY_H
#define RM_STORE_SCOPE_ENERGY_H

#include <stdint.h>

#include "store/scope_records.h"

/* The energy of the process tree between two samples. */
struct rm_energy_slice {
    uint64_t now;               /* ticks */
    uint64_t elapsed;           /* ticks since the last division */
    double cpu_j;               /* divided by CPU time */
    double other_j;             /* divided by wall time */
    double cpu_s;               /* CPU time of the tree */
    const double *thread_cpu_s; /* by slot of a live thread; 0: not known */
    double late_weight;         /* weight of this time, for energy that is known late */
    double late_of; /* sum of these weights since the last known late energy; 0: not known now */
    double late_j;  /* the late energy: divided by wall time and these weights */
};

/** Divides a slice among the scopes. The first call, with no energy in UINT64_MAX ticks, marks the
 * beginning. */
void rm_scope_energy_divide(const struct rm_block *block, const struct rm_energy_slice *slice);

/** A consistent copy of the published record of a node; {0, 0} if energy is not recorded. */
struct rm_scope_energy rm_scope_energy_of(const struct rm_block *block, rm_node_ref ref);

#endif
