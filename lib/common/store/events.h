/* SPDX-License-Identifier: MIT */
/*
 * Owns the rings of finished scope instances in the block: one for each thread slot, written by the
 * thread that has the slot. The newest event overwrites the oldest. After a thread ends, its events
 * stay in the ring, and the next thread in the slot appends to them.
 *
 * The capacity of a ring is one event more than it promises. So the event that is being written
 * never overwrites a promised event, also if the program is killed.
 */
#ifndef RM_STORE_EVENTS_H
#define RM_STORE_EVENTS_H

#include <stdint.h>

#include "base/compiler.h"
#include "store/block.h"

struct rm_event {
    uint64_t start;    /* ticks */
    uint64_t duration; /* ticks */
    uint32_t site;
    uint32_t tid;
    uint32_t depth;   /* 0: outermost */
    uint32_t is_open; /* never in a ring: set by readers */
};

#define RM_THREAD_NAME_BYTES 16

struct rm_event_ring {
    uint64_t count;      /* events written in total (release) */
    uint64_t count_then; /* in a copy of a live file: `count` after the events were copied */
    uint64_t name[RM_THREAD_NAME_BYTES / 8]; /* of the slot's last thread */
    uint32_t tid;                            /* of the slot's last thread */
    uint32_t unused;
    struct rm_event events[]; /* sizes.events + 1 */
} __attribute__((aligned(32)));

/** Bytes of a slot's ring of `events` events; 0 if `events` is 0: then there are no rings. */
uint64_t rm_event_ring_bytes(uint64_t events);

/** Where a thread writes its events. */
struct rm_event_writer {
    struct rm_event_ring *ring; /* NULL: events are not kept */
    struct rm_event *next;
    struct rm_event *last;
    uint64_t written; /* number of events written by this thread */
    uint32_t tid;
};

/** Takes over the ring of a slot for a thread, whose name is not known yet. */
void rm_events_open(struct rm_event_writer *writer, const struct rm_block *block, uint64_t slot,
                    uint32_t tid);
void rm_events_set_name(struct rm_event_writer *writer, const char name[RM_THREAD_NAME_BYTES]);

static inline void rm_events_add(struct rm_event_writer *writer, uint64_t start, uint64_t duration,
                                 uint32_t site, uint32_t depth)
{
    struct rm_event *event = writer->next;
    struct rm_event_ring *ring = writer->ring;
    RM_FENCE_BEFORE_REFILL();
    RM_STORE(&event->start, start);
    RM_STORE(&event->duration, duration);
    RM_STORE(&event->site, site);
    RM_STORE(&event->tid, writer->tid);
    RM_STORE(&event->depth, depth);
    RM_STORE_RELEASE(&ring->count, RM_LOAD(&ring->count) + 1);
    writer->written++;
    writer->next = event == writer->last ? ring->events : event + 1;
}

/** The ring of a slot, or NULL if events are not kept. */
static inline struct rm_event_ring *rm_events_of(const struct rm_block *block, uint64_t slot)
{
    return block->header->sizes.events > 0 ? rm_block_record(block, RM_SECTION_EVENTS, slot) : NULL;
}

/** Number of events that can be read from a slot. */
uint64_t rm_events_kept(const struct rm_block *block, uint64_t slot);

/**
 * Copies the newest of a slot's first `count` events, at most `room`, oldest first. Leaves out
 * events that are overwritten during the copy. Returns the number of events copied. Only for a
 * block that keeps events.
 */
uint64_t rm_events_copy(const struct rm_block *block, uint64_t slot, uint64_t count,
                        struct rm_event *target, uint64_t room);

#endif
