/* SPDX-License-Identifier: MIT */
/*
 * Run block -> events of a run: the rings of all thread slots, and the open scopes. For a live
 * block this has two steps. Under the engine's locks, events are only copied, into memory that was
 * reserved before. Sorting and conversion to nanoseconds come after the locks are released.
 */
#include <stdbool.h>
#include <stdlib.h>

#include "base/compiler.h"
#include "run/run.h"
#include "run/scope_sums.h"
#include "store/events.h"
#include "store/scope_tree.h"

/* Reserve for threads that attach while memory is allocated. */
#define MORE_SLOTS 2

struct named_thread {
    uint32_t tid;
    uint64_t name[RM_THREAD_NAME_BYTES / 8];
};

struct rm_caught_events {
    struct rm_event *events;
    size_t count, room;
    struct named_thread *threads;
    size_t thread_count;
    uint64_t now; /* ticks: the end of open scopes */
    double ns_per_tick;
    /* The state of the current thread at one moment. */
    uint64_t finished;
    size_t open_count;
    struct rm_event open[RM_MAX_DEPTH];
    uint64_t tokens[RM_MAX_DEPTH];
};

static const struct rm_scope_thread_record *thread_at(const struct rm_block *block, uint64_t slot)
{
    return rm_block_record(block, RM_SECTION_THREADS, slot);
}

uint64_t rm_run_events_extent(const struct rm_block *block)
{
    const struct rm_block_sizes *sizes = &block->header->sizes;
    uint64_t total = 0;
    for (uint64_t i = 0; i < sizes->threads && sizes->events > 0; i++) {
        bool is_live = RM_LOAD_ACQUIRE(&thread_at(block, i)->state) == RM_THREAD_LIVE;
        total += is_live ? sizes->events + sizes->depth : rm_events_kept(block, i);
    }
    return total + (sizes->events > 0 ? MORE_SLOTS * (sizes->events + sizes->depth) : 0);
}

size_t rm_run_events_working(const struct rm_block_sizes *sizes, uint64_t events)
{
    return sizes->events == 0
               ? 0
               : events * sizeof(struct rm_event) + sizes->threads * sizeof(struct named_thread) +
                     sizeof(struct rm_caught_events) + (size_t)4 * RM_ARENA_SLACK;
}

/* ---- first step: copying ---------------------------------------------------------------- */

static uint32_t site_of_node(const struct rm_block *block, rm_node_ref ref)
{
    const struct rm_section *nodes = &block->header->sections[RM_SECTION_NODES];
    bool is_sound = ref % nodes->record_bytes == 0 && ref / nodes->record_bytes < nodes->count;
    return is_sound ? RM_LOAD(&rm_node_at(block, ref)->site) : 0;
}

static void read_frames(struct rm_caught_events *caught, const struct rm_block *block,
                        const struct rm_scope_frame *frames, uint32_t tid)
{
    size_t count = 0;
    for (; count < block->header->sizes.depth; count++) {
        const struct rm_scope_frame *frame = &frames[count + 1];
        caught->tokens[count] = RM_LOAD_ACQUIRE(&frame->token);
        if (caught->tokens[count] == 0) {
            break;
        }
        caught->open[count] = (struct rm_event){
            .start = RM_LOAD(&frame->start),
            .site = site_of_node(block, RM_LOAD(&frame->node)),
            .tid = tid,
            .depth = (uint32_t)count,
            .is_open = 1,
        };
    }
    caught->open_count = count;
}

/* Number of frames that still have the same scope: a token is never used again. */
static size_t count_still(const struct rm_caught_events *caught,
                          const struct rm_scope_frame *frames)
{
    size_t still = 0;
    while (still < caught->open_count &&
           RM_LOAD(&frames[still + 1].token) == caught->tokens[still]) {
        still++;
    }
    return still;
}

/* Reads the number of finished events and the open scopes of a thread as of one moment. Tries again
 * if the thread has changed them meanwhile. After 100 tries, it takes the part that did not change.
 */
static void look_at_thread(struct rm_caught_events *caught, const struct rm_block *block,
                           uint64_t slot)
{
    const struct rm_scope_thread_record *thread = thread_at(block, slot);
    const struct rm_event_ring *ring = rm_block_record(block, RM_SECTION_EVENTS, slot);
    bool is_live = RM_LOAD_ACQUIRE(&thread->state) == RM_THREAD_LIVE;
    uint32_t tid = RM_LOAD_ACQUIRE(&ring->tid);
    caught->open_count = 0;
    caught->finished = RM_LOAD_ACQUIRE(&ring->count);
    for (int tries = 0; tries < 100 && is_live; tries++) {
        caught->finished = RM_LOAD_ACQUIRE(&ring->count);
        read_frames(caught, block, thread->frames, tid);
        __atomic_thread_fence(__ATOMIC_ACQUIRE);
        size_t still = count_still(caught, thread->frames);
        if (still == caught->open_count && RM_LOAD(&ring->count) == caught->finished) {
            break;
        }
        caught->open_count = still;
    }
}

/* The file may be damaged; no event is older than the run. */
static bool is_sound(const struct rm_block *block, const struct rm_event *event)
{
    return event->depth < RM_MAX_DEPTH && event->start >= block->header->start.ticks &&
           event->duration <= UINT64_MAX - event->start;
}

/* A scope that is just ending, now or when the program was killed, may be both a finished event and
 * an open scope. Then the finished event counts. */
static void catch_slot(struct rm_caught_events *caught, const struct rm_block *block, uint64_t slot,
                       resmon_run_info *info)
{
    struct rm_event *open = caught->open;
    struct rm_event *fresh = caught->events + caught->count;
    look_at_thread(caught, block, slot);
    size_t room = caught->room - caught->count;
    room -= caught->open_count < room ? caught->open_count : room;
    uint64_t copied = rm_events_copy(block, slot, caught->finished, fresh, room);
    uint64_t kept = 0;
    for (uint64_t i = 0; i < copied; i++) {
        uint32_t depth = fresh[i].depth;
        if (!is_sound(block, &fresh[i])) {
            continue;
        }
        if (depth < caught->open_count && open[depth].start == fresh[i].start) {
            open[depth].is_open = 0;
        }
        fresh[kept++] = fresh[i];
    }
    info->dropped_events += caught->finished - kept;
    caught->count += kept;
    for (size_t i = 0; i < caught->open_count && caught->count < caught->room; i++) {
        if (open[i].is_open != 0 && is_sound(block, &open[i])) {
            caught->events[caught->count++] = open[i];
        }
    }
}

static void catch_name(struct rm_caught_events *caught, const struct rm_event_ring *ring)
{
    struct named_thread *thread = &caught->threads[caught->thread_count++];
    thread->tid = RM_LOAD_ACQUIRE(&ring->tid);
    for (size_t i = 0; i < RM_ARRAY_LEN(thread->name); i++) {
        thread->name[i] = RM_LOAD(&ring->name[i]);
    }
}

void rm_run_catch_events(const struct rm_block *block, const struct rm_decode *how,
                         double ns_per_tick, struct resmon_run *run)
{
    const struct rm_block_sizes *sizes = &block->header->sizes;
    if (sizes->events == 0 || block->header->has_scopes == 0) {
        return;
    }
    struct rm_caught_events *caught = rm_arena_alloc(&run->working, 1, sizeof *caught);
    if (caught == NULL) {
        return;
    }
    caught->room = run->event_room > 0 ? run->event_room : rm_run_events_extent(block);
    caught->events = rm_arena_alloc(&run->working, caught->room, sizeof *caught->events);
    caught->threads = rm_arena_alloc(&run->working, sizes->threads, sizeof *caught->threads);
    if (caught->events == NULL || caught->threads == NULL) {
        return;
    }
    caught->now = how->is_live ? how->now.ticks : rm_scope_end_ticks(block);
    caught->ns_per_tick = ns_per_tick;
    for (uint64_t i = 0; i < sizes->threads; i++) {
        size_t before = caught->count;
        catch_slot(caught, block, i, &run->info);
        if (caught->count > before) {
            catch_name(caught, rm_block_record(block, RM_SECTION_EVENTS, i));
        }
    }
    run->caught = caught;
}

/* ---- second step: converting ------------------------------------------------------------ */

static int compare_events(const void *left, const void *right)
{
    const struct rm_event *a = left, *b = right;
    if (a->tid != b->tid) {
        return a->tid < b->tid ? -1 : 1;
    }
    if (a->start != b->start) {
        return a->start < b->start ? -1 : 1;
    }
    return (a->depth > b->depth) - (a->depth < b->depth);
}

static int compare_threads(const void *left, const void *right)
{
    const struct named_thread *a = left, *b = right;
    return (a->tid > b->tid) - (a->tid < b->tid);
}

/* An open scope lasts until now, and at least as long as the scopes inside of it. */
static void close_open(struct rm_caught_events *caught)
{
    uint64_t end = caught->now;
    for (size_t i = 0; i < caught->count; i++) {
        uint64_t own = caught->events[i].start + caught->events[i].duration;
        end = own > end ? own : end;
    }
    for (size_t i = 0; i < caught->count; i++) {
        struct rm_event *event = &caught->events[i];
        event->duration = event->is_open != 0 ? end - event->start : event->duration;
    }
}

/* Up to this limit each whole number is a double, and a document can contain it: 104 days. */
#define LONGEST_NS 0x1p53

static int64_t ns_of(uint64_t ticks, double ns_per_tick)
{
    double ns = (double)ticks * ns_per_tick + 0.5;
    return !(ns >= 0.0) ? 0 : ns < LONGEST_NS ? (int64_t)ns : (int64_t)LONGEST_NS;
}

static void list_threads(struct rm_caught_events *caught, struct resmon_run *run)
{
    size_t count = 0;
    for (size_t i = 0; i < caught->count; i++) {
        count += i == 0 || caught->events[i].tid != caught->events[i - 1].tid ? 1 : 0;
    }
    run->threads = rm_arena_alloc(&run->strings, count, sizeof *run->threads);
    if (run->threads == NULL) {
        return;
    }
    qsort(caught->threads, caught->thread_count, sizeof *caught->threads, compare_threads);
    for (size_t i = 0; i < caught->count; i++) {
        struct named_thread key = {.tid = caught->events[i].tid};
        if (i > 0 && key.tid == caught->events[i - 1].tid) {
            continue;
        }
        const struct named_thread *known = bsearch(&key, caught->threads, caught->thread_count,
                                                   sizeof *caught->threads, compare_threads);
        const char *name = (const char *)(known != NULL ? known->name : key.name);
        run->threads[run->thread_count++] = (struct rm_run_thread){
            key.tid, rm_arena_keep(&run->strings, name, RM_THREAD_NAME_BYTES)};
    }
}

/* Lists the names of the sites, and sets in each event the index of its name in place of its site.
 */
static void list_names(const struct rm_block *block, struct rm_caught_events *caught,
                       struct resmon_run *run)
{
    const uint64_t sites = block->header->sizes.sites;
    uint32_t *numbers = rm_arena_alloc(&run->working, sites, sizeof *numbers); /* 0: none yet */
    run->event_names = rm_arena_alloc(&run->strings, sites, sizeof *run->event_names);
    if (numbers == NULL || run->event_names == NULL) {
        return;
    }
    for (size_t i = 0; i < caught->count; i++) {
        uint32_t *site = &caught->events[i].site;
        *site = *site < sites ? *site : 0;
        if (numbers[*site] == 0) {
            run->event_names[run->event_name_count++] =
                rm_arena_keep(&run->strings, rm_site_at(block, *site)->name, RM_SITE_NAME_BYTES);
            numbers[*site] = (uint32_t)run->event_name_count;
        }
        *site = numbers[*site] - 1;
    }
}

static void list_events(const struct rm_block *block, const struct rm_caught_events *caught,
                        struct resmon_run *run)
{
    uint64_t start = block->header->start.ticks;
    run->events = rm_arena_alloc(&run->strings, caught->count, sizeof *run->events);
    if (run->events == NULL) {
        return;
    }
    uint32_t thread = 0;
    for (size_t i = 0; i < caught->count; i++) {
        const struct rm_event *event = &caught->events[i];
        struct rm_run_event *converted = &run->events[i];
        thread += i > 0 && event->tid != event[-1].tid ? 1 : 0;
        /* The two ends are converted, not the duration: rounding must not move one scope out of
         * another. */
        uint64_t from = event->start - start;
        int64_t end_ns = ns_of(from + event->duration, caught->ns_per_tick);
        converted->start_ns = ns_of(from, caught->ns_per_tick);
        converted->duration_ns = end_ns - converted->start_ns;
        converted->thread = thread;
        converted->depth = (uint16_t)event->depth;
        converted->is_open = (uint16_t)event->is_open;
        converted->name = event->site;
    }
    run->event_count = caught->count;
}

resmon_status rm_run_finish(const struct rm_block *block, struct resmon_run *run)
{
    struct rm_caught_events *caught = run->caught;
    if (caught != NULL) {
        close_open(caught);
        qsort(caught->events, caught->count, sizeof *caught->events, compare_events);
        list_threads(caught, run);
        list_names(block, caught, run);
        list_events(block, caught, run);
    }
    resmon_status status = rm_run_check_memory(run);
    run->caught = NULL;
    rm_arena_free(&run->working);
    return status == RESMON_OK ? rm_scope_names_sum(run) : status;
}
