/* SPDX-License-Identifier: MIT */
#include "store/scope_tree.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/map.h"
#include "base/text.h"
#include "store/events.h"
#include "store/published.h"
#include "store/series.h"

/* ---- nodes and threads ------------------------------------------------------------------ */

const struct rm_scope_thread_record *rm_scope_thread_at(const struct rm_block *block, uint64_t slot)
{
    if (slot >= block->header->sizes.threads) {
        return NULL;
    }
    const struct rm_scope_thread_record *thread = rm_block_record(block, RM_SECTION_THREADS, slot);
    bool is_used = RM_LOAD_ACQUIRE(&thread->state) != RM_THREAD_FREE || RM_LOAD(&thread->root) != 0;
    return is_used ? thread : NULL;
}

#define SHORT_BYTES 55 /* of a name that is cut, its terminator included */

void rm_site_name_set(char name[RM_SITE_NAME_BYTES], const char *text)
{
    size_t length = text != NULL ? strlen(text) : 0;
    if (length < RM_SITE_NAME_BYTES) {
        (void)rm_text_set(name, RM_SITE_NAME_BYTES, text);
        return;
    }
    uint64_t hash = rm_hash_bytes(RM_HASH_START, text, length);
    size_t kept = rm_text_set(name, SHORT_BYTES, text);
    (void)snprintf(name + kept, RM_SITE_NAME_BYTES - kept, "~%08x", (uint32_t)(hash ^ hash >> 32));
}

const struct rm_site_record *rm_site_at(const struct rm_block *block, uint32_t site)
{
    static const struct rm_site_record unknown = {.name = "(unknown)"};
    if (site == 0 || site >= block->header->sizes.sites) {
        return &unknown;
    }
    const struct rm_site_record *record = rm_block_record(block, RM_SECTION_SITES, site);
    bool is_whole = RM_LOAD_ACQUIRE(&record->is_set) == 1 &&
                    rm_text_is_terminated(record->name, sizeof record->name) &&
                    rm_text_is_terminated(record->file, sizeof record->file) &&
                    rm_text_is_terminated(record->function, sizeof record->function);
    return is_whole ? record : &unknown;
}

struct rm_scope_wall rm_node_wall(const struct rm_scope_node *node)
{
    struct rm_scope_wall wall = {.sums = {.calls = 0}, .min = UINT64_MAX};
    rm_published_read(&wall.sums, node->sums, sizeof wall.sums, &node->wall_version);
    if (wall.sums.calls > 0) {
        wall.min = RM_LOAD(&node->min);
        wall.max = RM_LOAD(&node->max);
    }
    return wall;
}

struct rm_scope_meters rm_node_meters(const struct rm_scope_node *node)
{
    struct rm_scope_meters meters = {0};
    rm_published_read(&meters, node->meters, sizeof meters, &node->meter_version);
    return meters;
}

void rm_node_publish_wall(struct rm_scope_node *node, const struct rm_scope_wall *wall)
{
    RM_STORE(&node->min, wall->min);
    RM_STORE(&node->max, wall->max);
    rm_published_write(node->sums, &wall->sums, sizeof wall->sums, &node->wall_version);
}

void rm_node_publish_meters(struct rm_scope_node *node, const struct rm_scope_meters *totals)
{
    rm_published_write(node->meters, totals, sizeof *totals, &node->meter_version);
}

uint64_t rm_node_away(const struct rm_scope_node *node)
{
    return RM_LOAD(&node->meters[RM_LOAD_ACQUIRE(&node->meter_version) & 1].away);
}

void rm_node_add_instance(struct rm_scope_node *node, uint64_t ticks)
{
    const struct rm_scope_wall one = {
        .sums = {1, ticks, rm_wide_product(ticks, ticks)}, .min = ticks, .max = ticks};
    struct rm_scope_wall wall = rm_node_wall(node);
    wall = rm_scope_wall_merge(&wall, &one);
    rm_node_publish_wall(node, &wall);
}

void rm_node_open_task(struct rm_scope_node *node, uint64_t start)
{
    struct rm_scope_meters meters = rm_node_meters(node);
    meters.tasks_open++;
    meters.task_starts += start;
    rm_node_publish_meters(node, &meters);
}

void rm_node_close_task(struct rm_scope_node *node, uint64_t start)
{
    struct rm_scope_meters meters = rm_node_meters(node);
    meters.tasks_open--;
    meters.task_starts -= start;
    rm_node_publish_meters(node, &meters);
}

void rm_node_count_failure(struct rm_scope_node *node)
{
    struct rm_scope_meters meters = rm_node_meters(node);
    meters.failed++;
    rm_node_publish_meters(node, &meters);
}

void rm_node_count_resumed(struct rm_scope_node *node)
{
    struct rm_scope_meters meters = rm_node_meters(node);
    meters.resumed++;
    rm_node_publish_meters(node, &meters);
}

/* With a = floor(total / n) and the remainder r: sum (x - a)^2 = sum x^2 - a (total + r), a whole
 * number. sum (x - mean)^2 is smaller by r^2 / n. So the difference of the large numbers is exact.
 */
double rm_scope_wall_variance(const struct rm_scope_wall *wall)
{
    uint64_t n = wall->sums.calls;
    if (n < 2) {
        return RM_NAN;
    }
    uint64_t about = wall->sums.total / n, rest = wall->sums.total % n;
    struct rm_wide apart =
        rm_wide_subtract(wall->sums.squares, rm_wide_product(about, wall->sums.total + rest));
    double squares = rm_wide_double(apart) - (double)rest * ((double)rest / (double)n);
    return squares > 0.0 ? squares / (double)(n - 1) : 0.0;
}

struct rm_scope_wall rm_scope_wall_merge(const struct rm_scope_wall *a,
                                         const struct rm_scope_wall *b)
{
    return (struct rm_scope_wall){
        .sums = {.calls = a->sums.calls + b->sums.calls,
                 .total = a->sums.total + b->sums.total,
                 .squares = rm_wide_add(a->sums.squares, b->sums.squares)},
        .min = a->min < b->min ? a->min : b->min,
        .max = a->max > b->max ? a->max : b->max,
    };
}

struct rm_scope_meters rm_scope_meters_merge(const struct rm_scope_meters *a,
                                             const struct rm_scope_meters *b)
{
    return (struct rm_scope_meters){
        .threads = a->threads + b->threads,
        .rss_calls = a->rss_calls + b->rss_calls,
        .rss_peak = a->rss_peak > b->rss_peak ? a->rss_peak : b->rss_peak,
        .rss_sampled = a->rss_sampled + b->rss_sampled,
        .cost_ticks = a->cost_ticks + b->cost_ticks,
        .away = a->away + b->away,
        .tasks_open = a->tasks_open + b->tasks_open,
        .task_starts = a->task_starts + b->task_starts,
        .failed = a->failed + b->failed,
        .folded = a->folded + b->folded,
        .resumed = a->resumed + b->resumed,
    };
}

/* ---- the end of open scopes ------------------------------------------------------------- */

static const struct rm_scope_node *node_of(const struct rm_block *block, rm_node_ref ref)
{
    uint64_t size = sizeof(struct rm_scope_node);
    uint64_t index = ref % size == 0 ? ref / size : 0;
    return index > 0 && index < block->header->sizes.nodes ? rm_node_at(block, ref) : NULL;
}

/* Ticks of the finished instances of the children, in all instances of `node`, plus the ticks that
 * went to scopes hung elsewhere. Each node is the child of one node, and open in at most one frame.
 * A damaged file may violate this. */
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

/* The latest known end inside an open frame. The children of a thread's scope run one after the
 * other, inside of an instance. So their time beyond the finished instances belongs to the open
 * instance. Children are read first, and the frame must be the same before and after. So the result
 * is also valid while the program runs. */
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
