/* SPDX-License-Identifier: MIT */
/*
 * Owns the performance counters of scopes: a record for each node of the scope trees, written by
 * the thread that the node is of, and what the counters are.  Both are sections of the block that
 * are empty unless counters are asked for.
 */
#ifndef RM_STORE_SCOPE_COUNTS_H
#define RM_STORE_SCOPE_COUNTS_H

#include <stdbool.h>
#include <stdint.h>

#include "store/block.h"
#include "store/pace.h"
#include "store/scope_tree.h"
#include "store/tally.h"

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

/* What the calls found that were counted; members are 8 bytes each: see store/published.h. */
struct rm_scope_counts {
    uint64_t enabled, running; /* ns; what is counted is of `running` */
    uint64_t cost_ticks;       /* spent in reading them */
    struct rm_tally tally;
    struct rm_field fields[RM_SCOPE_COUNTERS]; /* by place */
};

struct rm_scope_counts_record {
    uint32_t version; /* see store/published.h */
    uint32_t unused_;
    struct rm_pace pace; /* the owner's alone */
    struct rm_scope_counts copies[2];
};

/* A call that was counted. */
struct rm_counted_call {
    struct rm_tally_call call;
    uint64_t enabled, running, cost_ticks;
    uint64_t values[RM_SCOPE_COUNTERS]; /* by place; 0 of one that is not counted */
};

/** Counter `index` of the block's sizes.scope_counters. */
struct rm_counter_record *rm_scope_counter_at(const struct rm_block *block, uint64_t index);

/** The record of a node; NULL where nothing is counted. */
struct rm_scope_counts_record *rm_scope_counts_record(const struct rm_block *block,
                                                      rm_node_ref ref);

/** What is published of a node, copied consistently; zeroes where nothing is counted. */
struct rm_scope_counts rm_scope_counts_of(const struct rm_block *block, rm_node_ref ref);

/** Adds a call; the node's owner only. */
void rm_scope_counts_add(const struct rm_block *block, rm_node_ref ref,
                         const struct rm_counted_call *call);

/** `a` and `b` together, both settled. */
struct rm_scope_counts rm_scope_counts_merge(const struct rm_scope_counts *a,
                                             const struct rm_scope_counts *b);

/** Brings them up to all calls that there are, as rm_tally_settle(). */
void rm_scope_counts_settle(struct rm_scope_counts *counts, struct rm_tally_all all);

/** Whether the counters had to share the processor's: what they counted is scaled. */
static inline bool rm_scope_counts_is_shared(const struct rm_scope_counts *counts)
{
    return counts->running < counts->enabled;
}

/**
 * What `all` calls counted, once settled: rm_tally_estimate() of the counter at `place`, scaled
 * from the time in which it ran to all of it.  Its interval is of the draw alone: nothing tells
 * what was missed while others ran.
 */
resmon_estimate rm_scope_counts_estimate(const struct rm_scope_counts *counts, size_t place,
                                         struct rm_tally_all all);

#endif
