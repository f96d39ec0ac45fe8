/* SPDX-License-Identifier: MIT */
#include "stack/answers.h"

#include <string.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "base/status.h"
#include "stack/demangle.h"

/* What is at an address: frames[first ... first + count - 1]. */
struct rm_answer {
    uint64_t address;
    uint32_t first, count;
};

static uint64_t hash_of(uint64_t address)
{
    return rm_hash_u64(RM_HASH_START, address);
}

bool rm_answers_find(const struct rm_answers *answers, uint64_t address,
                     struct rm_symbol frames[RM_MOST_INLINED], size_t *ret_count)
{
    struct rm_map_search search = {.hash = hash_of(address)};
    for (uint32_t number; rm_map_next(&answers->map, &search, &number);) {
        const struct rm_answer *answer = &answers->answers[number];
        if (answer->address == address) {
            *ret_count = answer->count;
            if (*ret_count > 0) {
                memcpy(frames, &answers->frames[answer->first], *ret_count * sizeof *frames);
            }
            return true;
        }
    }
    return false;
}

/* For one answer more. */
static bool make_room(struct rm_answers *answers)
{
    struct rm_answer *larger =
        rm_grow(answers->answers, answers->map.count, &answers->room, sizeof *larger);
    if (larger == NULL) {
        return false;
    }
    answers->answers = larger;
    return rm_map_reserve(&answers->map, (uint64_t)answers->map.count + 1);
}

static bool add_frame(struct rm_answers *answers, const struct rm_symbol *frame)
{
    struct rm_symbol *frames =
        rm_grow(answers->frames, answers->frame_count, &answers->frame_room, sizeof *frames);
    if (frames == NULL) {
        return false;
    }
    answers->frames = frames;
    frames[answers->frame_count++] = *frame;
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
    const uint32_t number = answers->map.count;
    const size_t first = answers->frame_count;
    if (number >= RM_MOST_ANSWERS) {
        return RESMON_OK;
    }
    bool is_whole = make_room(answers);
    for (size_t i = 0; is_whole && i < count; i++) {
        frames[i].function = keep(&answers->texts, frames[i].function);
        frames[i].file = keep(&answers->texts, frames[i].file);
        is_whole = !answers->texts.is_broken && add_frame(answers, &frames[i]);
    }
    if (!is_whole) {
        return rm_error(RESMON_ENOMEM, "out of memory for the names of addresses");
    }
    answers->answers[number] = (struct rm_answer){address, (uint32_t)first, (uint32_t)count};
    rm_map_add(&answers->map, hash_of(address), number);
    return RESMON_OK;
}

void rm_answers_free(struct rm_answers *answers)
{
    rm_free(answers->answers);
    rm_free(answers->frames);
    rm_map_free(&answers->map);
    rm_intern_free(&answers->texts);
    *answers = (struct rm_answers){.answers = NULL};
}
