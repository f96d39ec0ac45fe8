/* SPDX-License-Identifier: MIT */
/*
 * Owns the records beside the nodes of the scope trees: performance counters, sums of meters, and
 * energy (divided by store/scope_energy.h). Each kind is a section of the block, empty unless it is
 * asked for. Also owns what happens to all these records when a node changes.
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
 * The facets of a node of the scope trees: energy, counters, sums of meters. A facet has a record
 * for each node in its own section, with two copies and a version (store/published.h). The section
 * is empty if the facet is not asked for. One table applies each change of a node to all its
 * facets. A node begins anew, moves into the tree of retired threads, or is settled in a copy of
 * the block (record/block_copy.c). Pure.
 */

/* Kinds of records beside a node. */
enum rm_facet_kind { RM_FACET_ENERGY, RM_FACET_COUNTS, RM_FACET_TALLIES };

_Static_assert(RM_FACET_TALLIES + 1 == RM_FACETS, "the journal has a version for each");

struct rm_facet {
    uint32_t section;
    size_t record_bytes;
    size_t version; /* offset of the version in a record */
    size_t copies;  /* offset of the first copy */
    size_t bytes;   /* size of a copy; its members are 8 bytes each */
    /* Adds `more`, whose calls are `all`, to a copy. */
    void (*add)(void *sum, const void *more, struct rm_tally_all all);
    /* Clears the members of the record beside its copies. */
    void (*reset)(void *record);
    /* Moves these members when the record moves; NULL: they stay. */
    void (*hand_on)(void *from, void *to);
};

extern const struct rm_facet rm_facets[RM_FACETS];

/** The record of a node; NULL where the facet is not recorded. */
void *rm_facet_record(const struct rm_block *block, enum rm_facet_kind kind, rm_node_ref ref);

/** A consistent copy of the published record of a node; zeroes if the facet is not recorded. */
void rm_facet_read(const struct rm_block *block, enum rm_facet_kind kind, rm_node_ref ref,
                   void *ret_copy);

/** Clears all facets of a node that begins anew; under the session's lock. */
void rm_facets_clear(const struct rm_block *block, rm_node_ref ref);

/** The next version of the record of a node; 0 if the facet is not recorded. */
uint32_t rm_facet_next_version(const struct rm_block *block, enum rm_facet_kind kind,
                               rm_node_ref ref);

/** Adds the record of `source`, whose calls are `all`, to the record of `target`, and clears
 * `source`. A part of rm_node_move(). */
void rm_facet_move(const struct rm_block *block, enum rm_facet_kind kind, rm_node_ref source,
                   rm_node_ref target, struct rm_tally_all all);

/* ---- moves -------------------------------------------------------------------------------- */

/**
 * Adds the counts of `source` to `target` and clears `source`. At each instant, the two nodes
 * together contain each count once: the header's journal describes the move to a concurrent reader.
 */
void rm_node_move(struct rm_block *block, rm_node_ref source, rm_node_ref target);

/* Which records of a node are already in the target of an unfinished rm_node_move(). */
struct rm_node_moved {
    int wall;
    int meters;
    int facets[RM_FACETS];
};

struct rm_node_moved rm_node_moved_of(const struct rm_block *block, rm_node_ref ref);

/* ---- energy ------------------------------------------------------------------------------ */

/* Written by the sampler alone (store/scope_energy.h). */
struct rm_scope_energy {
    double joules; /* inclusive */
    double doubt;  /* J */
};

struct rm_scope_energy_record {
    uint32_t version; /* see store/published.h */
    float late;       /* weight of the time whose late energy is not yet known */
    uint64_t seen;    /* exclusive ticks of the node that have their energy */
    uint64_t slice;   /* new ticks, inclusive; valid only during a division */
    struct rm_scope_energy sums[2];
};

/* ---- performance counters --------------------------------------------------------------- */

/*
 * The performance counters of scopes: a record for each node of the scope trees, written by the
 * thread that owns the node; and descriptions of the counters. Both are sections of the block,
 * empty unless counters are asked for.
 */

#define RM_SCOPE_COUNTERS 8

/* A counter, by its place in the run's list of counters. Written before there are scopes. */
struct rm_counter_record {
    char name[64];
    char unit[8];
    char reason[160]; /* why the counter is not counted; "" if it is counted */
    double scale;     /* factor from the count to the unit */
    int32_t status;
    uint32_t unused_;
};

/* The sums of the counted calls. Members are 8 bytes each: see store/published.h. */
struct rm_scope_counts {
    uint64_t enabled, running; /* ns; the counts cover only the time `running` */
    uint64_t cost_ticks;       /* spent in reading the counters */
    struct rm_tally tally;
    struct rm_field fields[RM_SCOPE_COUNTERS]; /* by place */
};

struct rm_scope_counts_record {
    uint32_t version; /* see store/published.h */
    uint32_t unused_;
    struct rm_pace pace; /* used by the owner alone */
    struct rm_scope_counts copies[2];
};

/* A call that was counted. */
struct rm_counted_call {
    struct rm_tally_call call;
    uint64_t enabled, running, cost_ticks;
    uint64_t values[RM_SCOPE_COUNTERS]; /* by place; 0 if the counter is not counted */
};

/** Counter `index` of the block's sizes.scope_counters. */
struct rm_counter_record *rm_scope_counter_at(const struct rm_block *block, uint64_t index);

/** The record of a node; NULL if nothing is counted. */
struct rm_scope_counts_record *rm_scope_counts_record(const struct rm_block *block,
                                                      rm_node_ref ref);

/** A consistent copy of the published record of a node; zeroes if nothing is counted. */
struct rm_scope_counts rm_scope_counts_of(const struct rm_block *block, rm_node_ref ref);

/** Adds a call; the node's owner only. */
void rm_scope_counts_add(const struct rm_block *block, rm_node_ref ref,
                         const struct rm_counted_call *call);

/** The sum of `a` and `b`, both settled. */
struct rm_scope_counts rm_scope_counts_merge(const struct rm_scope_counts *a,
                                             const struct rm_scope_counts *b);

/** Whether the counters had to share the processor's counters: then the counts are scaled. */
static inline bool rm_scope_counts_is_shared(const struct rm_scope_counts *counts)
{
    return counts->running < counts->enabled;
}

/**
 * The estimate of the counter at `place` over `all` calls, once settled. It is rm_tally_estimate(),
 * scaled from the time in which the counter ran to all of the time. The interval covers the random
 * choice of calls only: the events missed while other counters ran are not known.
 */
resmon_estimate rm_scope_counts_estimate(const struct rm_scope_counts *counts, size_t place,
                                         struct rm_tally_all all);

/* ---- summing meters --------------------------------------------------------------------- */

/*
 * The sums of the summing meters in scopes: a record for each node of the scope trees, written by
 * the thread that owns the node. A section of the block, empty unless such a meter is asked for.
 */

/* The meters, in the order of their fields. */
enum {
#define RM_METER(token, name, extent) RM_TALLY_##token,
#include "store/scope_meters.def"
    RM_TALLIES
};

/* The fields of the meters. */
enum {
#define RM_METER_FIELD(token, field, member) RM_FIELD_##field,
#include "store/scope_meters.def"
    RM_FIELDS,
    RM_FIELD_IO = RM_FIELD_IO_READ_CHARS /* first of RM_IO_FIELDS, as in enum rm_io_field */
};

/* The bits of the meters, RESMON_METER_*. */
#define RM_METER(token, name, extent) | RESMON_METER_##token
enum {
    RM_SUMMING_METERS = 0
#include "store/scope_meters.def"
};

/* The tallies of all summing meters. Members are 8 bytes each: see store/published.h. */
struct rm_tallies {
    uint64_t cost_ticks;       /* spent in these meters */
    uint64_t with_descendants; /* metered calls with live descendants at either end */
    struct rm_tally tallies[RM_TALLIES];
    struct rm_field fields[RM_FIELDS];
};

struct rm_tallies_record {
    uint32_t version; /* see store/published.h */
    uint32_t unused_;
    struct rm_pace paces[RM_TALLIES]; /* used by the owner alone */
    struct rm_tallies copies[2];
};

size_t rm_tally_first_field(size_t meter);

/** The tally of a meter. */
struct rm_tallied rm_tallies_at(struct rm_tallies *tallies, size_t meter);

/** The sum of two settled records. */
struct rm_tallies rm_tallies_merge(const struct rm_tallies *a, const struct rm_tallies *b);

/** rm_tally_settle() for each meter. */
void rm_tallies_settle(struct rm_tallies *tallies, struct rm_tally_all all);

/** rm_tally_estimate() for a field. */
resmon_estimate rm_tallies_estimate(const struct rm_tallies *tallies, size_t field,
                                    struct rm_tally_all all);

/** The record of a node; NULL if nothing is summed. */
struct rm_tallies_record *rm_scope_tallies_record(const struct rm_block *block, rm_node_ref ref);

/** A consistent copy of the published record of a node; zeroes if nothing is summed. */
struct rm_tallies rm_scope_tallies_of(const struct rm_block *block, rm_node_ref ref);

/* For the node's owner: its published record up to the fields of meter `last`, and the publication
 * of a new record. Later fields must be the same in both copies, and must not change. */
void rm_scope_tallies_own(const struct rm_tallies_record *record, size_t last,
                          struct rm_tallies *ret_tallies);
void rm_scope_tallies_publish(struct rm_tallies_record *record, const struct rm_tallies *tallies,
                              size_t last);

/* ---- sums of a node --------------------------------------------------------------------- */

/*
 * The sums of meters at the nodes of scope trees (tallies and counts together), for the decoder of
 * scopes. They are extended to all calls, and limited to the exact sums of the nodes around them.
 * Pure.
 */

/* Sum i is field i of the tallies, or counter i - RM_FIELDS. */
#define RM_SUMS (RM_FIELDS + RM_SCOPE_COUNTERS)

/* The sums of a node, settled to the calls of `wall`. */
struct rm_scope_sums {
    struct rm_scope_wall wall;
    struct rm_tallies tallies;
    struct rm_scope_counts counts;
};

/* Limits for the nodes inside of another node, known before these nodes are read one by one. */
struct rm_sum_room {
    double bounds[RM_SUMS]; /* upper bounds of the sums of each node; INFINITY: not known */
    double shares[RM_SUMS]; /* kept fraction of each uncertain part, so that all fit */
};

/* The sums of all siblings together, before the limits. */
struct rm_sum_demand {
    double sums[RM_SUMS]; /* certain sums */
    double totals[RM_SUMS];
};

/** Reads the sums before the wall record: a call is published first in the wall record, so it is
 * never behind the sums. */
struct rm_scope_sums rm_scope_sums_of(const struct rm_block *block, rm_node_ref ref);

/** The limits of a node that is at the top, or beside its parent: none. */
struct rm_sum_room rm_sum_room_unlimited(void);

/** The limits of the nodes inside of a node. Their sums are at most the node's sums, if the node
 * was metered at each call; else the limits of the node itself apply. A node with an open instance
 * sets no limits, because the part of the open instance is not in the node's sums. */
struct rm_sum_room rm_sum_room_inside(const struct rm_scope_sums *sums, bool has_open,
                                      const struct rm_sum_room *around);

void rm_sum_demand_add(struct rm_sum_demand *demand, const struct rm_scope_sums *sums,
                       const struct rm_sum_room *room);

/** Fits siblings into the limits together, because their estimates have independent errors. If
 * their total is above the limit, the uncertain part of each is reduced by the same factor. */
void rm_sum_room_share(struct rm_sum_room *room, const struct rm_sum_demand *demand);

/** Limits the totals of a node. */
void rm_scope_sums_fit(struct rm_scope_sums *sums, const struct rm_sum_room *room);

#endif
