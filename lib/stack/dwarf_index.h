/* SPDX-License-Identifier: MIT */
/*
 * Owns the index that is made of debug information: translation units by address, and in each the
 * functions, and those inlined into one another, by address.  Knows nothing of libdw: offsets name
 * entries.
 * Called by dwarf.c.
 */
#ifndef RM_STACK_DWARF_INDEX_H
#define RM_STACK_DWARF_INDEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <resmon/status.h>

#include "stack/dwarf.h"
#include "stack/ranges.h"

#define RM_NO_NODE UINT32_MAX

/* A function, or one that was inlined into the one around it. */
struct rm_dwarf_node {
    uint64_t offset; /* of the entry */
    uint32_t around; /* RM_NO_NODE: it was not inlined */
    uint32_t is_named;
    struct rm_symbol symbol; /* once it is named: file and line are those of the call */
};

/* A translation unit. */
struct rm_dwarf_unit {
    uint64_t offset, past; /* of its entry; where its entries end */
    struct rm_dwarf_node *nodes;
    size_t node_count, node_capacity;
    struct rm_ranges ranges; /* by index of nodes */
    bool is_indexed;
};

/* Zeroed: empty. */
struct rm_dwarf_index {
    struct rm_dwarf_unit *units; /* by offset */
    size_t unit_count, unit_capacity;
    struct rm_ranges ranges; /* by index of units */
};

/** All that add: RESMON_ENOMEM only. */
resmon_status rm_dwarf_index_add_unit(struct rm_dwarf_index *index, uint64_t offset, uint64_t past);
resmon_status rm_dwarf_unit_add_node(struct rm_dwarf_unit *unit, uint64_t offset, uint32_t around);

/** The number of the unit that an entry is in; unit_count: none. */
size_t rm_dwarf_index_unit_of(const struct rm_dwarf_index *index, uint64_t offset);

/** Leaves a unit without nodes and ranges. */
void rm_dwarf_unit_clear(struct rm_dwarf_unit *unit);

void rm_dwarf_index_free(struct rm_dwarf_index *index);

#endif
