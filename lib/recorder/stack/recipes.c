/* SPDX-License-Identifier: MIT */
#include "stack/recipes.h"

#include <stdbool.h>
#include <string.h>

#include "base/alloc.h"
#include "base/compiler.h"

#define ROOM  2048U /* a power of two */
#define TRIES 8U

struct recipe {
    uint64_t address; /* atomic; 0: free */
    uint64_t is_set;  /* release, after the bytes */
    uint64_t bytes[RM_RECIPE_BYTES / 8];
};

struct rm_recipes {
    struct recipe rows[ROOM];
};

struct rm_recipes *rm_recipes_new(void)
{
    return rm_alloc(1, sizeof(struct rm_recipes));
}

static struct recipe *row_of(struct rm_recipes *recipes, uint64_t address, unsigned try)
{
    uint64_t hash = address * UINT64_C(0x9e3779b97f4a7c15) >> 32; /* Knuth's multiplicative one */
    return &recipes->rows[(hash + try) % ROOM];
}

void *rm_recipes_find(struct rm_recipes *recipes, uint64_t address)
{
    for (unsigned try = 0; try < TRIES; try++) {
        struct recipe *row = row_of(recipes, address, try);
        uint64_t known = RM_LOAD(&row->address);
        if (known == address) {
            return RM_LOAD_ACQUIRE(&row->is_set) != 0 ? row->bytes : NULL;
        }
        if (known == 0) {
            return NULL;
        }
    }
    return NULL;
}

/* Of two threads that learn the same at once, the one that takes the row fills it. */
void rm_recipes_add(struct rm_recipes *recipes, uint64_t address, const void *recipe, size_t bytes)
{
    for (unsigned try = 0; try < TRIES && bytes <= RM_RECIPE_BYTES; try++) {
        struct recipe *row = row_of(recipes, address, try);
        uint64_t free = 0;
        if (__atomic_compare_exchange_n(&row->address, &free, address, false, __ATOMIC_RELAXED,
                                        __ATOMIC_RELAXED)) {
            memcpy(row->bytes, recipe, bytes);
            RM_STORE_RELEASE(&row->is_set, 1);
            return;
        }
        if (free == address) {
            return;
        }
    }
}
