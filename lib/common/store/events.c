/* SPDX-License-Identifier: MIT */
#include "store/events.h"

#include <string.h>

uint64_t rm_event_ring_bytes(uint64_t events)
{
    return events > 0 ? sizeof(struct rm_event_ring) + (events + 1) * sizeof(struct rm_event) : 0;
}

void rm_events_open(struct rm_event_writer *writer, const struct rm_block *block, uint64_t slot,
                    uint32_t tid)
{
    uint64_t room = block->header->sizes.events + 1;
    struct rm_event_ring *ring = rm_events_of(block, slot);
    *writer = (struct rm_event_writer){.ring = ring, .tid = tid};
    if (ring != NULL) {
        writer->next = &ring->events[RM_LOAD(&ring->count) % room];
        writer->last = &ring->events[room - 1];
        /* No name is better than the name of the previous thread in this slot. */
        rm_events_set_name(writer, (char[RM_THREAD_NAME_BYTES]){0});
        RM_STORE_RELEASE(&ring->tid, tid);
    }
}

void rm_events_set_name(struct rm_event_writer *writer, const char name[RM_THREAD_NAME_BYTES])
{
    uint64_t words[RM_THREAD_NAME_BYTES / 8];
    memcpy(words, name, sizeof words);
    for (size_t i = 0; i < RM_ARRAY_LEN(words); i++) {
        RM_STORE(&writer->ring->name[i], words[i]);
    }
}

uint64_t rm_events_kept(const struct rm_block *block, uint64_t slot)
{
    uint64_t room = block->header->sizes.events;
    const struct rm_event_ring *ring = rm_events_of(block, slot);
    uint64_t count = ring != NULL ? RM_LOAD_ACQUIRE(&ring->count) : 0;
    return count < room ? count : room;
}

static struct rm_event read_event(const struct rm_event *event)
{
    return (struct rm_event){
        .start = RM_LOAD(&event->start),
        .duration = RM_LOAD(&event->duration),
        .site = RM_LOAD(&event->site),
        .tid = RM_LOAD(&event->tid),
        .depth = RM_LOAD(&event->depth),
    };
}

uint64_t rm_events_copy(const struct rm_block *block, uint64_t slot, uint64_t count,
                        struct rm_event *target, uint64_t room)
{
    const uint64_t promised = block->header->sizes.events;
    const struct rm_event_ring *ring = rm_block_record(block, RM_SECTION_EVENTS, slot);
    uint64_t taken = count < promised ? count : promised;
    taken = taken < room ? taken : room;
    uint64_t first = count - taken;
    for (uint64_t i = 0; i < taken; i++) {
        target[i] = read_event(&ring->events[(first + i) % (promised + 1)]);
    }
    /* Event n overwrites event n - promised - 1, after the count has become n. */
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
    uint64_t then = RM_LOAD(&ring->count);
    then = then > ring->count_then ? then : ring->count_then;
    uint64_t whole = then > promised ? then - promised : 0;
    uint64_t lost = whole > first ? whole - first : 0;
    lost = lost < taken ? lost : taken;
    memmove(target, target + lost, (size_t)(taken - lost) * sizeof *target);
    return taken - lost;
}
