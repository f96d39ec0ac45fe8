/* SPDX-License-Identifier: MIT */
#include "base/alloc.h"

#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "base/text.h"

#define FIRST_ROOM 16U

void *rm_alloc(size_t count, size_t size)
{
    size_t bytes;
    if (count == 0 || size == 0 || __builtin_mul_overflow(count, size, &bytes) ||
        RM_FAULT(RM_FAULT_ALLOC)) {
        return NULL;
    }
    void *memory = calloc(1, bytes);
    if (memory != NULL) {
        RM_FAULT_LIVE(1);
    }
    return memory;
}

void *rm_realloc(void *old, size_t count, size_t size)
{
    size_t bytes;
    if (count == 0 || size == 0 || __builtin_mul_overflow(count, size, &bytes) ||
        RM_FAULT(RM_FAULT_ALLOC)) {
        return NULL;
    }
    void *memory = realloc(old, bytes);
    if (memory != NULL && old == NULL) {
        RM_FAULT_LIVE(1);
    }
    return memory;
}

void *rm_grow(void *items, size_t count, size_t *room, size_t size)
{
    size_t wanted = *room > 0 ? *room : FIRST_ROOM / 2;
    if (count < *room) {
        return items;
    }
    if (__builtin_mul_overflow(wanted, 2, &wanted)) {
        return NULL;
    }
    void *larger = rm_realloc(items, wanted, size);
    if (larger != NULL) {
        *room = wanted;
    }
    return larger;
}

void *rm_append(void *list, size_t *count, size_t *room, size_t size)
{
    char *items;
    memcpy(&items, list, sizeof items);
    items = rm_grow(items, *count, room, size);
    if (items == NULL) {
        return NULL;
    }
    memcpy(list, &items, sizeof items);
    return memset(items + (*count)++ * size, 0, size);
}

char *rm_strdup(const char *text)
{
    size_t length = strlen(text) + 1;
    char *copy = rm_alloc(length, 1);
    if (copy != NULL) {
        memcpy(copy, text, length);
    }
    return copy;
}

void rm_free(void *memory)
{
    if (memory != NULL) {
        RM_FAULT_LIVE(-1);
    }
    free(memory);
}

/* ---- arenas ------------------------------------------------------------------------------- */

#define CHUNK_BYTES 8192U

struct rm_arena_chunk {
    struct rm_arena_chunk *next;
    size_t used;
    size_t capacity;
    max_align_t bytes[];
};

static struct rm_arena_chunk *add_chunk(struct rm_arena *arena, size_t capacity)
{
    struct rm_arena_chunk *fresh = rm_alloc(1, sizeof *fresh + capacity);
    arena->is_broken |= fresh == NULL;
    if (fresh != NULL) {
        fresh->capacity = capacity;
        fresh->next = arena->chunks;
        arena->chunks = fresh;
    }
    return fresh;
}

bool rm_arena_reserve(struct rm_arena *arena, size_t bytes)
{
    return bytes <= SIZE_MAX / 4 && add_chunk(arena, bytes) != NULL;
}

void *rm_arena_alloc(struct rm_arena *arena, size_t count, size_t size)
{
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes) || bytes > SIZE_MAX / 4) {
        arena->is_broken = true;
        return NULL;
    }
    bytes = (bytes + sizeof(max_align_t)) / sizeof(max_align_t) * sizeof(max_align_t);
    struct rm_arena_chunk *chunk = arena->chunks;
    if (chunk == NULL || chunk->capacity - chunk->used < bytes) {
        chunk = add_chunk(arena, bytes > CHUNK_BYTES ? bytes : CHUNK_BYTES);
        if (chunk == NULL) {
            return NULL;
        }
    }
    void *memory = (unsigned char *)chunk->bytes + chunk->used;
    chunk->used += bytes;
    return memory;
}

const char *rm_arena_text(struct rm_arena *arena, const char *text, size_t length)
{
    size_t real = strnlen(text, length);
    char *copy = rm_arena_alloc(arena, real + 1, 1);
    if (copy != NULL) {
        (void)rm_text_copy(copy, real + 1, text, real);
    }
    return copy;
}

const char *rm_arena_keep(struct rm_arena *arena, const char *text, size_t length)
{
    const char *copy = rm_arena_text(arena, text, length);
    return copy != NULL ? copy : "";
}

void rm_arena_free(struct rm_arena *arena)
{
    while (arena->chunks != NULL) {
        struct rm_arena_chunk *chunk = arena->chunks;
        arena->chunks = chunk->next;
        rm_free(chunk);
    }
    arena->is_broken = false;
}
