/* SPDX-License-Identifier: MIT */
/*
 * Owns the records that lie beside the nodes of the scope trees: performance counters and the sums
 * of meters, and energy (divided by store/scope_energy.h), each a section of the block that is
 * empty unless it is asked for; and what happens to all of them when something happens to a node.
 */
#ifndef RM_STORE_SCOPE_RECORDS_H
#define RM_STORE_SCOPE_RECORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/parse.h"
#include "store/block.h"
#include "store/pace.h"
#include "store/scope_tree.h"
#include "store/tally.h"

/* ---- facets ----------------------------------------------------------------------------- */

/*
 * What lies beside a node of the scope trees: a facet of it (energy, counters, sums of meters) is a
 * record for each node in a section of its own, with two copies and a version (store/published.h),
 * empty where nobody asked for it.  What happens to nodes happens to all of their facets by one
 * table: a node begins anew, moves into the tree of the retired, or is settled in a copy of the
 * block (record/block_copy.c).  Pure.
 */

struct rm_facet {
    uint32_t section;
    size_t record_bytes;
    size_t version; /* place of the version in a record */
    size_t copies;  /* of the first copy */
    size_t bytes;   /* of a copy; its members are 8 bytes each */
    /* Adds `more`, which is of so many calls, to a copy. */
    void (*add)(void *sum, const void *more, struct rm_tally_all all);
    /* What the record has beside its copies: emptied, */
    void (*reset)(void *record);
    /* and handed on when it moves; NULL: it stays. */
    void (*hand_on)(void *from, void *to);
};

extern const struct rm_facet rm_facets[RM_FACETS];

/** The record of a node; NULL where the facet is not recorded. */
void *rm_facet_record(const struct rm_block *block, enum rm_facet_kind kind, rm_node_ref ref);

/** What is published of a node, copied consistently; zeroes where nothing is recorded. */
void rm_facet_read(const struct rm_block *block, enum rm_facet_kind kind, rm_node_ref ref,
                   void *ret_copy);

/** Nodes begin anew, with all of their facets; under the session's lock. */
void rm_facets_clear(const struct rm_block *block, rm_node_ref ref);

/** The version that the record of a node would get next; 0: it is not recorded. */
uint32_t rm_facet_next_version(const struct rm_block *block, enum rm_facet_kind kind,
                               rm_node_ref ref);

/** Adds the record of `source`, which is of `all` calls, to that of `target`, and empties it: a
 * part of rm_node_move(). */
void rm_facet_move(const struct rm_block *block, enum rm_facet_kind kind, rm_node_ref source,
                   rm_node_ref target, struct rm_tally_all all);

/* ---- energy ------------------------------------------------------------------------------ */

/* Written by the sampler alone (store/scope_energy.h). */
struct rm_scope_energy {
    double joules; /* with all scopes in it */
    double doubt;  /* J */
};

struct rm_scope_energy_record {
    uint32_t version; /* see store/published.h */
    float late;       /* weight of the time whose late energy is not known yet */
    uint64_t seen;    /* ticks of the node alone that have their energy */
    uint64_t slice;   /* ticks since then, and inside: only while they get it */
    struct rm_scope_energy sums[2];
};

/* ---- performance counters --------------------------------------------------------------- */

/*
 * The performance counters of scopes: a record for each node of the scope trees, written by the
 * thread that the node is of, and what the counters are.  Both are sections of the block that are
 * empty unless counters are asked for.
 */

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

/* ---- summing meters --------------------------------------------------------------------- */

/*
 * What the summing meters found in scopes: a record for each node of the scope trees, written by
 * the thread that the node is of.  A section of the block that is empty unless one is asked for.
 */

/* The meters, in the order of their fields, */
enum {
#define RM_METER(token, name, extent) RM_TALLY_##token,
#include "store/scope_meters.def"
    RM_TALLIES
};

/* and their fields. */
enum {
#define RM_METER_FIELD(token, field, member) RM_FIELD_##field,
#include "store/scope_meters.def"
    RM_FIELDS,
    RM_FIELD_IO = RM_FIELD_IO_READ_CHARS /* RM_IO_FIELDS of them, as rm_io_field has them */
};

/* Their bits, RESMON_METER_*. */
#define RM_METER(token, name, extent) | RESMON_METER_##token
enum {
    RM_SUMMING_METERS = 0
#include "store/scope_meters.def"
};

/* Of all these meters; members are 8 bytes each: see store/published.h. */
struct rm_tallies {
    uint64_t cost_ticks;       /* spent in these meters */
    uint64_t with_descendants; /* metered calls with some that lived at either end */
    struct rm_tally tallies[RM_TALLIES];
    struct rm_field fields[RM_FIELDS];
};

struct rm_tallies_record {
    uint32_t version; /* see store/published.h */
    uint32_t unused_;
    struct rm_pace paces[RM_TALLIES]; /* the owner's alone */
    struct rm_tallies copies[2];
};

size_t rm_tally_first_field(size_t meter);

/** The tally of a meter. */
struct rm_tallied rm_tallies_at(struct rm_tallies *tallies, size_t meter);

/** Two that are settled as one. */
struct rm_tallies rm_tallies_merge(const struct rm_tallies *a, const struct rm_tallies *b);

/** rm_tally_settle() of each meter, */
void rm_tallies_settle(struct rm_tallies *tallies, struct rm_tally_all all);

/** and rm_tally_estimate() of a field. */
resmon_estimate rm_tallies_estimate(const struct rm_tallies *tallies, size_t field,
                                    struct rm_tally_all all);

/** The record of a node; NULL where nothing is summed. */
struct rm_tallies_record *rm_scope_tallies_record(const struct rm_block *block, rm_node_ref ref);

/** What is published of a node, copied consistently; zeroes where nothing is summed. */
struct rm_tallies rm_scope_tallies_of(const struct rm_block *block, rm_node_ref ref);

/* For the node's owner: what it has published, up to the fields of meter `last`, and publishing it
 * anew.  Later fields must be, and stay, as they are in both copies. */
void rm_scope_tallies_own(const struct rm_tallies_record *record, size_t last,
                          struct rm_tallies *ret_tallies);
void rm_scope_tallies_publish(struct rm_tallies_record *record, const struct rm_tallies *tallies,
                              size_t last);

/* ---- sums of a node --------------------------------------------------------------------- */

/*
 * What meters summed up at the nodes of scope trees (their tallies and their counts together), as
 * the decoder of scopes needs it: brought up to all calls, and kept within what the exact nodes
 * around have.  Pure.
 */

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
