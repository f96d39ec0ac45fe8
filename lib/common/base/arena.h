/* SPDX-License-Identifier: MIT */
/*
 * Owns strings and small arrays that live and die together: one free for all of them.
 */
#ifndef RM_BASE_ARENA_H
#define RM_BASE_ARENA_H

#include <stdbool.h>
#include <stddef.h>

#include "base/compiler.h"

struct rm_arena_chunk;

struct rm_arena {
    struct rm_arena_chunk *chunks;
    bool is_broken; /* an allocation has failed: a builder checks it once, at its end */
};

/** `count * size` zeroed bytes, or NULL; count 0 gives a valid pointer. */
RM_SHARED void *rm_arena_alloc(struct rm_arena *arena, size_t count, size_t size);

/** Makes room for `bytes` in all, so that what fits needs no allocator; false: no memory. */
bool rm_arena_reserve(struct rm_arena *arena, size_t bytes);

/** What one rm_arena_alloc() takes at most beyond what it was asked for. */
#define RM_ARENA_SLACK 32U

/** A copy of at most `length` bytes up to a '\0', cleaned like rm_text_copy(); NULL: no memory. */
RM_SHARED const char *rm_arena_text(struct rm_arena *arena, const char *text, size_t length);

/** As rm_arena_text(), but "" instead of NULL: for builders that check `is_broken` at their end. */
RM_SHARED const char *rm_arena_keep(struct rm_arena *arena, const char *text, size_t length);

/** Frees all of it; the arena is empty and usable again. */
RM_SHARED void rm_arena_free(struct rm_arena *arena);

#endif
