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

#define RM_RESIDENT_SAMPLES 4096U /* of a process; more are joined in pairs */

struct rm_resident_sample {
    struct rm_stack_entry *entry;
    uint64_t address;
    uint64_t order;   /* number of the sample in the process */
    uint64_t bytes;   /* represented by it */
    uint64_t faults;  /* the same as a number */
    uint64_t counted; /* of the bytes: what `entry` has */
};

struct rm_resident_window; /* a part of the address space */

/* Zeroed: no samples. */
struct rm_resident {
    struct rm_resident_sample *samples;
    size_t count, room;
    uint64_t latest;                    /* order of the latest sample */
    bool is_full;                       /* of different stacks, until the next look */
    uint64_t left_out;                  /* samples without room, not yet told */
    struct rm_resident_window *windows; /* working memory */
    size_t window_room;
};

/** Adds a sample of a page fault, whose memory is there. */
void rm_resident_add(struct rm_resident *resident, const struct rm_resident_sample *sample);

/** Looks at all pages; `path`: of the pagemap below the root.  RESMON_ESRCH: the process has ended,
 * or RESMON_ENOMEM: what the look before has seen stays; or an error of opening the file. */
resmon_status rm_resident_look(struct rm_resident *resident, const struct rm_root *root,
                               const char *path, uint64_t page_bytes);

/** Samples that had no room since the last call: they are of more stacks than are looked at. */
uint64_t rm_resident_take_left_out(struct rm_resident *resident);

/** Bytes of memory that it has. */
uint64_t rm_resident_bytes(const struct rm_resident *resident);

/** Takes all amounts back: the program was replaced by another one. */
void rm_resident_withdraw(struct rm_resident *resident);

/** Frees; the stacks keep their amounts. */
void rm_resident_free(struct rm_resident *resident);

/* When to look: each 0.1 s, or so much less often that looks take a hundredth of a CPU. */
struct rm_resident_turn {
    int64_t begin_ns, next_ns;
    int64_t cpu_ns; /* CPU time of the thread at the begin */
};

/** Whether it is time; `cpu_ns`: CPU time of this thread. */
bool rm_resident_turn_begin(struct rm_resident_turn *turn, int64_t now_ns, int64_t cpu_ns);
void rm_resident_turn_end(struct rm_resident_turn *turn, int64_t now_ns, int64_t cpu_ns);

#endif
