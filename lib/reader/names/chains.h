/* SPDX-License-Identifier: MIT */
/*
 * Owns what the debug information of a module says of its addresses: lines, functions, and the
 * chain of those that a function was inlined into.  All addresses are looked for in one walk, which
 * goes into those units and functions alone that hold some (libdw walks through a unit for each
 * address). Called by dwfl.c.
 */
#ifndef RM_NAMES_CHAINS_H
#define RM_NAMES_CHAINS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "names/libdw.h"
#include "names/results.h"

#define RM_CHAIN_END UINT32_MAX

/* A function that has code, or was inlined. */
struct rm_chain_node {
    uint32_t parent;    /* that it was inlined into; RM_CHAIN_END: it is called */
    uint32_t function;  /* text */
    uint32_t call_file; /* text: where the parent has the call */
    uint32_t call_line;
    bool is_linked; /* the name is the linker's, and not only the source's */
};

struct rm_chain_address {
    uint32_t node, depth; /* the innermost that it is in; RM_CHAIN_END: none */
    uint32_t file, line;
    bool has_line;
};

struct rm_chains {
    const uint64_t *addresses; /* ascending */
    size_t count;
    uint64_t bias; /* an address less this is one of the debug information */
    struct rm_names_results *results;
    struct rm_chain_address *found; /* by address */
    struct rm_chain_node *nodes;
    size_t node_count, node_room;
};

/** Before anything else: nothing was found. */
void rm_chains_open(struct rm_chains *chains, const uint64_t *addresses, size_t count,
                    struct rm_names_results *results);

/** False: it has no units. */
bool rm_chains_read(struct rm_chains *chains, Dwarf *dwarf);

void rm_chains_free(struct rm_chains *chains);

#endif
