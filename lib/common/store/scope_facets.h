/* SPDX-License-Identifier: MIT */
/*
 * Owns what lies beside a node of the scope trees: a facet of it (energy, counters, sums of meters)
 * is a record for each node in a section of its own, with two copies and a version
 * (store/published.h), empty where nobody asked for it.  What happens to nodes happens to all of
 * their facets by one table: a node begins anew, moves into the tree of the retired, or is settled
 * in a copy of the block (record/block_copy.c).  Pure.
 */
#ifndef RM_STORE_SCOPE_FACETS_H
#define RM_STORE_SCOPE_FACETS_H

#include <stdbool.h>

#include "store/scope_tree.h"
#include "store/tally.h"

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

#endif
