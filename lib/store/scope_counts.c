/* SPDX-License-Identifier: MIT */
#include "store/scope_counts.h"

#include <stdbool.h>

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
                                   .running = a->running + b->running};
    for (size_t i = 0; i < RM_SCOPE_COUNTERS; i++) {
        sums.values[i] = a->values[i] + b->values[i];
    }
    return sums;
}

void rm_scope_counts_add(const struct rm_block *block, rm_node_ref ref,
                         const struct rm_scope_counts *instance)
{
    if (is_recorded(block)) {
        struct rm_scope_counts_record *record = record_of(block, ref);
        struct rm_scope_counts old = record->sums[record->version & 1]; /* nobody else writes it */
        struct rm_scope_counts sums = rm_scope_counts_merge(&old, instance);
        publish(record, &sums);
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
