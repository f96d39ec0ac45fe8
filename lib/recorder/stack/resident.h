/* SPDX-License-Identifier: MIT */
/*
 * Owns the memory of a process that is still there: the sampled pages, and how much of what each
 * represents /proc/PID/pagemap shows at the latest look.  The amounts are those of the kind
 * RESMON_STACK_RESIDENT, at the stacks that touched the pages first.
 *
 * A page that was given back and touched again belongs to the later stack.  That is not seen
 * between two looks, but the pages around a sample are counted: the latest sample claims as many as
 * it represents, then the one before, and for what was given back, none remain.
 */
#ifndef RM_STACK_RESIDENT_H
#define RM_STACK_RESIDENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "os/file.h"
#include "store/stack_record.h"

#define RM_RESIDENT_SAMPLES 16384U /* of a process; more are joined in pairs */

struct rm_resident_sample {
    struct rm_stack_entry *entry;
    uint64_t address;
    uint64_t order;   /* number of the sample in the process */
    uint64_t bytes;   /* represented by it */
    uint64_t faults;  /* the same as a number */
    uint64_t counted; /* of the bytes: what `entry` has */
};

/* Zeroed: no samples. */
struct rm_resident {
    struct rm_resident_sample *samples;
    size_t count, room;
    uint64_t latest;   /* order of the latest sample */
    uint64_t left_out; /* samples without room */
    int64_t next_ns;   /* time of the next look */
};

/** Adds a sample of a page fault, whose memory is there. */
void rm_resident_add(struct rm_resident *resident, const struct rm_resident_sample *sample);

/** Looks at all pages, if it is time; `path`: of the pagemap below the root.  Returns the error of
 * opening it. */
resmon_status rm_resident_look(struct rm_resident *resident, const struct rm_root *root,
                               const char *path, uint64_t page_bytes);

/** The next look is due at once. */
void rm_resident_hurry(struct rm_resident *resident);

/** Takes all amounts back: the program was replaced by another one. */
void rm_resident_withdraw(struct rm_resident *resident);

/** Frees; the stacks keep their amounts. */
void rm_resident_free(struct rm_resident *resident);

#endif
