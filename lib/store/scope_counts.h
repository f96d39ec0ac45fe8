/* SPDX-License-Identifier: MIT */
/*
 * Owns the performance counters of scopes: a record for each node of the scope trees, written by
 * the thread that the node is of, and what the counters are.  Both are sections of the block that
 * are empty unless counters are asked for.
 */
#ifndef RM_STORE_SCOPE_COUNTS_H
#define RM_STORE_SCOPE_COUNTS_H

#include <stdint.h>

#include "store/block.h"
#include "store/scope_tree.h"

#define RM_SCOPE_COUNTERS 8

/* A counter, by its place among those of the run.  Written before there are scopes. */
struct rm_counter_record {
    char name[64];
    char unit[8];
    char reason[160]; /* why it is not counted; "" if it is */
    double scale;     /* from what is counted to the unit */
    int32_t status;
    uint32_t unused_;
};

/* Sums over the instances that were counted. */
struct rm_scope_counts {
    uint64_t calls;
    uint64_t wall;             /* ticks that they lasted */
    uint64_t enabled, running; /* ns; what is counted is of `running` */
    uint64_t cost_ticks;       /* spent in reading them */
    uint64_t values[RM_SCOPE_COUNTERS];
};

struct rm_scope_counts_record {
    uint32_t version; /* see store/published.h */
    uint32_t unused_;
    struct rm_scope_counts sums[2];
};

/** Counter `index` of the block's sizes.scope_counters. */
struct rm_counter_record *rm_scope_counter_at(const struct rm_block *block, uint64_t index);

/** The published record of a node, copied consistently; zeroes where nothing is counted. */
struct rm_scope_counts rm_scope_counts_of(const struct rm_block *block, rm_node_ref ref);

/** Adds an instance; the node's owner only. */
void rm_scope_counts_add(const struct rm_block *block, rm_node_ref ref,
                         const struct rm_scope_counts *instance);

/* Parts of a node's life, as of those in scope_energy.h. */
void rm_scope_counts_clear(const struct rm_block *block, rm_node_ref ref);
void rm_scope_counts_move(const struct rm_block *block, rm_node_ref source, rm_node_ref target);
uint32_t rm_scope_counts_next_version(const struct rm_block *block, rm_node_ref target);

/** `a` and `b` together. */
struct rm_scope_counts rm_scope_counts_merge(const struct rm_scope_counts *a,
                                             const struct rm_scope_counts *b);

#endif
