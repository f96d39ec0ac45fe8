/* SPDX-License-Identifier: MIT */
#include "store/scope_energy.h"

#include <stddef.h>

#include "base/compiler.h"
#include "store/published.h"

/* Only for a block that records energy. */
static struct rm_scope_energy_record *record_of(const struct rm_block *block, rm_node_ref ref)
{
    return rm_facet_record(block, RM_FACET_ENERGY, ref);
}

/* ---- records ---------------------------------------------------------------------------- */

static void publish(struct rm_scope_energy_record *record, struct rm_scope_energy sum)
{
    rm_published_write(record->sums, &sum, sizeof sum, &record->version);
}

struct rm_scope_energy rm_scope_energy_of(const struct rm_block *block, rm_node_ref ref)
{
    struct rm_scope_energy sum;
    rm_facet_read(block, RM_FACET_ENERGY, ref, &sum);
    return sum;
}

/* ---- what is new ------------------------------------------------------------------------ */

/*
 * Computes the exclusive ticks of each node. Each moment of a thread belongs to its innermost open
 * scope, and so to the scopes above that scope in the tree. The time of a hung scope does not
 * belong to the scopes that its thread has open around it.
 *
 * This step counts finished instances; add_open() adds the open instances. Instances without a
 * frame (tasks) have no time of a thread. A difference may be below 0 if an instance ends between
 * the reads of two nodes.
 */
static void take_totals(const struct rm_block *block, rm_node_ref ref,
                        struct rm_scope_energy_record *parent)
{
    while (ref != 0) {
        const struct rm_scope_node *node = rm_node_at(block, ref);
        struct rm_scope_energy_record *record = record_of(block, ref);
        uint64_t total = rm_node_is_task(node) ? 0 : rm_node_wall(node).sums.total;
        record->slice = total - rm_node_away(node);
        if (parent != NULL && node->kind == RM_NODE_PLAIN) {
            parent->slice -= total;
        }
        take_totals(block, node->first_child, record);
        ref = node->next;
    }
}

/* Runs after take_totals(). So an instance that ends between the two steps is missed now and found
 * at the next division. In the opposite order it would count twice. */
static void add_open(const struct rm_block *block, const struct rm_scope_thread_record *thread,
                     uint64_t now)
{
    struct rm_scope_energy_record *below = NULL;
    for (uint64_t i = 1; i <= block->header->sizes.depth; i++) {
        const struct rm_scope_frame *frame = &thread->frames[i];
        uint64_t token = RM_LOAD_ACQUIRE(&frame->token);
        rm_node_ref ref = RM_LOAD(&frame->node);
        uint64_t start = RM_LOAD(&frame->start);
        __atomic_thread_fence(__ATOMIC_ACQUIRE);
        if (token == 0 || RM_LOAD(&frame->token) != token) {
            break;
        }
        uint64_t ticks = now > start ? now - start : 0;
        struct rm_scope_energy_record *record = record_of(block, ref);
        record->slice += ticks;
        if (below != NULL) {
            below->slice -= ticks;
        }
        below = record;
    }
}

/* Replaces each node's ticks by its new ticks, inclusive of the scopes inside. The sum of all new
 * ticks is at most `room`, which is reduced by the ticks used. Returns the sum. */
static uint64_t keep_new(const struct rm_block *block, rm_node_ref ref, uint64_t *room)
{
    uint64_t sum = 0;
    for (; ref != 0; ref = rm_node_at(block, ref)->next) {
        struct rm_scope_energy_record *record = record_of(block, ref);
        int64_t apart = (int64_t)(record->slice - record->seen);
        uint64_t fresh = apart > 0 ? (uint64_t)apart : 0;
        record->slice = fresh < *room ? fresh : *room;
        record->seen += record->slice;
        *room -= record->slice;
        record->slice += keep_new(block, rm_node_at(block, ref)->first_child, room);
        sum += record->slice;
    }
    return sum;
}

/* ---- what it is worth ------------------------------------------------------------------- */

/* For a tree of scopes: J for the thread's own time, and J for the time in all scopes. */
struct worth {
    double own_j, own_ticks;
    double rest_j, rest_ticks;
    double late_weight;
};

static double lesser(double a, double b)
{
    return a < b ? a : b;
}

static double share_of(double ticks, double of_ticks)
{
    return of_ticks > 0.0 ? lesser(ticks / of_ticks, 1.0) : 0.0;
}

static struct rm_scope_energy part(double joules, double share)
{
    return (struct rm_scope_energy){joules * share, joules * lesser(share, 1.0 - share)};
}

static void add(const struct rm_block *block, rm_node_ref ref, struct rm_scope_energy more)
{
    struct rm_scope_energy sum = rm_scope_energy_of(block, ref);
    publish(record_of(block, ref),
            (struct rm_scope_energy){sum.joules + more.joules, sum.doubt + more.doubt});
}

static void give(const struct rm_block *block, rm_node_ref ref, const struct worth *worth)
{
    for (; ref != 0; ref = rm_node_at(block, ref)->next) {
        struct rm_scope_energy_record *record = record_of(block, ref);
        if (record->slice > 0) {
            double ticks = (double)record->slice;
            double share = share_of(ticks, worth->rest_ticks);
            struct rm_scope_energy own = part(worth->own_j, share_of(ticks, worth->own_ticks));
            struct rm_scope_energy rest = part(worth->rest_j, share);
            add(block, ref,
                (struct rm_scope_energy){own.joules + rest.joules, own.doubt + rest.doubt});
            record->late += (float)(worth->late_weight * share);
            give(block, rm_node_at(block, ref)->first_child, worth);
        }
    }
}

static void give_late(const struct rm_block *block, rm_node_ref ref, double joules, double of)
{
    for (; ref != 0; ref = rm_node_at(block, ref)->next) {
        struct rm_scope_energy_record *record = record_of(block, ref);
        if (record->late > 0.0F) {
            add(block, ref, part(joules, share_of((double)record->late, of)));
            record->late = 0.0F;
        }
        give_late(block, rm_node_at(block, ref)->first_child, joules, of);
    }
}

/* ---- all trees -------------------------------------------------------------------------- */

static rm_node_ref retired_children(const struct rm_block *block)
{
    return rm_node_at(block, (rm_node_ref)block->header->retired_root)->first_child;
}

/* Finds the new ticks of all nodes. Returns the ticks in outermost scopes, over all threads. */
static uint64_t find_slices(const struct rm_block *block, const struct rm_energy_slice *slice)
{
    const struct rm_scope_thread_record *thread;
    uint64_t sum = 0;
    for (uint64_t i = 0; (thread = rm_scope_thread_at(block, i)) != NULL; i++) {
        if (thread->state == RM_THREAD_FREE) {
            continue;
        }
        rm_node_ref first = rm_node_at(block, thread->root)->first_child;
        uint64_t room = slice->elapsed;
        take_totals(block, first, NULL);
        if (thread->state == RM_THREAD_LIVE) {
            add_open(block, thread, slice->now);
        }
        sum += keep_new(block, first, &room);
    }
    uint64_t room = UINT64_MAX;
    take_totals(block, retired_children(block), NULL);
    return sum + keep_new(block, retired_children(block), &room);
}

static double sum_of_threads(const struct rm_block *block, const struct rm_energy_slice *slice)
{
    const struct rm_scope_thread_record *thread;
    double sum_s = 0.0;
    for (uint64_t i = 0; (thread = rm_scope_thread_at(block, i)) != NULL; i++) {
        sum_s += thread->state != RM_THREAD_FREE ? slice->thread_cpu_s[i] : 0.0;
    }
    return sum_s;
}

void rm_scope_energy_divide(const struct rm_block *block, const struct rm_energy_slice *slice)
{
    double in_scopes = (double)find_slices(block, slice);
    double threads_s = sum_of_threads(block, slice);
    double all_s = slice->cpu_s > threads_s ? slice->cpu_s : threads_s;
    double own_j = all_s > 0.0 ? slice->cpu_j * (threads_s / all_s) : 0.0;
    bool has_late = slice->late_of > 0.0;
    struct worth worth = {
        .late_weight = slice->late_weight,
        .own_ticks = (double)slice->elapsed,
        .rest_j = slice->cpu_j - own_j + slice->other_j,
        .rest_ticks = in_scopes > (double)slice->elapsed ? in_scopes : (double)slice->elapsed,
    };
    const struct rm_scope_thread_record *thread;
    for (uint64_t i = 0; (thread = rm_scope_thread_at(block, i)) != NULL; i++) {
        if (thread->state != RM_THREAD_FREE) {
            worth.own_j = all_s > 0.0 ? slice->cpu_j * (slice->thread_cpu_s[i] / all_s) : 0.0;
            rm_node_ref first = rm_node_at(block, thread->root)->first_child;
            give(block, first, &worth);
            give_late(block, has_late ? first : 0, slice->late_j, slice->late_of);
        }
    }
    worth.own_j = 0.0;
    give(block, retired_children(block), &worth);
    give_late(block, has_late ? retired_children(block) : 0, slice->late_j, slice->late_of);
    RM_STORE_RELEASE(&block->header->energy_divisions, block->header->energy_divisions + 1);
}
