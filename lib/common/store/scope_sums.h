/* SPDX-License-Identifier: MIT */
/*
 * Owns what meters summed up at the nodes of scope trees (their tallies and their counts together),
 * as the decoder of scopes needs it: brought up to all calls, and kept within what the exact nodes
 * around have.  Pure.
 */
#ifndef RM_STORE_SCOPE_SUMS_H
#define RM_STORE_SCOPE_SUMS_H

#include <stdbool.h>

#include "store/scope_counts.h"
#include "store/scope_tallies.h"

/* Sum i is field i of the tallies, or counter i - RM_FIELDS. */
#define RM_SUMS (RM_FIELDS + RM_SCOPE_COUNTERS)

/* The sums of a node, settled to the calls of `wall`. */
struct rm_scope_sums {
    struct rm_scope_wall wall;
    struct rm_tallies tallies;
    struct rm_scope_counts counts;
};

/* What is known of the nodes inside of another before they are looked at one by one. */
struct rm_sum_room {
    double bounds[RM_SUMS]; /* of each of them; INFINITY: none is known */
    double shares[RM_SUMS]; /* of what is estimated of them, so that all together fit */
};

/* What siblings want of that room together. */
struct rm_sum_demand {
    double sums[RM_SUMS]; /* certain */
    double totals[RM_SUMS];
};

/** Sums before the wall record, which is never behind them: a call is there first. */
struct rm_scope_sums rm_scope_sums_of(const struct rm_block *block, rm_node_ref ref);

/** The room of a node that is inside of no other, or beside it. */
struct rm_sum_room rm_sum_room_unlimited(void);

/** What is inside of a node has no more than the node, if that was metered at each call and none is
 * open, whose part is not in its sums; else no more than around the node. */
struct rm_sum_room rm_sum_room_inside(const struct rm_scope_sums *sums, bool has_open,
                                      const struct rm_sum_room *around);

void rm_sum_demand_add(struct rm_sum_demand *demand, const struct rm_scope_sums *sums,
                       const struct rm_sum_room *room);

/** Siblings' estimates are off each on its own: where they are more together than there is room,
 * all are less by one share of what is not certain of them. */
void rm_sum_room_share(struct rm_sum_room *room, const struct rm_sum_demand *demand);

/** Keeps the totals of a node within its room. */
void rm_scope_sums_fit(struct rm_scope_sums *sums, const struct rm_sum_room *room);

#endif
