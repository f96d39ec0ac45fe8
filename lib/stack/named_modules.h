/* SPDX-License-Identifier: MIT */
/*
 * Owns the modules that were opened for their names, a bounded number of which is kept for the next
 * time.
 * Called by naming.c.
 */
#ifndef RM_STACK_NAMED_MODULES_H
#define RM_STACK_NAMED_MODULES_H

#include <stddef.h>
#include <stdint.h>

#include <resmon/status.h>

#include "stack/symbols.h"

#define RM_MOST_NAMED_MODULES 512

struct rm_named_module {
    struct rm_symbols *symbols;
    uint64_t used; /* the round that used it last */
};

/* Zeroed: none. */
struct rm_named_modules {
    struct rm_named_module modules[RM_MOST_NAMED_MODULES];
    size_t count;
    uint64_t round;
};

/** Before the modules of a run are asked for: those of earlier rounds go first. */
void rm_named_modules_begin(struct rm_named_modules *modules);

/** The module of an origin, which is kept until the round ends.  RESMON_ENOMEM only. */
resmon_status rm_named_modules_get(struct rm_named_modules *modules,
                                   const struct rm_symbols_origin *origin,
                                   struct rm_symbols **ret_symbols);

/** Forgets modules that could not be opened: they may be another time. */
void rm_named_modules_end(struct rm_named_modules *modules);

void rm_named_modules_free(struct rm_named_modules *modules);

#endif
