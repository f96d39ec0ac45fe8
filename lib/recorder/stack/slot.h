/* SPDX-License-Identifier: MIT */
/*
 * Owns the slots of sampled threads: a thread's timer and page-fault counter, the working memory
 * for unwinding, and the ring of samples from the handler on that thread to the library's
 * thread; and the table of slots, with the tokens by which a signal refers to a slot.  Slots are
 * created and freed on one thread, that of engine/stacks; handlers find theirs by its token.
 */
#ifndef RM_STACK_SLOT_H
#define RM_STACK_SLOT_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "stack/faults.h"
#include "stack/python_inside.h"
#include "stack/sample.h"
#include "stack/unwind.h"
#include "store/stack_record.h"

#define RM_SLOT_RING_BYTES UINT64_C(65536)

struct rm_stack_slot {
    uint32_t index;  /* in the table of slots */
    uint32_t thread; /* kernel id; 0: free */
    bool has_timer;
    timer_t timer;
    struct rm_faults faults;
    bool is_hung_up; /* a kernel ring is closed: the thread has ended */
    uint64_t full;   /* atomic: samples lost in the full ring */
    uint64_t seen_full;
    uint64_t seen_ns; /* CPU time of the thread up to which blocked signals are counted */
    uint64_t seen_head;
    uint64_t blocked; /* samples counted as blocked, which the timer may still report */
    uint64_t head;    /* written by the handler, release */
    uint64_t tail;    /* written by the other thread, release */
    struct rm_unwind unwind;
    struct rm_python_inside *python; /* atomic; NULL: Python's frames are not read */
    uint64_t woken; /* `head` at the last wake-up of the other thread, by the handler */
    unsigned char ring[RM_SLOT_RING_BYTES];
};

/** Handler: space for the largest sample, or NULL (counted). */
struct rm_slot_sample *rm_slot_reserve(struct rm_stack_slot *slot, uint64_t count);

/** Handler: publishes the sample; `bytes` and the rest are set. */
void rm_slot_commit(struct rm_stack_slot *slot, const struct rm_slot_sample *sample);

/** Other thread: the oldest sample that is not before a time, or NULL. */
const struct rm_slot_sample *rm_slot_find(const struct rm_stack_slot *slot, int64_t t_ns);

/** Other thread: the oldest sample before a position of `head`, or NULL; and frees its space. */
const struct rm_slot_sample *rm_slot_peek(struct rm_stack_slot *slot, uint64_t head);
void rm_slot_release(struct rm_stack_slot *slot, const struct rm_slot_sample *sample);

#define RM_STACK_THREADS 512U /* threads sampled at the same time */

/** Number of slots, in use or not; all indexes below have one. */
uint32_t rm_slots_count(void);
struct rm_stack_slot *rm_slots_at(uint32_t index);

/** The slot of a thread, or NULL; marks it as named. */
struct rm_stack_slot *rm_slots_find(uint32_t thread);

/** A free slot for a thread, allocated if needed; NULL: too many threads, or out of memory. */
struct rm_stack_slot *rm_slots_take(uint32_t thread);

/** Whether rm_slots_find() has returned the slot since the last call. */
bool rm_slots_was_named(uint32_t index);

/** The value that signals about a slot carry. */
void *rm_slots_token(const struct rm_stack_slot *slot);
/** The slot of a token, or NULL.  Async-signal-safe. */
struct rm_stack_slot *rm_slots_of_token(const void *token);

/** The slot of a living thread, or NULL.  Async-signal-safe. */
struct rm_stack_slot *rm_slots_of_thread(uint32_t thread);

/** Frees all; no handler may use them. */
void rm_slots_free(void);
/** Leaves all allocated: they belong to another process, or are in use. */
void rm_slots_forget(void);

#endif
