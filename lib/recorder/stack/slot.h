/* SPDX-License-Identifier: MIT */
/*
 * Owns what stacks of one thread need: its timer and its counter of page faults, what following a
 * stack works in, and the ring of samples from the handler on that thread to the library's own.
 */
#ifndef RM_STACK_SLOT_H
#define RM_STACK_SLOT_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "stack/faults.h"
#include "stack/slot_sample.h"
#include "stack/unwind.h"

#define RM_SLOT_RING_BYTES UINT64_C(65536)

struct rm_stack_slot {
    uint32_t index;  /* in the table of slots */
    uint32_t thread; /* the kernel's number; 0: free */
    bool has_timer;
    timer_t timer;
    struct rm_faults faults;
    bool is_hung_up; /* a ring of the kernel: the thread has ended */
    uint64_t full;   /* atomic: samples that found no room */
    uint64_t seen_full;
    uint64_t seen_ns; /* CPU time of the thread, up to which blocked signals are accounted for */
    uint64_t seen_head;
    uint64_t blocked; /* samples that were counted as blocked; the timer may tell of them yet */
    uint64_t head;    /* the handler's, release */
    uint64_t tail;    /* the other thread's, release */
    struct rm_unwind unwind;
    unsigned char ring[RM_SLOT_RING_BYTES];
};

/** Handler: room for the largest sample, or NULL (counted). */
struct rm_slot_sample *rm_slot_reserve(struct rm_stack_slot *slot, uint64_t count);

/** Handler: hands it over; `bytes` and the rest are set. */
void rm_slot_commit(struct rm_stack_slot *slot, const struct rm_slot_sample *sample);

/** The other thread: the oldest sample, or NULL; and gives it back. */
const struct rm_slot_sample *rm_slot_peek(struct rm_stack_slot *slot);
void rm_slot_release(struct rm_stack_slot *slot, const struct rm_slot_sample *sample);

#endif
