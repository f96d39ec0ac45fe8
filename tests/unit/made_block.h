/* SPDX-License-Identifier: MIT */
/*
 * A run block in memory of its own, for tests of what is written into it and read from it.
 */
#ifndef RESMON_TESTS_MADE_BLOCK_H
#define RESMON_TESTS_MADE_BLOCK_H

#include "test.h"

#include "store/layout.h"

/* The smallest that every test can live with; change what matters. */
static inline struct rm_block_sizes small_sizes(void)
{
    return (struct rm_block_sizes){.columns = 1,
                                   .rows = 4,
                                   .sources = 1,
                                   .tags = 4,
                                   .sites = 8,
                                   .nodes = 16,
                                   .threads = 2,
                                   .depth = 4,
                                   .fact_bytes = 512,
                                   .events = 3,
                                   .scope_energy = 1,
                                   .stacks = 8,
                                   .lines = 2,
                                   .scope_counters = 2,
                                   .scope_tallies = 1,
                                   .stack_texts = 256,
                                   .processes = 4};
}

static inline struct rm_block made_block(const struct rm_block_sizes *sizes)
{
    uint64_t bytes = 0;
    struct rm_block block;
    assert_ok(rm_block_measure(sizes, &bytes));
    void *memory = aligned_alloc(64, bytes);
    assert_non_null(memory);
    memset(memory, 0, bytes);
    rm_block_format(&block, memory, sizes);
    return block;
}

static inline void free_block(struct rm_block *block)
{
    free(block->base);
    block->base = NULL;
}

#endif
