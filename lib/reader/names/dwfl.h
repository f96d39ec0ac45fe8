/* SPDX-License-Identifier: MIT */
/*
 * Owns symbolizing the addresses of one module by libdwfl of elfutils, which is loaded, with libdw
 * and libelf, when it is needed.  dwfl_none.c stands in where it was not there to build with.
 *
 * What the debug information says of addresses is lines, functions, and the chain of those that a
 * function was inlined into.  All addresses are looked for in one walk, which goes into those units
 * and functions alone that hold some (libdw walks through a unit for each address).
 * Called by serve.c.
 */
#ifndef RM_NAMES_DWFL_H
#define RM_NAMES_DWFL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "names/protocol.h"
#include "names/results.h"

struct rm_names_module {
    const char *path, *build_id; /* of what was mapped; "": it has none */
    const char *debug_root;      /* "": the usual ones */
    uint64_t pid;                /* whose program it may be; 0: none */
    int64_t mapped_ns; /* real time: without a build-id, a file that was changed since is another
                          one; 0: not known */
    bool is_light;
    const uint64_t *addresses; /* of the file, ascending */
    size_t count;
    struct rm_names_span *spans; /* to be set: their frames */
    uint32_t flags;              /* to be set: RM_NAMES_NO_NAMES and so on */
    char reason[RM_NAMES_MOST_REASON];
};

/** Before anything else.  RESMON_ENOTSUP: the text of the error says why not. */
resmon_status rm_dwfl_load(void);

/** Adds the frames of a module's addresses to the results. */
void rm_dwfl_symbolize(struct rm_names_module *module, struct rm_names_results *results);

#endif
