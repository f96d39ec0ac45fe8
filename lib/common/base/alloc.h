/* SPDX-License-Identifier: MIT */
/*
 * Owns all heap memory of the library: overflow-safe sizes, NULL on failure, and in test builds
 * (RM_FAULT_INJECTION) a failure at the k-th call and a count of live allocations; and arenas.
 * Called by every layer.
 */
#ifndef RM_BASE_ALLOC_H
#define RM_BASE_ALLOC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"

/** `count * size` zeroed bytes, or NULL (also when the product overflows or is 0). */
RM_SHARED void *rm_alloc(size_t count, size_t size) RM_MUST_CHECK;

/** Grows `old` to `count * size` bytes; NULL on failure, and `old` stays valid.  The new tail is
 * not zeroed. */
RM_SHARED void *rm_realloc(void *old, size_t count, size_t size) RM_MUST_CHECK;

/**
 * Makes the capacity `*room` of an array of `count` items of `size` bytes greater than `count`; a
 * full array doubles.  The returned array replaces `items`.  NULL on failure: the array and `*room`
 * are unchanged.
 */
RM_SHARED void *rm_grow(void *items, size_t count, size_t *room, size_t size) RM_MUST_CHECK;

/**
 * Appends a zeroed record of `size` bytes to an array.  `list` is the address of the array's
 * pointer; it has `*count` records and the capacity `*room`.  NULL: no memory, and the array is
 * unchanged.
 */
RM_SHARED void *rm_append(void *list, size_t *count, size_t *room, size_t size) RM_MUST_CHECK;

/** A copy of `text`, or NULL. */
RM_SHARED char *rm_strdup(const char *text) RM_MUST_CHECK;

/** Frees what the functions above returned; NULL is fine. */
RM_SHARED void rm_free(void *memory);

/* ---- arenas ------------------------------------------------------------------------------ */

/* Strings and small arrays that are freed together. */

struct rm_arena_chunk;

struct rm_arena {
    struct rm_arena_chunk *chunks;
    bool is_broken; /* an allocation has failed: a builder checks it once, at its end */
};

/** `count * size` zeroed bytes, or NULL; count 0 gives a valid pointer. */
RM_SHARED void *rm_arena_alloc(struct rm_arena *arena, size_t count, size_t size);

/** Reserves `bytes` in all, which later allocations take; false: no memory. */
bool rm_arena_reserve(struct rm_arena *arena, size_t bytes);

/** How much more than its size one rm_arena_alloc() takes at most. */
#define RM_ARENA_SLACK 32U

/** A copy of at most `length` bytes up to a '\0', cleaned like rm_text_copy(); NULL: no memory. */
RM_SHARED const char *rm_arena_text(struct rm_arena *arena, const char *text, size_t length);

/** As rm_arena_text(), but "" instead of NULL: for builders that check `is_broken` at their end. */
RM_SHARED const char *rm_arena_keep(struct rm_arena *arena, const char *text, size_t length);

/** Frees all of it; the arena is empty and usable again. */
RM_SHARED void rm_arena_free(struct rm_arena *arena);

#endif
