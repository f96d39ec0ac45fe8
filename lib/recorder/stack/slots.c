/* SPDX-License-Identifier: MIT */
#include "stack/slots.h"

#include <string.h>

#include "base/alloc.h"
#include "base/compiler.h"

static struct rm_stack_slot *slots[RM_STACK_THREADS]; /* atomic; NULL: never used */
static bool is_named[RM_STACK_THREADS];
static uint32_t slot_count; /* from here on, they are NULL */

/* The address of its byte stands for a slot: nobody else's signal carries it. */
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
        /* Page faults of ours are not the program's. */
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

void rm_slots_free(void)
{
    for (uint32_t i = 0; i < slot_count; i++) {
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
