/* SPDX-License-Identifier: MIT */
#include "store/scope_counts.h"

#include <stddef.h>

#include "base/compiler.h"
#include "store/published.h"
#include "store/scope_facets.h"

struct rm_counter_record *rm_scope_counter_at(const struct rm_block *block, uint64_t index)
{
    return rm_block_record(block, RM_SECTION_COUNTERS, index);
}

/* ---- sums ------------------------------------------------------------------------------- */

/* Most counts go with the time that a call took. */
#define EXTENT RM_EXTENT_TICKS

static struct rm_tallied tallied(struct rm_scope_counts *counts)
{
    return (struct rm_tallied){&counts->tally, counts->fields, RM_SCOPE_COUNTERS, EXTENT};
}

struct rm_scope_counts rm_scope_counts_merge(const struct rm_scope_counts *a,
                                             const struct rm_scope_counts *b)
{
    struct rm_scope_counts both = *a;
    both.enabled += b->enabled;
    both.running += b->running;
    both.cost_ticks += b->cost_ticks;
    rm_tally_merge(tallied(&both), &b->tally, b->fields);
    return both;
}

void rm_scope_counts_settle(struct rm_scope_counts *counts, struct rm_tally_all all)
{
    rm_tally_settle(tallied(counts), all);
}

resmon_estimate rm_scope_counts_estimate(const struct rm_scope_counts *counts, size_t place,
                                         struct rm_tally_all all)
{
    resmon_estimate found = rm_tally_estimate(&counts->tally, &counts->fields[place], EXTENT, all);
    if (!rm_scope_counts_is_shared(counts)) {
        return found;
    }
    double whole = counts->running > 0 ? (double)counts->enabled / (double)counts->running : RM_NAN;
    return rm_estimate_scaled(found, whole);
}

/* ---- records ---------------------------------------------------------------------------- */

struct rm_scope_counts_record *rm_scope_counts_record(const struct rm_block *block, rm_node_ref ref)
{
    return rm_facet_record(block, RM_FACET_COUNTS, ref);
}

struct rm_scope_counts rm_scope_counts_of(const struct rm_block *block, rm_node_ref ref)
{
    struct rm_scope_counts counts;
    rm_facet_read(block, RM_FACET_COUNTS, ref, &counts);
    return counts;
}

static struct rm_field load_field(const struct rm_field *from)
{
    struct rm_field field = {.sum = RM_LOAD(&from->sum)};
    __atomic_load(&from->total, &field.total, __ATOMIC_RELAXED);
    __atomic_load(&from->variance, &field.variance, __ATOMIC_RELAXED);
    __atomic_load(&from->squares, &field.squares, __ATOMIC_RELAXED);
    __atomic_load(&from->rate, &field.rate, __ATOMIC_RELAXED);
    return field;
}

static void store_field(struct rm_field *to, struct rm_field field)
{
    RM_STORE(&to->sum, field.sum);
    __atomic_store(&to->total, &field.total, __ATOMIC_RELAXED);
    __atomic_store(&to->variance, &field.variance, __ATOMIC_RELAXED);
    __atomic_store(&to->squares, &field.squares, __ATOMIC_RELAXED);
    __atomic_store(&to->rate, &field.rate, __ATOMIC_RELAXED);
}

/* As rm_published_write(), but field by field from one copy to the other: each scope waits for it.
 */
void rm_scope_counts_add(const struct rm_block *block, rm_node_ref ref,
                         const struct rm_counted_call *call)
{
    struct rm_scope_counts_record *record = rm_scope_counts_record(block, ref);
    struct rm_scope_counts head;
    const size_t head_bytes = offsetof(struct rm_scope_counts, fields);
    if (record == NULL) {
        return;
    }
    uint32_t next = RM_LOAD(&record->version) + 1; /* nobody else writes it */
    const struct rm_scope_counts *from = &record->copies[(next - 1) & 1];
    struct rm_scope_counts *to = &record->copies[next & 1];
    rm_published_copy(&head, from, head_bytes);
    head.enabled += call->enabled;
    head.running += call->running;
    head.cost_ticks += call->cost_ticks;
    const struct rm_tally_step step = rm_tally_step(&head.tally, EXTENT, &call->call);
    RM_FENCE_BEFORE_REFILL();
    rm_published_copy(to, &head, head_bytes);
    /* What this block has no counters for stays 0 in both copies. */
    for (size_t i = 0; i < (size_t)block->header->sizes.scope_counters; i++) {
        struct rm_field field = load_field(&from->fields[i]);
        store_field(&to->fields[i], rm_field_after(field, &step, call->values[i]));
    }
    RM_STORE_RELEASE(&record->version, next);
}
