/* SPDX-License-Identifier: MIT */
#include "stack/slot.h"

#include <string.h>

#include "base/alloc.h"
#include "base/compiler.h"

/* ---- the ring of a slot --------------------------------------------------------------------- */

#define NOTHING 0xffU

/* ---- the ring ----------------------------------------------------------------------------- */

static struct rm_slot_sample *at(struct rm_stack_slot *slot, uint64_t position)
{
    return (struct rm_slot_sample *)(void *)&slot->ring[position % RM_SLOT_RING_BYTES];
}

/* The first sample from a position on, which is moved to it; NULL: none before `head`. */
static const struct rm_slot_sample *next_at(const struct rm_stack_slot *slot, uint64_t head,
                                            uint64_t *position)
{
    while (*position != head) {
        uint64_t offset = *position % RM_SLOT_RING_BYTES;
        uint64_t to_end = RM_SLOT_RING_BYTES - offset;
        const struct rm_slot_sample *sample =
            (const struct rm_slot_sample *)(const void *)&slot->ring[offset];
        if (to_end >= sizeof *sample && sample->cause != NOTHING) {
            return sample;
        }
        *position += to_end;
    }
    return NULL;
}

/* A sample is contiguous: if the end of the ring is too near, it continues at the begin. */
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

const struct rm_slot_sample *rm_slot_peek(struct rm_stack_slot *slot, uint64_t head)
{
    uint64_t tail = slot->tail;
    const struct rm_slot_sample *sample = next_at(slot, head, &tail);
    RM_STORE_RELEASE(&slot->tail, tail);
    return sample;
}

const struct rm_slot_sample *rm_slot_find(const struct rm_stack_slot *slot, int64_t t_ns)
{
    uint64_t head = RM_LOAD_ACQUIRE(&slot->head), position = slot->tail;
    const struct rm_slot_sample *sample;
    while ((sample = next_at(slot, head, &position)) != NULL && sample->t_ns < t_ns) {
        position += sample->bytes;
    }
    return sample;
}

void rm_slot_release(struct rm_stack_slot *slot, const struct rm_slot_sample *sample)
{
    RM_STORE_RELEASE(&slot->tail, slot->tail + sample->bytes);
}

/* ---- the table of slots --------------------------------------------------------------------- */

static struct rm_stack_slot *slots[RM_STACK_THREADS]; /* atomic; NULL: never used */
static bool is_named[RM_STACK_THREADS];
static uint32_t slot_count; /* all slots from this index on are NULL */

/* The address of a byte is a slot's token, which no other signal carries. */
static char tokens[RM_STACK_THREADS];

uint32_t rm_slots_count(void)
{
    return slot_count;
}

struct rm_stack_slot *rm_slots_at(uint32_t index)
{
    return slots[index];
}

static uint32_t find(uint32_t thread)
{
    uint32_t i = 0;
    while (i < slot_count && slots[i]->thread != thread) {
        i++;
    }
    return i;
}

struct rm_stack_slot *rm_slots_find(uint32_t thread)
{
    uint32_t index = find(thread);
    if (index == slot_count) {
        return NULL;
    }
    is_named[index] = true;
    return slots[index];
}

struct rm_stack_slot *rm_slots_take(uint32_t thread)
{
    uint32_t index = find(0);
    if (index == RM_STACK_THREADS) {
        return NULL;
    }
    if (index == slot_count) {
        struct rm_stack_slot *fresh = rm_alloc(1, sizeof *fresh);
        if (fresh == NULL) {
            return NULL;
        }
        fresh->index = index;
        rm_faults_init(&fresh->faults);
        /* Touches the memory, so that our page faults are not the program's. */
        memset(fresh->ring, 0xff, sizeof fresh->ring);
        __atomic_store_n(&slots[index], fresh, __ATOMIC_RELEASE);
        slot_count++;
    }
    slots[index]->thread = thread;
    is_named[index] = true;
    return slots[index];
}

bool rm_slots_was_named(uint32_t index)
{
    bool was_named = is_named[index];
    is_named[index] = false;
    return was_named;
}

void *rm_slots_token(const struct rm_stack_slot *slot)
{
    return &tokens[slot->index];
}

struct rm_stack_slot *rm_slots_of_token(const void *token)
{
    uintptr_t at = (uintptr_t)token;
    uintptr_t first = (uintptr_t)&tokens[0];
    return at >= first && at - first < sizeof tokens
               ? __atomic_load_n(&slots[at - first], __ATOMIC_ACQUIRE)
               : NULL;
}

struct rm_stack_slot *rm_slots_of_thread(uint32_t thread)
{
    for (uint32_t i = 0; i < RM_STACK_THREADS; i++) {
        struct rm_stack_slot *slot = __atomic_load_n(&slots[i], __ATOMIC_ACQUIRE);
        if (slot == NULL || RM_LOAD(&slot->thread) == thread) {
            return slot;
        }
    }
    return NULL;
}

void rm_slots_free(void)
{
    for (uint32_t i = 0; i < slot_count; i++) {
        rm_free(slots[i]->python);
        rm_free(slots[i]);
        slots[i] = NULL;
        is_named[i] = false;
    }
    slot_count = 0;
}

void rm_slots_forget(void)
{
    memset(slots, 0, sizeof slots);
    memset(is_named, 0, sizeof is_named);
    slot_count = 0;
}
