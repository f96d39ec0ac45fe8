/* SPDX-License-Identifier: MIT */
#include "stack/slot.h"

#include "base/compiler.h"

#define NOTHING 0xffU

/* ---- a sample ----------------------------------------------------------------------------- */

/* Sites take as many bytes as addresses would, so that these stay aligned. */
static uint64_t bytes_for(uint32_t sites, uint32_t depth)
{
    uint64_t of_sites = ((uint64_t)sites * sizeof(uint32_t) + 7) / 8 * 8;
    return sizeof(struct rm_slot_sample) + of_sites + depth * sizeof(uint64_t);
}

uint32_t *rm_slot_sites(struct rm_slot_sample *sample)
{
    return (uint32_t *)(void *)(sample + 1);
}

uint64_t *rm_slot_addresses(struct rm_slot_sample *sample)
{
    unsigned char *base = (unsigned char *)sample;
    return (uint64_t *)(void *)(base + bytes_for(sample->site_count, 0));
}

uint32_t rm_slot_bytes_of(const struct rm_slot_sample *sample)
{
    return (uint32_t)bytes_for(sample->site_count, sample->depth);
}

/* ---- the ring ----------------------------------------------------------------------------- */

static struct rm_slot_sample *at(struct rm_stack_slot *slot, uint64_t position)
{
    return (struct rm_slot_sample *)(void *)&slot->ring[position % RM_SLOT_RING_BYTES];
}

/* A sample lies in one piece: where the end of the ring is too near, it begins anew. */
struct rm_slot_sample *rm_slot_reserve(struct rm_stack_slot *slot, uint64_t count)
{
    uint64_t largest = sizeof(struct rm_slot_sample) + RM_SLOT_PARTS_BYTES;
    uint64_t tail = RM_LOAD_ACQUIRE(&slot->tail);
    uint64_t to_end = RM_SLOT_RING_BYTES - slot->head % RM_SLOT_RING_BYTES;
    uint64_t skip = to_end < largest ? to_end : 0;
    if (slot->head + skip + largest - tail > RM_SLOT_RING_BYTES) {
        RM_STORE(&slot->full, slot->full + count);
        return NULL;
    }
    if (skip > 0) {
        struct rm_slot_sample *filler = at(slot, slot->head);
        filler->bytes = (uint32_t)skip;
        if (skip >= sizeof *filler) {
            filler->cause = NOTHING;
        }
        RM_STORE_RELEASE(&slot->head, slot->head + skip);
    }
    return at(slot, slot->head);
}

void rm_slot_commit(struct rm_stack_slot *slot, const struct rm_slot_sample *sample)
{
    RM_STORE_RELEASE(&slot->head, slot->head + sample->bytes);
}

const struct rm_slot_sample *rm_slot_peek(struct rm_stack_slot *slot)
{
    uint64_t head = RM_LOAD_ACQUIRE(&slot->head);
    while (slot->tail != head) {
        const struct rm_slot_sample *sample = at(slot, slot->tail);
        uint64_t to_end = RM_SLOT_RING_BYTES - slot->tail % RM_SLOT_RING_BYTES;
        if (to_end >= sizeof *sample && sample->cause != NOTHING) {
            return sample;
        }
        RM_STORE_RELEASE(&slot->tail, slot->tail + to_end);
    }
    return NULL;
}

void rm_slot_release(struct rm_stack_slot *slot, const struct rm_slot_sample *sample)
{
    RM_STORE_RELEASE(&slot->tail, slot->tail + sample->bytes);
}
