/* SPDX-License-Identifier: MIT */
/*
 * Owns totals over named things that come and go (disks, interfaces): the growth of each is added
 * up, so that a total never falls when one vanishes, and never jumps when one appears.
 */
#ifndef RM_COLLECT_DELTA_H
#define RM_COLLECT_DELTA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/parse.h"

#define RM_DELTA_NAME_BYTES 40
#define RM_DELTA_FIELDS     8
#define RM_DELTA_MAX_THINGS 4096U

struct rm_delta_thing {
    char name[RM_DELTA_NAME_BYTES];
    uint32_t class; /* the collector's own bits, from its classify function */
    bool is_known;  /* `last` is of the reading before */
    bool is_seen;
    uint64_t last[RM_DELTA_FIELDS];
};

struct rm_delta_table {
    struct rm_delta_thing *things;
    size_t count;
    size_t room;
    size_t next; /* files list things in the same order again */
};

void rm_delta_free(struct rm_delta_table *table);

/** Starts a reading. */
void rm_delta_begin(struct rm_delta_table *table);

/**
 * The thing called `name`; a new one is classified by `classify(context, name)`.  NULL: too many,
 * too long a name, or no memory.
 */
struct rm_delta_thing *rm_delta_find(struct rm_delta_table *table, struct rm_text name,
                                     uint32_t (*classify)(void *context, const char *name),
                                     void *context);

/**
 * Takes the thing's counters; `ret_growth` is what was added since the reading before: 0 for a new
 * thing, and for a counter that fell (the device was reset).  `wrap` (0: none): it is 32 bits wide
 * in the kernel, and starts again at 0 after this.
 */
void rm_delta_take(struct rm_delta_thing *thing, const uint64_t *now, const uint64_t *wrap,
                   size_t fields, double *ret_growth);

/** Ends a reading: what was not seen is forgotten, and new when it returns. */
void rm_delta_end(struct rm_delta_table *table);

#endif
