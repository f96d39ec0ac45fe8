/* SPDX-License-Identifier: MIT */
#include "base/ring.h"

#include "base/alloc.h"
#include "base/compiler.h"
#include "base/status.h"

resmon_status rm_ring_init(struct rm_ring *ring, size_t slot_bytes, size_t slot_count)
{
    *ring = (struct rm_ring){.slot_bytes = (slot_bytes + 7) / 8 * 8, .slot_count = slot_count};
    ring->slots = rm_alloc(slot_count, ring->slot_bytes);
    if (ring->slots == NULL) {
        return rm_error(RESMON_ENOMEM, "out of memory for a queue of %zu records", slot_count);
    }
    return RESMON_OK;
}

void rm_ring_free(struct rm_ring *ring)
{
    rm_free(ring->slots);
    ring->slots = NULL;
}

void *rm_ring_reserve(struct rm_ring *ring)
{
    uint64_t head = RM_LOAD(&ring->head);
    if (head - RM_LOAD_ACQUIRE(&ring->tail) >= ring->slot_count) {
        RM_STORE(&ring->dropped, RM_LOAD(&ring->dropped) + 1);
        return NULL;
    }
    return ring->slots + (head % ring->slot_count) * ring->slot_bytes;
}

void rm_ring_commit(struct rm_ring *ring)
{
    RM_STORE_RELEASE(&ring->head, RM_LOAD(&ring->head) + 1);
}

void *rm_ring_peek(struct rm_ring *ring)
{
    uint64_t tail = RM_LOAD(&ring->tail);
    if (tail == RM_LOAD_ACQUIRE(&ring->head)) {
        return NULL;
    }
    return ring->slots + (tail % ring->slot_count) * ring->slot_bytes;
}

void rm_ring_release(struct rm_ring *ring)
{
    RM_STORE_RELEASE(&ring->tail, RM_LOAD(&ring->tail) + 1);
}
