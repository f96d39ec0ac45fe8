/* SPDX-License-Identifier: MIT */
#include "base/arena.h"

#include <stdint.h>
#include <string.h>

#include "base/alloc.h"
#include "base/text.h"

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
