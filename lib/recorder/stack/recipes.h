/* SPDX-License-Identifier: MIT */
/*
 * Owns what was learned about stepping from a place of the code to its caller: bytes that libunwind
 * made of the unwind tables, by address.  Only ever added to, by any thread and in signal handlers,
 * without a lock; thrown away when code comes or goes.
 */
#ifndef RM_STACK_RECIPES_H
#define RM_STACK_RECIPES_H

#include <stddef.h>
#include <stdint.h>

#define RM_RECIPE_BYTES 256U

struct rm_recipes;

/** Room for some thousand recipes; NULL: no memory.  Free with rm_free(). */
struct rm_recipes *rm_recipes_new(void);

/** The recipe of an address, or NULL.  Async-signal-safe. */
void *rm_recipes_find(struct rm_recipes *recipes, uint64_t address);

/** Keeps the recipe of an address, if there is room.  Async-signal-safe. */
void rm_recipes_add(struct rm_recipes *recipes, uint64_t address, const void *recipe, size_t bytes);

#endif
