/* SPDX-License-Identifier: MIT */
/*
 * Owns ranges of addresses that lie in one another, made into a sorted list of ones that do not:
 * the innermost range of an address is then found by halving.
 * Called by symbol_table.c, dwarf.c and dwarf_index.c.
 */
#ifndef RM_STACK_RANGES_H
#define RM_STACK_RANGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct rm_range {
    uint64_t low, high; /* the first byte, and the one past the last */
    uint32_t value;
    uint32_t order; /* of two that are the same otherwise, the higher is the inner one */
};

/* Zeroed: empty. */
struct rm_ranges {
    struct rm_range *items;
    size_t count, capacity;
};

/** Adds one; an empty one is left out.  False: no memory. */
bool rm_ranges_add(struct rm_ranges *ranges, struct rm_range range);

/** After the last rm_ranges_add(): of what overlaps, the range that begins last has it.  False: no
 * memory. */
bool rm_ranges_flatten(struct rm_ranges *ranges);

/** The value of the range that holds an address; false: none does.  After rm_ranges_flatten(). */
bool rm_ranges_find(const struct rm_ranges *ranges, uint64_t address, uint32_t *ret_value);

void rm_ranges_free(struct rm_ranges *ranges);

#endif
