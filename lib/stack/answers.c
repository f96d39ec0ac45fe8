/* SPDX-License-Identifier: MIT */
#include "stack/answers.h"

#include <string.h>

#include "base/alloc.h"
#include "base/status.h"
#include "stack/demangle.h"

/* What is at an address: frames[first ... first + count - 1]. */
struct rm_answer {
    uint64_t address;
    uint32_t first;
    uint32_t count_1; /* and one more; 0: a free slot */
};

static struct rm_answer *slot_of(const struct rm_answers *answers, uint64_t address)
{
    size_t slot = (size_t)((address * UINT64_C(0x9e3779b97f4a7c15)) >> 20U);
    for (slot &= answers->slot_count - 1; answers->slots[slot].count_1 != 0;
         slot = (slot + 1) & (answers->slot_count - 1)) {
        if (answers->slots[slot].address == address) {
            break;
        }
    }
    return &answers->slots[slot];
}

bool rm_answers_find(const struct rm_answers *answers, uint64_t address,
                     struct rm_symbol frames[RM_MOST_INLINED], size_t *ret_count)
{
    const struct rm_answer *answer = answers->count > 0 ? slot_of(answers, address) : NULL;
    if (answer == NULL || answer->count_1 == 0) {
        return false;
    }
    *ret_count = answer->count_1 - 1;
    if (*ret_count > 0) {
        memcpy(frames, &answers->frames[answer->first], *ret_count * sizeof *frames);
    }
    return true;
}

/* At most half of the slots are taken. */
static bool grow_slots(struct rm_answers *answers)
{
    struct rm_answers larger = {.slot_count =
                                    answers->slot_count > 0 ? 2 * answers->slot_count : 256};
    if (2 * (answers->count + 1) <= answers->slot_count) {
        return true;
    }
    larger.slots = rm_alloc(larger.slot_count, sizeof *larger.slots);
    if (larger.slots == NULL) {
        return false;
    }
    for (size_t i = 0; i < answers->slot_count; i++) {
        if (answers->slots[i].count_1 != 0) {
            *slot_of(&larger, answers->slots[i].address) = answers->slots[i];
        }
    }
    rm_free(answers->slots);
    answers->slots = larger.slots;
    answers->slot_count = larger.slot_count;
    return true;
}

static bool grow_frames(struct rm_answers *answers, size_t count)
{
    if (answers->frame_count + count <= answers->frame_room) {
        return true;
    }
    size_t room = 2 * answers->frame_room + RM_MOST_INLINED;
    struct rm_symbol *frames = rm_realloc(answers->frames, room, sizeof *frames);
    if (frames == NULL) {
        return false;
    }
    answers->frames = frames;
    answers->frame_room = room;
    return true;
}

/* Longer ones are cut where they are shown. */
static const char *keep(struct rm_intern *texts, const char *text)
{
    if (text == NULL) {
        return NULL;
    }
    uint32_t number = rm_intern(texts, text, strnlen(text, RM_MOST_NAME_BYTES));
    return texts->is_broken ? NULL : texts->keys[number].bytes;
}

resmon_status rm_answers_add(struct rm_answers *answers, uint64_t address, struct rm_symbol *frames,
                             size_t count)
{
    if (answers->count >= RM_MOST_ANSWERS) {
        return RESMON_OK;
    }
    bool is_whole = grow_slots(answers) && grow_frames(answers, count);
    for (size_t i = 0; is_whole && i < count; i++) {
        frames[i].function = keep(&answers->texts, frames[i].function);
        frames[i].file = keep(&answers->texts, frames[i].file);
        answers->frames[answers->frame_count + i] = frames[i];
        is_whole = !answers->texts.is_broken;
    }
    if (!is_whole) {
        return rm_error(RESMON_ENOMEM, "out of memory for the names of addresses");
    }
    *slot_of(answers, address) = (struct rm_answer){
        address,
        (uint32_t)answers->frame_count,
        (uint32_t)count + 1,
    };
    answers->frame_count += count;
    answers->count++;
    return RESMON_OK;
}

void rm_answers_free(struct rm_answers *answers)
{
    rm_free(answers->slots);
    rm_free(answers->frames);
    rm_intern_free(&answers->texts);
    *answers = (struct rm_answers){.slots = NULL};
}
