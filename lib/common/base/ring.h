/* SPDX-License-Identifier: MIT */
/*
 * Owns a bounded queue of fixed-size records from one producer thread to one consumer thread,
 * without locks.  A full queue refuses the record and counts it.
 */
#ifndef RM_BASE_RING_H
#define RM_BASE_RING_H

#include <stddef.h>
#include <stdint.h>

#include <resmon/status.h>

struct rm_ring {
    unsigned char *slots;
    size_t slot_bytes;
    size_t slot_count;
    /* `head` is stored (release) by the producer after the slot is written and loaded (acquire)
     * by the consumer before it reads the slot; `tail` the other way round. */
    uint64_t head;
    uint64_t tail;
    uint64_t dropped; /* producer only; others read it */
};

resmon_status rm_ring_init(struct rm_ring *ring, size_t slot_bytes, size_t slot_count);
void rm_ring_free(struct rm_ring *ring);

/** Producer: the next free slot to fill, or NULL (counted as dropped) when the queue is full. */
void *rm_ring_reserve(struct rm_ring *ring);

/** Producer: hands the reserved slot over. */
void rm_ring_commit(struct rm_ring *ring);

/** Consumer: the oldest record, or NULL when the queue is empty. */
void *rm_ring_peek(struct rm_ring *ring);

/** Consumer: gives the slot of the last peek back. */
void rm_ring_release(struct rm_ring *ring);

#endif
