/* SPDX-License-Identifier: MIT */
/*
 * Owns all heap memory of the library: overflow-safe sizes, NULL on failure, and in test builds
 * (RM_FAULT_INJECTION) a failure at the k-th call and a count of live allocations.
 * Called by every layer.
 */
#ifndef RM_BASE_ALLOC_H
#define RM_BASE_ALLOC_H

#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"

/** `count * size` zeroed bytes, or NULL (also when the product overflows or is 0). */
RM_SHARED void *rm_alloc(size_t count, size_t size) RM_MUST_CHECK;

/** Grows `old` to `count * size` bytes; NULL on failure, and `old` stays valid.  The new tail is
 * not zeroed. */
RM_SHARED void *rm_realloc(void *old, size_t count, size_t size) RM_MUST_CHECK;

/**
 * Room for one more behind `count` items of `size` bytes, in an array that has room for `*room` of
 * them: it grows to twice as many when it is full.  What is returned takes the place of `items`;
 * NULL on failure, and both stay as they were.
 */
RM_SHARED void *rm_grow(void *items, size_t count, size_t *room, size_t size) RM_MUST_CHECK;

/**
 * Adds a zeroed record of `size` bytes to an array: `list` is the address of its pointer, it has
 * `*count` records and room for `*room`.  NULL: no memory, and nothing has changed.
 */
RM_SHARED void *rm_append(void *list, size_t *count, size_t *room, size_t size) RM_MUST_CHECK;

/** A copy of `text`, or NULL. */
RM_SHARED char *rm_strdup(const char *text) RM_MUST_CHECK;

/** Frees what the functions above returned; NULL is fine. */
RM_SHARED void rm_free(void *memory);

#endif
