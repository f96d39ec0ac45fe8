/* SPDX-License-Identifier: MIT */
#include "stack/shown_texts.h"

#include <stdbool.h>
#include <stdint.h>

#include "base/alloc.h"
#include "base/hash.h"

struct rm_shown_text {
    const char *text; /* where it stands in the module */
    const char *shown;
};

static uint64_t hash_of(const char *text)
{
    return rm_hash_u64(RM_HASH_START, (uintptr_t)text);
}

static const char *find(const struct rm_shown_texts *texts, const char *text)
{
    struct rm_map_search search = {.hash = hash_of(text)};
    for (uint32_t number; rm_map_next(&texts->map, &search, &number);) {
        if (texts->texts[number].text == text) {
            return texts->texts[number].shown;
        }
    }
    return NULL;
}

static bool make_room(struct rm_shown_texts *texts)
{
    struct rm_shown_text *larger =
        rm_grow(texts->texts, texts->map.count, &texts->room, sizeof *larger);
    if (larger == NULL) {
        return false;
    }
    texts->texts = larger;
    return rm_map_reserve(&texts->map, (uint64_t)texts->map.count + 1);
}

const char *rm_shown_text(struct rm_shown_texts *texts, struct rm_arena *arena, const char *text)
{
    const char *shown = text != NULL ? find(texts, text) : "";
    if (shown == NULL && make_room(texts)) {
        shown = texts->show(arena, text);
        if (shown != NULL) {
            texts->texts[texts->map.count] = (struct rm_shown_text){text, shown};
            rm_map_add(&texts->map, hash_of(text), texts->map.count);
        }
    }
    return shown;
}

void rm_shown_texts_forget(struct rm_shown_texts *texts)
{
    rm_map_clear(&texts->map);
}

void rm_shown_texts_free(struct rm_shown_texts *texts)
{
    rm_free(texts->texts);
    rm_map_free(&texts->map);
    *texts = (struct rm_shown_texts){.show = texts->show};
}
