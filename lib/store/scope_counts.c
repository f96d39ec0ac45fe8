/* SPDX-License-Identifier: MIT */
#include "store/scope_counts.h"

#include <stdbool.h>
#include <stddef.h>

#include "base/compiler.h"
#include "store/published.h"

static bool is_recorded(const struct rm_block *block)
{
    return block->header->sizes.scope_counters != 0;
}

static struct rm_scope_counts_record *record_of(const struct rm_block *block, rm_node_ref ref)
{
    return rm_block_record(block, RM_SECTION_SCOPE_COUNTERS, ref / sizeof(struct rm_scope_node));
}

static void publish(struct rm_scope_counts_record *record, const struct rm_scope_counts *sums)
{
    rm_published_write(record->sums, sums, sizeof *sums, &record->version);
}

struct rm_counter_record *rm_scope_counter_at(const struct rm_block *block, uint64_t index)
{
    return rm_block_record(block, RM_SECTION_COUNTERS, index);
}

struct rm_scope_counts rm_scope_counts_of(const struct rm_block *block, rm_node_ref ref)
{
    struct rm_scope_counts sums = {0};
    if (is_recorded(block)) {
        const struct rm_scope_counts_record *record = record_of(block, ref);
        rm_published_read(&sums, record->sums, sizeof sums, &record->version);
    }
    return sums;
}

struct rm_scope_counts rm_scope_counts_merge(const struct rm_scope_counts *a,
                                             const struct rm_scope_counts *b)
{
    struct rm_scope_counts sums = {.calls = a->calls + b->calls,
                                   .wall = a->wall + b->wall,
                                   .enabled = a->enabled + b->enabled,
                                   .running = a->running + b->running,
                                   .cost_ticks = a->cost_ticks + b->cost_ticks};
    for (size_t i = 0; i < RM_SCOPE_COUNTERS; i++) {
        sums.values[i] = a->values[i] + b->values[i];
    }
    return sums;
}

void rm_scope_counts_add(const struct rm_block *block, rm_node_ref ref,
                         const struct rm_scope_counts *instance)
{
    if (is_recorded(block)) {
        /* What this block has no counters for stays 0 in both copies. */
        size_t words = offsetof(struct rm_scope_counts, values) / sizeof(uint64_t) +
                       (size_t)block->header->sizes.scope_counters;
        struct rm_scope_counts_record *record = record_of(block, ref);
        uint32_t next = RM_LOAD(&record->version) + 1; /* nobody else writes it */
        const uint64_t *old = (const void *)&record->sums[(next - 1) & 1];
        const uint64_t *fresh = (const void *)instance;
        uint64_t *sums = (void *)&record->sums[next & 1];
        RM_FENCE_BEFORE_REFILL();
        for (size_t i = 0; i < words; i++) {
            RM_STORE(&sums[i], RM_LOAD(&old[i]) + fresh[i]);
        }
        RM_STORE_RELEASE(&record->version, next);
    }
}

void rm_scope_counts_clear(const struct rm_block *block, rm_node_ref ref)
{
    if (is_recorded(block)) {
        publish(record_of(block, ref), &(struct rm_scope_counts){0});
    }
}

uint32_t rm_scope_counts_next_version(const struct rm_block *block, rm_node_ref target)
{
    return is_recorded(block) ? RM_LOAD(&record_of(block, target)->version) + 1 : 0;
}

void rm_scope_counts_move(const struct rm_block *block, rm_node_ref source, rm_node_ref target)
{
    if (!is_recorded(block)) {
        return;
    }
    struct rm_scope_counts a = rm_scope_counts_of(block, target);
    struct rm_scope_counts b = rm_scope_counts_of(block, source);
    struct rm_scope_counts sums = rm_scope_counts_merge(&a, &b);
    publish(record_of(block, target), &sums);
    publish(record_of(block, source), &(struct rm_scope_counts){0});
}
