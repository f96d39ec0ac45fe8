/* SPDX-License-Identifier: MIT */
/*
 * Owns what stacks of one thread need: its timer and its counter of page faults, what following a
 * stack works in, and the ring of samples from the handler on that thread to the library's own; and
 * the table of those slots, one for each thread that is sampled, with the tokens by which a signal
 * tells which slot it is about.  Slots are made and freed on one thread, that of engine/stacks;
 * handlers find theirs by its token.
 */
#ifndef RM_STACK_SLOT_H
#define RM_STACK_SLOT_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "stack/faults.h"
#include "stack/unwind.h"
#include "store/stack_record.h"

/* Why a stack was taken. */
enum rm_sample_cause { RM_SAMPLE_CPU, RM_SAMPLE_FAULT, RM_SAMPLE_PEAK };

/* Its sites and then its addresses follow, on boundaries of 8 bytes. */
struct rm_slot_sample {
    uint32_t bytes; /* of all; a multiple of 8 */
    uint8_t cause;  /* enum rm_sample_cause; 0xff: nothing, the ring begins anew */
    uint8_t is_cut, is_broken, reserved;
    uint32_t site_count;
    uint32_t depth;
    uint64_t count; /* samples that it stands for */
    /* Of page faults: */
    uint64_t faults;     /* that it stands for */
    uint64_t address;    /* of the last one */
    uint64_t page_bytes; /* of the page that came; 0: not known */
};

/* Room for the parts of the largest. */
#define RM_SLOT_PARTS_BYTES (RM_STACK_SITES * sizeof(uint32_t) + RM_STACK_DEPTH * sizeof(uint64_t))

/* Where the parts of a sample are. */
uint32_t *rm_slot_sites(struct rm_slot_sample *sample);
uint64_t *rm_slot_addresses(struct rm_slot_sample *sample);
uint32_t rm_slot_bytes_of(const struct rm_slot_sample *sample);

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

#define RM_STACK_THREADS 512U /* that are sampled at the same time */

/** How many there are, in use or not; all below have one. */
uint32_t rm_slots_count(void);
struct rm_stack_slot *rm_slots_at(uint32_t index);

/** The slot of a thread, or NULL; and marks it as named. */
struct rm_stack_slot *rm_slots_find(uint32_t thread);

/** A free slot for a thread, made if needed; NULL: there are too many threads, or no memory. */
struct rm_stack_slot *rm_slots_take(uint32_t thread);

/** Whether rm_slots_find() has named the slot since the last call. */
bool rm_slots_was_named(uint32_t index);

/** What a signal about a slot carries. */
void *rm_slots_token(const struct rm_stack_slot *slot);
/** The slot that a token is of, or NULL.  Async-signal-safe. */
struct rm_stack_slot *rm_slots_of_token(const void *token);

/** Frees all; no handler looks at one. */
void rm_slots_free(void);
/** Leaves all as it is: it is another process's, or looked at. */
void rm_slots_forget(void);

#endif
