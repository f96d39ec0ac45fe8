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

#include "stack/unwind.h"
#include "sys/perf_ring.h"

#define RM_SLOT_RING_BYTES UINT64_C(65536)

/* Why a stack was taken. */
enum rm_sample_cause { RM_SAMPLE_CPU, RM_SAMPLE_FAULT, RM_SAMPLE_PEAK };

/* A sample in the ring; its sites and then its addresses follow, on boundaries of 8 bytes. */
struct rm_slot_sample {
    uint32_t bytes; /* of all; a multiple of 8 */
    uint8_t cause;  /* enum rm_sample_cause; 0xff: nothing, the ring begins anew */
    uint8_t is_cut, is_broken, reserved;
    uint32_t site_count;
    uint32_t depth;
    uint64_t count;   /* intervals of CPU time, or of page faults */
    uint64_t address; /* of a fault */
};

struct rm_stack_slot {
    uint32_t thread; /* the kernel's number; 0: free */
    bool has_timer;
    timer_t timer;
    struct rm_perf_ring faults;
    bool is_hung_up;       /* its counter: the thread has ended */
    uint64_t full;         /* atomic: samples that found no room */
    uint64_t faults_taken; /* samples of page faults, those that were charged for others included */
    uint64_t full_faults;  /* of these, the others */
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

/* Where the parts of a sample are. */
uint32_t *rm_slot_sites(struct rm_slot_sample *sample);
uint64_t *rm_slot_addresses(struct rm_slot_sample *sample);
uint32_t rm_slot_bytes_of(const struct rm_slot_sample *sample);

#endif
