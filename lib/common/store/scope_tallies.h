/* SPDX-License-Identifier: MIT */
/*
 * Owns what the summing meters found in scopes: a record for each node of the scope trees, written
 * by the thread that the node is of.  A section of the block that is empty unless one is asked for.
 */
#ifndef RM_STORE_SCOPE_TALLIES_H
#define RM_STORE_SCOPE_TALLIES_H

#include <stddef.h>
#include <stdint.h>

#include "base/io_field.h"
#include "store/block.h"
#include "store/pace.h"
#include "store/scope_tree.h"
#include "store/tally.h"

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

/** The meter of a field, and the first field of a meter. */
size_t rm_tally_of_field(size_t field);
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

#endif
