/* SPDX-License-Identifier: MIT */
#include "stack/shown_texts.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/alloc.h"

struct rm_shown_text {
    const void *key; /* where it stands in the module; NULL: free */
    const char *shown;
};

static size_t slot_of(const struct rm_shown_texts *texts, const void *key)
{
    size_t slot = (size_t)(((uintptr_t)key * UINT64_C(0x9e3779b97f4a7c15)) >> 20U);
    for (slot &= texts->capacity - 1; texts->slots[slot].key != NULL;
         slot++, slot &= texts->capacity - 1) {
        if (texts->slots[slot].key == key) {
            break;
        }
    }
    return slot;
}

static bool grow(struct rm_shown_texts *texts)
{
    struct rm_shown_texts larger = {.show = texts->show,
                                    .capacity = texts->capacity > 0 ? 2 * texts->capacity : 1024};
    larger.slots = rm_alloc(larger.capacity, sizeof *larger.slots);
    if (larger.slots == NULL) {
        return false;
    }
    for (size_t i = 0; i < texts->capacity; i++) {
        if (texts->slots[i].key != NULL) {
            larger.slots[slot_of(&larger, texts->slots[i].key)] = texts->slots[i];
        }
    }
    larger.count = texts->count;
    rm_free(texts->slots);
    *texts = larger;
    return true;
}

const char *rm_shown_text(struct rm_shown_texts *texts, struct rm_arena *arena, const char *text)
{
    if (text == NULL) {
        return "";
    }
    if (2 * texts->count >= texts->capacity && !grow(texts)) {
        return NULL;
    }
    struct rm_shown_text *slot = &texts->slots[slot_of(texts, text)];
    if (slot->key == NULL) {
        slot->shown = texts->show(arena, text);
        if (slot->shown == NULL) {
            return NULL;
        }
        slot->key = text;
        texts->count++;
    }
    return slot->shown;
}

void rm_shown_texts_forget(struct rm_shown_texts *texts)
{
    if (texts->count > 0) {
        memset(texts->slots, 0, texts->capacity * sizeof *texts->slots);
        texts->count = 0;
    }
}

void rm_shown_texts_free(struct rm_shown_texts *texts)
{
    rm_free(texts->slots);
    *texts = (struct rm_shown_texts){.show = texts->show};
}
