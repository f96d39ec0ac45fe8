/* SPDX-License-Identifier: MIT */
#include "store/scope_end.h"

#include <stdbool.h>

#include "base/compiler.h"
#include "store/events.h"
#include "store/scope_tree.h"
#include "store/series.h"

static const struct rm_scope_node *node_of(const struct rm_block *block, rm_node_ref ref)
{
    uint64_t size = sizeof(struct rm_scope_node);
    uint64_t index = ref % size == 0 ? ref / size : 0;
    return index > 0 && index < block->header->sizes.nodes ? rm_node_at(block, ref) : NULL;
}

/* What the finished instances of the children took, in all instances of `node`, and those that were
 * hung elsewhere.  Each node is the child of one, and open in one frame at most; a damaged file may
 * say otherwise. */
static uint64_t ticks_of_children(const struct rm_block *block, const struct rm_scope_node *node,
                                  uint64_t *visits_left)
{
    uint64_t ticks = rm_node_away(node);
    const struct rm_scope_node *child = node_of(block, RM_LOAD_ACQUIRE(&node->first_child));
    for (; child != NULL && *visits_left > 0; --*visits_left) {
        ticks += child->kind == RM_NODE_PLAIN ? rm_node_wall(child).sums.total : 0;
        child = node_of(block, RM_LOAD_ACQUIRE(&child->next));
    }
    return ticks;
}

/* Of one thread, children run one after the other, inside of an instance: what they took beyond the
 * finished instances was in the open one.  Children are looked at first and the frame is the same
 * before and after, so that it holds while the program goes on, too. */
static uint64_t end_of_frame(const struct rm_block *block, const struct rm_scope_frame *frame,
                             uint64_t *visits_left)
{
    uint64_t token = RM_LOAD_ACQUIRE(&frame->token);
    uint64_t start = RM_LOAD(&frame->start);
    const struct rm_scope_node *node = node_of(block, RM_LOAD(&frame->node));
    if (token == 0 || node == NULL) {
        return 0;
    }
    uint64_t inside = ticks_of_children(block, node, visits_left);
    uint64_t finished = rm_node_wall(node).sums.total;
    uint64_t more = inside > finished ? inside - finished : 0;
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
    bool is_same = RM_LOAD(&frame->token) == token;
    return is_same && more <= UINT64_MAX - start ? start + more : 0;
}

static uint64_t end_of_events(const struct rm_block *block, uint64_t slot)
{
    struct rm_event last;
    const struct rm_event_ring *ring = rm_events_of(block, slot);
    uint64_t count = ring != NULL ? RM_LOAD_ACQUIRE(&ring->count) : 0;
    bool is_there = count > 0 && rm_events_copy(block, slot, count, &last, 1) == 1;
    return is_there && last.duration <= UINT64_MAX - last.start ? last.start + last.duration : 0;
}

uint64_t rm_scope_end_ticks(const struct rm_block *block)
{
    const struct rm_block_sizes *sizes = &block->header->sizes;
    uint64_t visits_left = sizes->nodes;
    uint64_t end = rm_series_state(block)->clock.ticks;
    const struct rm_scope_thread_record *thread;
    for (uint64_t i = 0; (thread = rm_scope_thread_at(block, i)) != NULL; i++) {
        uint64_t ended = end_of_events(block, i);
        end = ended > end ? ended : end;
        if (RM_LOAD_ACQUIRE(&thread->state) != RM_THREAD_LIVE) {
            continue;
        }
        for (uint64_t k = 1; k <= sizes->depth; k++) {
            ended = end_of_frame(block, &thread->frames[k], &visits_left);
            if (ended == 0) {
                break;
            }
            end = ended > end ? ended : end;
        }
    }
    return end;
}
