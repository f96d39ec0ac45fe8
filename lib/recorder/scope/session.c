/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* MAP_ANONYMOUS */
#include "scope/session.h"

#include <stddef.h>
#include <string.h>
#include <sys/mman.h>

#include <resmon/scope.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/compiler.h"
#include "base/fork.h"
#include "base/map.h"
#include "base/status.h"
#include "base/text.h"
#include "base/thread.h"
#include "scope/site.h"
#include "store/scope_records.h"

uint32_t resmon_scope_session; /* number of the current session; 0: none */

/* Guards `owner` and the numbering. */
static struct rm_fork_lock owner_lock = RM_FORK_LOCK_INITIALIZER;
static struct rm_scope_session *owner;
static uint32_t last_number;

/* ---- fork ------------------------------------------------------------------------------- */

static void before_fork(void)
{
    rm_fork_lock_hold(&owner_lock);
}

static void after_fork_parent(void)
{
    rm_fork_lock_release(&owner_lock);
}

/* The child has no monitor: its scopes measure nothing until it starts one of its own.  They must
 * not write to a recording that it shares with its parent. */
static void after_fork_child(void)
{
    bool had_scopes = owner != NULL || RM_LOAD(&resmon_scope_session) == RM_SCOPE_FORKED;
    owner = NULL;
    RM_STORE(&resmon_scope_session, had_scopes ? RM_SCOPE_FORKED : 0);
    (void)rm_fork_lock_renew(&owner_lock);
}

static const struct rm_fork_part at_fork = {before_fork, after_fork_parent, after_fork_child};

/* ---- nodes: under the session's lock ---------------------------------------------------- */

static rm_node_ref ref_of(const struct rm_scope_session *session, const struct rm_scope_node *node)
{
    return rm_node_ref_to(&session->block, node);
}

static struct rm_scope_node *take_node(struct rm_scope_session *session)
{
    struct rm_block_header *header = session->block.header;
    struct rm_scope_node *node;
    if (session->free_nodes != 0) {
        node = rm_node_at(&session->block, session->free_nodes);
        session->free_nodes = node->next;
        session->free_count--;
        memset(node, 0, sizeof *node);
    } else if (header->node_count < header->sizes.nodes) {
        node = rm_node_at(&session->block, rm_node_ref_of(header->node_count));
        RM_STORE_RELEASE(&header->node_count, header->node_count + 1);
    } else {
        return NULL;
    }
    node->min = UINT64_MAX;
    rm_scope_path_note(&session->paths, ref_of(session, node) / sizeof *node, 0);
    rm_facets_clear(&session->block, ref_of(session, node));
    return node;
}

static uint64_t nodes_left(const struct rm_scope_session *session)
{
    const struct rm_block_header *header = session->block.header;
    return session->free_count + header->sizes.nodes - header->node_count;
}

static void give_node_back(struct rm_scope_session *session, struct rm_scope_node *node)
{
    node->next = session->free_nodes;
    session->free_nodes = ref_of(session, node);
    session->free_count++;
}

/* ---- children --------------------------------------------------------------------------- */

#define FEW 4 /* so many siblings are faster to search without a hash */

static uint64_t hash_of(rm_node_ref parent, uint32_t site, uint32_t kind)
{
    return rm_hash_u64(RM_HASH_START, (uint64_t)parent << 32 | kind << 24 | site);
}

static void note_child(const struct rm_scope_session *session, struct rm_node_index *index,
                       const struct rm_scope_node *child)
{
    if (!rm_map_reserve(&index->map, (uint64_t)index->map.count + 1)) {
        index->lacks_some = true;
        return;
    }
    rm_map_add(&index->map, hash_of(child->parent, child->site, child->kind),
               (uint32_t)(ref_of(session, child) / sizeof *child));
}

static void link_child(const struct rm_scope_session *session, struct rm_node_index *index,
                       struct rm_scope_node *parent, struct rm_scope_node *child, uint32_t site,
                       uint32_t kind)
{
    RM_STORE(&child->site, site);
    RM_STORE(&child->kind, kind);
    RM_STORE(&child->parent, ref_of(session, parent));
    note_child(session, index, child);
    /* Added at the end, so that phases are listed in their order of appearance. */
    rm_node_ref *link = parent->newest_child != 0
                            ? &rm_node_at(&session->block, parent->newest_child)->next
                            : &parent->first_child;
    parent->newest_child = ref_of(session, child);
    parent->child_count++;
    RM_STORE_RELEASE(link, ref_of(session, child));
}

static struct rm_scope_node *look_through(const struct rm_scope_session *session,
                                          const struct rm_scope_node *parent, uint32_t site,
                                          uint32_t kind)
{
    rm_node_ref ref = RM_LOAD(&parent->first_child);
    while (ref != 0) {
        struct rm_scope_node *child = rm_node_at(&session->block, ref);
        if (child->site == site && child->kind == kind) {
            return child;
        }
        ref = child->next;
    }
    return NULL;
}

static struct rm_scope_node *find_child(const struct rm_scope_session *session,
                                        const struct rm_node_index *index,
                                        const struct rm_scope_node *parent, uint32_t site,
                                        uint32_t kind)
{
    if (parent->child_count <= FEW || index->lacks_some) {
        return look_through(session, parent, site, kind);
    }
    rm_node_ref above = ref_of(session, parent);
    struct rm_map_search search = {.hash = hash_of(above, site, kind)};
    for (uint32_t i; rm_map_next(&index->map, &search, &i);) {
        struct rm_scope_node *child = rm_node_at(&session->block, rm_node_ref_of(i));
        if (child->parent == above && child->site == site && child->kind == kind) {
            return child;
        }
    }
    return NULL;
}

/* The last part of a path that fits, which is more specific than the beginning. */
static const char *tail_of(const char *path, size_t bytes)
{
    size_t length = strlen(path);
    return length < bytes ? path : path + (length - bytes + 1);
}

static bool describe_site(struct rm_scope_session *session, const resmon_site *site,
                          uint32_t number)
{
    struct rm_block_header *header = session->block.header;
    if (number >= header->sizes.sites) {
        return false;
    }
    struct rm_site_record *record = rm_block_record(&session->block, RM_SECTION_SITES, number);
    if (record->is_set == 0) {
        const char *file = site->file != NULL ? site->file : "";
        rm_site_name_set(record->name, site->name);
        (void)rm_text_set(record->file, sizeof record->file, tail_of(file, sizeof record->file));
        (void)rm_text_set(record->function, sizeof record->function, site->function);
        record->line = site->line;
        RM_STORE_RELEASE(&record->is_set, 1);
    }
    return true;
}

/* The depth of frames is bounded, but the frames of a scope begun under a handle start in the
 * middle of a tree. */
static bool is_too_deep(const struct rm_scope_session *session, const struct rm_scope_node *parent)
{
    uint64_t depth = 1;
    for (; parent->parent != 0; depth++) {
        parent = rm_node_at(&session->block, parent->parent);
    }
    return depth > session->block.header->sizes.depth;
}

/* A node that is only an ancestor needs neither a site record nor a thread. */
static struct rm_scope_node *make_child(struct rm_scope_thread *thread,
                                        struct rm_scope_node *parent, const resmon_site *site,
                                        uint32_t number, uint32_t kind)
{
    struct rm_scope_session *session = thread->session;
    struct rm_scope_node *child = NULL;
    (void)pthread_mutex_lock(&session->lock);
    if ((site == NULL || describe_site(session, site, number)) && !is_too_deep(session, parent)) {
        child = take_node(session);
    }
    if (child != NULL) {
        child->meters[0].threads = site != NULL ? 1 : 0;
        link_child(session, &thread->tree, parent, child, number, kind);
    } else {
        RM_STORE(&session->block.header->dropped_paths, session->block.header->dropped_paths + 1);
    }
    (void)pthread_mutex_unlock(&session->lock);
    return child;
}

/* The first visit of a node that was only an ancestor so far. */
static void visit(struct rm_scope_node *node)
{
    if (!rm_node_is_visited(node)) {
        struct rm_scope_meters meters = rm_node_meters(node);
        meters.threads = 1;
        rm_node_publish_meters(node, &meters);
    }
}

struct rm_scope_node *rm_session_child_of_kind(struct rm_scope_thread *thread,
                                               struct rm_scope_node *parent,
                                               const resmon_site *site, uint32_t number,
                                               uint32_t kind)
{
    /* Only this thread adds to its tree: searching needs no lock. */
    struct rm_scope_node *child = find_child(thread->session, &thread->tree, parent, number, kind);
    if (child == NULL) {
        return make_child(thread, parent, site, number, kind);
    }
    if (site != NULL) {
        visit(child);
    }
    return child;
}

struct rm_scope_node *rm_session_child(struct rm_scope_thread *thread, struct rm_scope_node *parent,
                                       const resmon_site *site, uint32_t number)
{
    struct rm_scope_node *child =
        rm_session_child_of_kind(thread, parent, site, number, RM_NODE_PLAIN);
    if (child != NULL) {
        RM_STORE(&parent->last_child, ref_of(thread->session, child));
    }
    return child;
}

/* ---- handles ---------------------------------------------------------------------------- */

static struct rm_scope_node *lead(struct rm_scope_thread *thread, uint32_t path)
{
    struct rm_scope_session *session = thread->session;
    if (path == thread->led_path && path != 0) {
        return rm_node_at(&session->block, thread->led_node);
    }
    const struct rm_scope_path *entry = rm_scope_path_at(&session->paths, path);
    if (entry == NULL) {
        return rm_node_at(&session->block, thread->record->root);
    }
    struct rm_scope_node *parent = lead(thread, entry->parent);
    return parent != NULL
               ? rm_session_child_of_kind(thread, parent, NULL, entry->site, RM_NODE_PLAIN)
               : NULL;
}

struct rm_scope_node *rm_session_follow(struct rm_scope_thread *thread, uint32_t path)
{
    struct rm_scope_node *node = lead(thread, path);
    if (node != NULL && path != 0) {
        thread->led_path = path;
        thread->led_node = ref_of(thread->session, node);
    }
    return node;
}

/* Called with the lock, and with capacity for paths. */
static uint32_t path_below(struct rm_scope_session *session, uint32_t parent, uint32_t site)
{
    uint32_t path = rm_scope_path_below(&session->paths, parent, site);
    if (path == 0) {
        RM_STORE(&session->block.header->dropped_paths, session->block.header->dropped_paths + 1);
    }
    return path;
}

static uint32_t path_of(struct rm_scope_session *session, const struct rm_scope_node *node)
{
    if (node->parent == 0) {
        return 0;
    }
    const struct rm_scope_node *parent = rm_node_at(&session->block, node->parent);
    uint32_t above = path_of(session, parent);
    return above != 0 || parent->parent == 0 ? path_below(session, above, node->site) : 0;
}

uint32_t rm_session_path_of(struct rm_scope_session *session, const struct rm_scope_node *node)
{
    uint64_t index = ref_of(session, node) / sizeof *node;
    uint32_t path = rm_scope_path_noted(&session->paths, index);
    if (path != 0) {
        return path;
    }
    (void)pthread_mutex_lock(&session->lock);
    bool has_room = rm_scope_paths_open(&session->paths, session->block.header->sizes.nodes);
    path = has_room ? path_of(session, node) : 0;
    rm_scope_path_note(&session->paths, index, path);
    (void)pthread_mutex_unlock(&session->lock);
    return path;
}

uint64_t rm_session_handle(const struct rm_scope_session *session, uint32_t path)
{
    return path != 0 ? (uint64_t)session->number << 32 | path : 0;
}

uint32_t rm_session_path(struct rm_scope_session *session, uint64_t handle)
{
    uint32_t path = (uint32_t)handle;
    bool is_known =
        handle >> 32 == session->number && rm_scope_path_at(&session->paths, path) != NULL;
    if (!is_known && handle != 0) {
        (void)RM_FETCH_ADD(&session->block.header->stale_ends, 1);
    }
    return is_known ? path : 0;
}

uint32_t rm_session_path_above(const struct rm_scope_session *session, uint32_t path, uint32_t site)
{
    const struct rm_scope_path *entry = rm_scope_path_at(&session->paths, path);
    return entry != NULL && entry->site == site ? entry->parent : path;
}

/* ---- threads ---------------------------------------------------------------------------- */

/* The free slot with the fewest events.  Slots without events come first, so that the events of
 * ended threads are overwritten last.  sizes.threads: none is free. */
static uint64_t find_slot(const struct rm_scope_session *session)
{
    uint64_t count = session->block.header->sizes.threads;
    uint64_t best = count;
    uint64_t fewest = UINT64_MAX;
    for (uint64_t i = 0; i < count && fewest > 0; i++) {
        const struct rm_scope_thread_record *record =
            rm_block_record(&session->block, RM_SECTION_THREADS, i);
        const struct rm_event_ring *ring = rm_events_of(&session->block, i);
        uint64_t events = ring != NULL ? RM_LOAD(&ring->count) : 0;
        if (record->state == RM_THREAD_FREE && events < fewest) {
            best = i;
            fewest = events;
        }
    }
    return best;
}

/* Word by word: rm_scope_sites_then() may read the frames for the thread that had them before. */
static void clear_frames(struct rm_scope_thread_record *record, uint64_t depth)
{
    for (uint64_t i = 0; i <= depth; i++) {
        struct rm_scope_frame *frame = &record->frames[i];
        RM_STORE(&frame->token, i == 0 ? RM_ROOT_TOKEN : 0);
        RM_STORE(&frame->start, 0);
        RM_STORE(&frame->node, i == 0 ? record->root : 0);
        frame->folds = i == 0 ? 1 : 0; /* no end matches the root's token */
        frame->folded_total = 0;
    }
}

static struct rm_scope_thread_record *take_record(struct rm_scope_session *session,
                                                  struct rm_event_writer *events)
{
    struct rm_block_header *header = session->block.header;
    uint64_t slot = find_slot(session);
    struct rm_scope_node *root = slot < header->sizes.threads ? take_node(session) : NULL;
    if (root == NULL) {
        RM_STORE(&header->dropped_threads, header->dropped_threads + 1);
        return NULL;
    }
    struct rm_scope_thread_record *record =
        rm_block_record(&session->block, RM_SECTION_THREADS, slot);
    RM_STORE(&record->root, ref_of(session, root));
    clear_frames(record, header->sizes.depth);
    RM_STORE(&record->cpu_clock, rm_thread_cpu_clock());
    record->cpu_start_ns = rm_clock_cpu_ns(CLOCK_THREAD_CPUTIME_ID);
    rm_events_open(events, &session->block, slot, rm_thread_id());
    RM_STORE_RELEASE(&record->state, RM_THREAD_LIVE);
    return record;
}

void rm_session_name_thread(struct rm_scope_thread *thread)
{
    char name[RM_THREAD_NAME_BYTES] = {0};
    if (thread->events.ring != NULL) {
        rm_thread_name(name);
        rm_events_set_name(&thread->events, name);
    }
}

static void unref(struct rm_scope_session *session)
{
    if (__atomic_sub_fetch(&session->references, 1, __ATOMIC_ACQ_REL) > 0) {
        return;
    }
    rm_metering_close(&session->metering);
    rm_kept_close(&session->rss);
    rm_scope_paths_close(&session->paths);
    rm_map_free(&session->retired.map);
    (void)pthread_mutex_destroy(&session->lock);
    session->release(session->context);
    rm_free(session);
}

struct rm_scope_thread *rm_session_attach(struct rm_scope_session *session)
{
    struct rm_scope_thread *thread = rm_alloc(1, sizeof *thread);
    uint64_t frames = session->block.header->sizes.depth + 1;
    if (thread != NULL) {
        thread->session = session;
        thread->meter_frames = rm_alloc(frames, sizeof *thread->meter_frames);
    }
    if (thread == NULL || thread->meter_frames == NULL) {
        (void)RM_FETCH_ADD(&session->block.header->dropped_scopes, 1);
        rm_free(thread);
        unref(session);
        return NULL;
    }
    for (uint64_t i = 0; i < frames; i++) {
        thread->meter_frames[i].counters = &thread->counters;
    }
    (void)pthread_mutex_lock(&session->lock);
    thread->record = take_record(session, &thread->events);
    (void)pthread_mutex_unlock(&session->lock);
    rm_session_name_thread(thread);
    return thread;
}

static uint64_t count_nodes(const struct rm_scope_session *session,
                            const struct rm_scope_node *node)
{
    uint64_t count = 1;
    for (rm_node_ref ref = node->first_child; ref != 0;
         ref = rm_node_at(&session->block, ref)->next) {
        count += count_nodes(session, rm_node_at(&session->block, ref));
    }
    return count;
}

/* Number of nodes below `from` that `to` lacks. */
static uint64_t count_missing(const struct rm_scope_session *session,
                              const struct rm_scope_node *from, const struct rm_scope_node *to)
{
    uint64_t count = 0;
    for (rm_node_ref ref = from->first_child; ref != 0;
         ref = rm_node_at(&session->block, ref)->next) {
        const struct rm_scope_node *source = rm_node_at(&session->block, ref);
        const struct rm_scope_node *target =
            find_child(session, &session->retired, to, source->site, source->kind);
        count +=
            target != NULL ? count_missing(session, source, target) : count_nodes(session, source);
    }
    return count;
}

static void move_children(struct rm_scope_session *session, struct rm_scope_node *from,
                          struct rm_scope_node *to)
{
    for (rm_node_ref ref = from->first_child; ref != 0;
         ref = rm_node_at(&session->block, ref)->next) {
        struct rm_scope_node *source = rm_node_at(&session->block, ref);
        struct rm_scope_node *target =
            find_child(session, &session->retired, to, source->site, source->kind);
        if (target == NULL) {
            target = take_node(session);
            if (target == NULL) {
                return; /* impossible: the capacity was checked */
            }
            link_child(session, &session->retired, to, target, source->site, source->kind);
        }
        rm_node_move(&session->block, ref, ref_of(session, target));
        move_children(session, source, target);
    }
}

static void free_tree(struct rm_scope_session *session, struct rm_scope_node *node)
{
    rm_node_ref ref = node->first_child;
    while (ref != 0) {
        struct rm_scope_node *child = rm_node_at(&session->block, ref);
        ref = child->next;
        free_tree(session, child);
    }
    give_node_back(session, node);
}

/* A tree for which the retired tree has no capacity keeps its nodes and its record. */
static void retire(struct rm_scope_session *session, struct rm_scope_thread_record *record)
{
    struct rm_scope_node *root = rm_node_at(&session->block, record->root);
    struct rm_scope_node *retired =
        rm_node_at(&session->block, (rm_node_ref)session->block.header->retired_root);
    if (nodes_left(session) < count_missing(session, root, retired)) {
        RM_STORE_RELEASE(&record->state, RM_THREAD_ENDED);
        return;
    }
    uint64_t *retirements = &session->block.header->retirements;
    RM_STORE(retirements, *retirements + 1);
    RM_FENCE_BEFORE_REFILL();
    move_children(session, root, retired);
    RM_STORE_RELEASE(&record->state, RM_THREAD_FREE);
    free_tree(session, root);
    RM_STORE_RELEASE(retirements, *retirements + 1);
}

void rm_session_detach(struct rm_scope_thread *thread)
{
    struct rm_scope_session *session = thread->session;
    for (uint64_t i = 0; i <= session->block.header->sizes.depth; i++) {
        rm_meters_abandon(&thread->meter_frames[i]); /* scopes that were open at the stop */
    }
    (void)pthread_mutex_lock(&session->lock);
    /* After the end nothing changes: scopes that were open then stay open in the record. */
    if (thread->record != NULL && !session->is_over) {
        rm_session_name_thread(thread);
        retire(session, thread->record);
    }
    (void)pthread_mutex_unlock(&session->lock);
    rm_thread_counters_close(&thread->counters);
    rm_map_free(&thread->tree.map);
    rm_free(thread->meter_frames);
    rm_free(thread);
    unref(session);
}

/* ---- sessions --------------------------------------------------------------------------- */

static struct rm_scope_session *session_new(const struct rm_block *block,
                                            const struct rm_session_terms *terms)
{
    struct rm_scope_session *session = rm_alloc(1, sizeof *session);
    if (session != NULL) {
        session->block = *block;
        session->yields = terms->yields;
        session->references = 1;
        (void)pthread_mutex_init(&session->lock, NULL);
    }
    return session;
}

static bool set_up_trees(struct rm_scope_session *session, uint64_t cost_ticks)
{
    struct rm_block_header *header = session->block.header;
    header->node_count = 1;                            /* slot 0 means "none" */
    rm_node_at(&session->block, 0)->site = UINT32_MAX; /* and matches no site */
    struct rm_scope_node *retired = take_node(session);
    if (retired == NULL) {
        return false;
    }
    header->retired_root = ref_of(session, retired);
    header->scope_cost_ticks = cost_ticks;
    return true;
}

static void note_forked(struct rm_scope_session *session)
{
    RM_STORE(&session->block.header->dropped_forks, rm_forked_lost() - session->forked_before);
}

static void end(struct rm_scope_session *session)
{
    (void)pthread_mutex_lock(&session->lock);
    note_forked(session);
    session->is_over = true;
    (void)pthread_mutex_unlock(&session->lock);
}

/* Makes the session the current one; false: another session does not yield. */
static bool take_over(struct rm_scope_session *session, bool insists)
{
    rm_fork_lock(&owner_lock);
    struct rm_scope_session *before = owner;
    bool is_free = before == NULL || (insists && before->yields);
    if (is_free) {
        owner = session;
        last_number =
            /* scope.c uses the last numbers */
            last_number >= RM_SCOPE_FORKED - 1 ? 1 : last_number + 1;
        session->number = last_number;
        RM_STORE_RELEASE(&resmon_scope_session, session->number);
        if (before != NULL) {
            (void)__atomic_add_fetch(&before->references, 1, __ATOMIC_RELAXED);
        }
    }
    rm_fork_unlock(&owner_lock);
    if (is_free && before != NULL) {
        end(before);
        unref(before);
    }
    return is_free;
}

static void discard(struct rm_scope_session *session)
{
    rm_metering_close(&session->metering);
    (void)pthread_mutex_destroy(&session->lock);
    rm_free(session);
}

resmon_status rm_session_start(const struct rm_block *block, const struct rm_session_terms *terms,
                               void (*release)(void *context), void *context,
                               struct rm_scope_session **ret_session)
{
    struct rm_scope_session *session = session_new(block, terms);
    if (session == NULL) {
        return rm_error(RESMON_ENOMEM, "out of memory for scopes");
    }
    if (!set_up_trees(session, terms->cost_ticks)) {
        discard(session);
        return rm_error(RESMON_ERANGE, "a run with scopes needs more than %llu nodes",
                        (unsigned long long)block->header->sizes.nodes);
    }
    rm_fork_take_part(RM_FORK_SESSION, &at_fork);
    rm_forked_prepare();
    rm_metering_open(&session->metering, terms->meters, terms->max_share, block);
    if (terms->counters != NULL && block->header->sizes.scope_counters > 0) {
        rm_metering_count(&session->metering, terms->counters);
    }
    block->header->has_scopes = 1;
    session->forked_before = rm_forked_lost();
    session->release = release;
    session->context = context;
    if (!take_over(session, terms->insists)) {
        block->header->has_scopes = 0;
        discard(session);
        return rm_error(RESMON_EBUSY,
                        "another monitor already measures scopes: stop it, or start this one "
                        "with RESMON_FLAG_NO_SCOPES");
    }
    *ret_session = session;
    return RESMON_OK;
}

void rm_session_stop(struct rm_scope_session *session)
{
    rm_fork_lock(&owner_lock);
    if (owner == session) {
        owner = NULL;
        RM_STORE_RELEASE(&resmon_scope_session, 0);
    }
    rm_fork_unlock(&owner_lock);
    end(session);
}

void rm_session_unref(struct rm_scope_session *session)
{
    unref(session);
}

void rm_session_forget(struct rm_scope_session *session)
{
    rm_metering_close(&session->metering);
    rm_scope_paths_close(&session->paths);
    rm_map_free(&session->retired.map);
    session->release(session->context);
    rm_free(session);
}

void rm_session_forget_thread(struct rm_scope_thread *thread)
{
    rm_map_free(&thread->tree.map);
    rm_free(thread->meter_frames);
    rm_free(thread);
}

void rm_session_lock(struct rm_scope_session *session)
{
    (void)pthread_mutex_lock(&session->lock);
    note_forked(session);
}

void rm_session_unlock(struct rm_scope_session *session)
{
    (void)pthread_mutex_unlock(&session->lock);
}

void rm_session_count_stale_end(void)
{
    struct rm_scope_session *session = rm_session_current();
    if (session != NULL) {
        (void)RM_FETCH_ADD(&session->block.header->stale_ends, 1);
        unref(session);
    }
}

struct rm_scope_session *rm_session_current(void)
{
    rm_fork_lock(&owner_lock);
    struct rm_scope_session *session = owner;
    if (session != NULL) {
        (void)__atomic_add_fetch(&session->references, 1, __ATOMIC_RELAXED);
    }
    rm_fork_unlock(&owner_lock);
    return session;
}

/* ---- scopes in forked children -------------------------------------------------------------- */

#define MOST_STARTED 128U /* each has 1.2 MB of memory until the run ends */

struct fork_counts {
    uint32_t started, lost; /* of children */
};

static struct fork_counts *fork_counts; /* shared with the children; NULL: out of memory */
static uint32_t fork_counts_forks;      /* rm_forks() of the process that allocated them */
static bool (*start_monitor)(void);

void rm_forked_prepare(void)
{
    rm_fork_watch();
    if (fork_counts != NULL && fork_counts_forks == rm_forks()) {
        return;
    }
    void *memory =
        mmap(NULL, sizeof *fork_counts, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    fork_counts =
        memory != MAP_FAILED ? memory : NULL; /* a parent's counts stay mapped for its children */
    fork_counts_forks = rm_forks();
}

uint32_t rm_forked_lost(void)
{
    return fork_counts != NULL && fork_counts_forks == rm_forks() ? RM_LOAD(&fork_counts->lost) : 0;
}

void rm_forked_start_by(bool (*start)(void))
{
    start_monitor = start;
}

void rm_forked_come(void)
{
    uint32_t forked = RM_SCOPE_FORKED;
    if (!__atomic_compare_exchange_n(&resmon_scope_session, &forked, 0, false, __ATOMIC_RELAXED,
                                     __ATOMIC_RELAXED)) {
        return; /* another thread was first */
    }
    struct fork_counts *of_parent = fork_counts;
    bool may_start = start_monitor != NULL && of_parent != NULL &&
                     RM_FETCH_ADD(&of_parent->started, 1) < MOST_STARTED;
    if ((!may_start || !start_monitor()) && of_parent != NULL) {
        (void)RM_FETCH_ADD(&of_parent->lost, 1);
    }
}
