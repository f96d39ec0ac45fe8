/* SPDX-License-Identifier: MIT */
/*
 * The fast path, which runs at every begin and end of a scope, and the slow path beside it.
 *
 * A thread's part of a session is in one thread-local structure.  The thread writes only to its
 * own frames and nodes, with relaxed stores.  Data for other threads and for later readers of
 * the file is published by a release store of a token (frames) or a version (nodes).
 */
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include <resmon/monitor.h>
#include <resmon/scope.h>

#include "base/clock.h"
#include "base/compiler.h"
#include "base/fork.h"
#include "base/status.h"
#include "base/thread.h"
#include "os/program.h"
#include "scope/scope.h"
#include "scope/session.h"
#include "scope/site.h"
#include "scope/timed.h"

/* Flags of special begins and ends, beside the session's number; almost always none is set. */
#define SPECIAL_METERS (UINT64_C(1) << 32) /* the session has meters besides wall */
#define SPECIAL_VOID   (UINT64_C(2) << 32) /* inside of an instance that is not measured */
#define SPECIAL_EVENTS (UINT64_C(4) << 32) /* each instance is recorded on its own, too */
#define NO_SESSION     UINT32_MAX          /* number that no session has */

static RM_THREAD_LOCAL struct {
    uint64_t gate; /* session number and flags, compared with the current session as one value */
    struct rm_scope_node *current;
    struct rm_scope_frame *top;   /* the innermost open frame; frames[0]: none is open */
    struct rm_scope_frame *limit; /* the last frame */
    struct rm_scope_node *next;   /* the expected child of `current`: the one visited last */
    rm_node_ref next_ref;
    uint32_t next_site; /* UINT32_MAX: none */
    unsigned char *nodes;
    uint64_t next_token;
    struct rm_scope_thread *thread;
    uint64_t void_depth; /* number of open instances that are not measured */
} self = {.gate = NO_SESSION};

static inline uint32_t own_session(void)
{
    return (uint32_t)self.gate;
}

static pthread_key_t exit_key; /* its destructor detaches an ending thread */
static bool has_exit_key; /* false: all keys of the process are in use, and no scope is measured */

/* ---- records ---------------------------------------------------------------------------- */

static inline struct rm_scope_node *node_at(rm_node_ref ref)
{
    return (struct rm_scope_node *)(void *)(self.nodes + ref);
}

/* The new sums are written to the inactive copy and published by their version. */
static inline void record_wall(struct rm_scope_node *node, uint64_t ticks)
{
    uint32_t version = RM_LOAD(&node->wall_version);
    const struct rm_wall_sums *old = &node->sums[version & 1];
    struct rm_wall_sums *new = &node->sums[(version + 1) & 1];
    uint64_t calls = RM_LOAD(&old->calls) + 1;
    uint64_t total = RM_LOAD(&old->total) + ticks;
    const struct rm_wide before = {RM_LOAD(&old->squares.low), RM_LOAD(&old->squares.high)};
    const struct rm_wide squares = rm_wide_add(before, rm_wide_product(ticks, ticks));
    if (RM_UNLIKELY(ticks < RM_LOAD(&node->min))) {
        RM_STORE(&node->min, ticks);
    }
    if (RM_UNLIKELY(ticks > RM_LOAD(&node->max))) {
        RM_STORE(&node->max, ticks);
    }
    RM_FENCE_BEFORE_REFILL();
    RM_STORE(&new->calls, calls);
    RM_STORE(&new->total, total);
    RM_STORE(&new->squares.low, squares.low);
    RM_STORE(&new->squares.high, squares.high);
    RM_STORE_RELEASE(&node->wall_version, version + 1);
}

static void record_folded(struct rm_scope_node *node, uint64_t folded)
{
    struct rm_scope_meters meters = rm_node_meters(node);
    meters.folded += folded;
    rm_node_publish_meters(node, &meters);
}

/* Records the instance of the innermost frame, before it is popped.  Threads are often named just
 * after their start, so the name is read again after events 1, 2, 4, 8, ... */
static inline void record_event(const struct rm_scope_frame *frame, uint64_t ticks)
{
    struct rm_event_writer *events = &self.thread->events;
    uint32_t depth = (uint32_t)(frame - self.thread->record->frames) - 1;
    rm_events_add(events, RM_LOAD(&frame->start), ticks, RM_LOAD(&self.current->site), depth);
    if (RM_UNLIKELY((events->written & (events->written - 1)) == 0)) {
        RM_KEEP_ERRNO;
        rm_session_name_thread(self.thread);
    }
}

static inline void record_instance(const struct rm_scope_frame *frame, uint64_t ticks)
{
    if (frame->folded_total > 0) {
        record_folded(self.current, frame->folded_total);
    }
    record_wall(self.current, ticks);
    if ((self.gate & SPECIAL_EVENTS) != 0) {
        record_event(frame, ticks);
    }
}

static struct rm_meter_frame *meter_frame_of(const struct rm_scope_frame *frame)
{
    return &self.thread->meter_frames[frame - self.thread->record->frames];
}

static inline void expect(rm_node_ref ref, struct rm_scope_node *node)
{
    self.next = node;
    self.next_ref = ref;
    self.next_site = RM_LOAD(&node->site);
}

/* Expects the child visited last; slot 0: none. */
static inline void expect_last(const struct rm_scope_node *node)
{
    rm_node_ref ref = RM_LOAD(&node->last_child);
    expect(ref, node_at(ref));
}

/* Opens a frame for `node`.  Its start is read last, unless meters just read `now`. */
static inline uint64_t push(struct rm_scope_node *node, rm_node_ref ref, uint64_t now)
{
    struct rm_scope_frame *frame = self.top + 1;
    uint64_t token = self.next_token++;
    RM_STORE(&frame->node, ref);
    self.top = frame;
    self.current = node;
    expect_last(node);
    RM_STORE(&frame->start, now != 0 ? now : rm_clock_ticks());
    RM_STORE_RELEASE(&frame->token, token);
    return token;
}

static inline void pop(struct rm_scope_frame *frame)
{
    RM_STORE_RELEASE(&frame->token, 0);
    self.top = frame - 1;
    self.current = node_at(RM_LOAD(&self.top->node));
}

/* Leaves a frame on the slow path: its time is noted in the frame below. */
static void leave(struct rm_scope_frame *frame, uint64_t ticks)
{
    bool is_aside = (frame->folds & RM_FRAME_ASIDE) != 0;
    frame->folds = 0;
    frame->folded_total = 0;
    if (is_aside) {
        struct rm_scope_node *below = node_at(RM_LOAD(&(frame - 1)->node));
        struct rm_scope_meters meters = rm_node_meters(below);
        meters.away += ticks;
        rm_node_publish_meters(below, &meters);
    }
    pop(frame);
    expect_last(self.current);
}

/* ---- attaching -------------------------------------------------------------------------- */

static void detach(void)
{
    struct rm_scope_thread *thread = self.thread;
    self.thread = NULL;
    self.gate = NO_SESSION;
    if (thread != NULL) {
        (void)pthread_setspecific(exit_key, NULL);
        rm_session_detach(thread);
    }
}

/* Closes the frames that the thread left open, as its outermost end would have. */
static void close_frames_above(struct rm_scope_frame *base, uint64_t now)
{
    struct rm_block_header *header = self.thread->session->block.header;
    while (self.top > base) {
        struct rm_scope_frame *frame = self.top;
        uint64_t ticks = now - RM_LOAD(&frame->start);
        record_instance(frame, ticks);
        rm_meters_abandon(meter_frame_of(frame));
        leave(frame, ticks);
        (void)RM_FETCH_ADD(&header->misordered_ends, 1);
    }
}

static void on_thread_exit(void *unused)
{
    RM_KEEP_ERRNO;
    (void)unused;
    if (self.thread == NULL) {
        return;
    }
    if (self.thread->record != NULL && own_session() == RM_LOAD(&resmon_scope_session)) {
        close_frames_above(self.thread->record->frames, rm_clock_ticks());
    }
    detach();
}

/* In a forked child: without access to the parent's block. */
static void forget_thread(void)
{
    if (self.thread != NULL) {
        (void)pthread_setspecific(exit_key, NULL);
        rm_session_forget_thread(self.thread);
    }
    self.thread = NULL;
    self.gate = NO_SESSION;
    self.void_depth = 0;
}

static const struct rm_fork_part at_fork = {.in_child = forget_thread};

static void make_exit_key(void)
{
    has_exit_key = pthread_key_create(&exit_key, on_thread_exit) == 0;
    rm_fork_take_part(RM_FORK_SCOPES, &at_fork);
}

/* Attaches to the current session; false: none. */
static RM_COLD bool attach(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    static uint64_t threads;
    (void)pthread_once(&once, make_exit_key);
    rm_exit_status_main_runs();
    if (RM_LOAD(&resmon_scope_session) == RM_SCOPE_FORKED) {
        rm_forked_come();
    }
    if (self.thread != NULL) {
        detach();
    }
    struct rm_scope_session *session = has_exit_key ? rm_session_current() : NULL;
    if (session == NULL) {
        return false;
    }
    uint32_t number = session->number;
    struct rm_scope_thread *thread = rm_session_attach(session);
    if (thread == NULL) {
        return false;
    }
    self.thread = thread;
    self.void_depth = 0;
    /* Tokens of different threads differ: each thread counts in a range of its own. */
    self.next_token = (__atomic_add_fetch(&threads, 1, __ATOMIC_RELAXED) & 0x7fffff) << 40 | 1;
    (void)pthread_setspecific(exit_key, thread);
    if (thread->record == NULL) {
        self.gate = number | SPECIAL_VOID;
        return true;
    }
    self.gate = number | (session->metering.meters != 0 ? SPECIAL_METERS : 0) |
                (thread->events.ring != NULL ? SPECIAL_EVENTS : 0);
    self.nodes = session->block.base + session->block.header->sections[RM_SECTION_NODES].offset;
    self.top = thread->record->frames;
    self.limit = self.top + session->block.header->sizes.depth;
    self.current = node_at(thread->record->root);
    expect_last(self.current);
    return true;
}

/* ---- begin ------------------------------------------------------------------------------ */

static uint64_t begin_uncounted(void)
{
    self.void_depth++;
    self.gate |= SPECIAL_VOID;
    return RM_SCOPE_VOID;
}

static uint64_t begin_void(void)
{
    struct rm_block_header *header = self.thread->session->block.header;
    (void)RM_FETCH_ADD(&header->dropped_scopes, 1);
    return begin_uncounted();
}

static uint64_t begin_special(struct rm_scope_node *node, rm_node_ref ref, uint32_t forced)
{
    uint64_t now = 0;
    if (((self.gate & SPECIAL_METERS) | forced) != 0) {
        RM_KEEP_ERRNO;
        now = rm_meters_begin(&self.thread->session->metering, node, meter_frame_of(self.top + 1),
                              forced);
    }
    return push(node, ref, now);
}

/* All begins but the repeated visit of the child visited last. */
static RM_COLD uint64_t begin_slow(resmon_site *site, uint32_t forced)
{
    RM_KEEP_ERRNO;
    uint32_t number = rm_site_number(site);
    uint32_t session = RM_LOAD(&resmon_scope_session); /* it may have ended meanwhile */
    if (session == 0 || (own_session() != session && !attach())) {
        return 0;
    }
    if ((self.gate & SPECIAL_VOID) != 0) {
        return begin_void();
    }
    if (self.current->site == number && self.top->token != RM_ROOT_TOKEN) {
        self.top->folds = (self.top->folds | RM_FRAME_FOLDED) + 1; /* direct recursion */
        self.top->folded_total++;
        return self.top->token;
    }
    if (self.top == self.limit) {
        return begin_void();
    }
    struct rm_scope_node *node = rm_session_child(self.thread, self.current, site, number);
    if (node == NULL) {
        return begin_uncounted(); /* one of the dropped paths */
    }
    rm_node_ref ref = RM_LOAD(&self.current->last_child);
    return begin_special(node, ref, forced);
}

/* Phases mostly come in the order of their first appearance: the child after the one visited last,
 * or the first one, needs no search. */
static RM_NOINLINE uint64_t begin_next(resmon_site *site)
{
    rm_node_ref behind = self.next_ref != 0 ? RM_LOAD(&self.next->next) : 0;
    rm_node_ref ref = behind != 0 ? behind : RM_LOAD(&self.current->first_child);
    struct rm_scope_node *node = node_at(ref);
    if (node->site != RM_LOAD(&site->id) || node->kind != RM_NODE_PLAIN || self.top == self.limit ||
        !rm_node_is_visited(node)) {
        return begin_slow(site, 0);
    }
    RM_STORE(&self.current->last_child, ref);
    return push(node, ref, 0);
}

/* If this thread has not attached, or if the session measures more than wall time. */
static RM_NOINLINE uint64_t begin_unusual(resmon_site *site, uint32_t session)
{
    if (session == 0 || own_session() != session) {
        return session == 0 ? 0 : begin_slow(site, 0);
    }
    bool is_expected = self.next_site == RM_LOAD(&site->id) && self.top != self.limit;
    return is_expected && (self.gate & SPECIAL_VOID) == 0
               ? begin_special(self.next, self.next_ref, 0)
               : begin_slow(site, 0);
}

uint64_t resmon_scope_begin(resmon_site *site)
{
    uint32_t session = RM_LOAD(&resmon_scope_session);
    if (RM_UNLIKELY((self.gate & ~SPECIAL_EVENTS) != session)) {
        return begin_unusual(site, session);
    }
    if (RM_UNLIKELY(self.next_site != RM_LOAD(&site->id) || self.top == self.limit)) {
        return begin_next(site);
    }
    return push(self.next, self.next_ref, 0);
}

uint64_t resmon_scope_begin_named(const char *name, uint64_t length)
{
    if (RM_LOAD(&resmon_scope_session) == 0 || name == NULL) {
        return 0;
    }
    RM_KEEP_ERRNO;
    resmon_site *site = rm_site_named(name, length);
    return site != NULL ? resmon_scope_begin(site) : 0;
}

uint64_t rm_scope_begin_forced(resmon_site *site, uint32_t meters)
{
    return RM_LOAD(&resmon_scope_session) != 0 ? begin_slow(site, meters) : 0;
}

/* ---- handles ---------------------------------------------------------------------------- */

static bool is_at_top(void)
{
    return RM_LOAD(&self.top->token) == RM_ROOT_TOKEN;
}

uint64_t resmon_scope_here(void)
{
    uint32_t session = RM_LOAD(&resmon_scope_session);
    if (session == 0 || own_session() != session || self.thread->record == NULL || is_at_top()) {
        return 0;
    }
    RM_KEEP_ERRNO;
    struct rm_scope_session *owner = self.thread->session;
    return rm_session_handle(owner, rm_session_path_of(owner, self.current));
}

/* Whether the innermost scope of this thread is at this path; 0: whether none is open. */
static bool is_at(uint32_t path)
{
    const struct rm_scope_paths *paths = &self.thread->session->paths;
    const struct rm_scope_path *entry = rm_scope_path_at(paths, path);
    const struct rm_scope_node *node = self.current;
    while (entry != NULL && node->site == entry->site) {
        entry = rm_scope_path_at(paths, entry->parent);
        node = node_at(node->parent);
    }
    return entry == NULL && node->site == 0;
}

static uint64_t begin_hung(const resmon_site *site, uint32_t path, uint32_t kind)
{
    struct rm_scope_session *session = self.thread->session;
    struct rm_scope_node *parent = rm_session_follow(self.thread, path);
    struct rm_scope_node *node =
        parent != NULL
            ? rm_session_child_of_kind(self.thread, parent, site, RM_LOAD(&site->id), kind)
            : NULL;
    if (node == NULL) {
        return begin_uncounted(); /* one of the dropped paths */
    }
    bool is_aside = !is_at_top();
    uint64_t token = begin_special(node, rm_node_ref_to(&session->block, node), 0);
    self.top->folds |= is_aside ? RM_FRAME_ASIDE : 0;
    return token;
}

uint64_t resmon_scope_begin_under(resmon_site *site, uint64_t under, uint64_t flags)
{
    uint32_t session = RM_LOAD(&resmon_scope_session);
    if (session == 0) {
        return 0;
    }
    RM_KEEP_ERRNO;
    if (own_session() != session && !attach()) {
        return 0;
    }
    if ((self.gate & SPECIAL_VOID) != 0) {
        return begin_void();
    }
    uint32_t path = rm_session_path(self.thread->session, under);
    if (path == 0 || is_at(path)) {
        return resmon_scope_begin(site);
    }
    if (self.top == self.limit) {
        return begin_void();
    }
    path = rm_session_path_above(self.thread->session, path, rm_site_number(site));
    bool is_inside = (flags & RESMON_INSIDE) != 0;
    return is_at(path) ? resmon_scope_begin(site)
                       : begin_hung(site, path, is_inside ? RM_NODE_HUNG_INSIDE : RM_NODE_HUNG);
}

struct rm_scope_thread *rm_scope_attached(void)
{
    uint32_t session = RM_LOAD(&resmon_scope_session);
    return session != 0 && (own_session() == session || attach()) ? self.thread : NULL;
}

/* ---- end -------------------------------------------------------------------------------- */

static void end_frame(struct rm_scope_frame *frame, uint64_t now)
{
    struct rm_scope_node *node = self.current;
    uint64_t ticks = now - RM_LOAD(&frame->start);
    record_instance(frame, ticks);
    struct rm_meter_frame *meters = meter_frame_of(frame);
    rm_meters_end(&self.thread->session->metering, node, meters, ticks);
    leave(frame, ticks);
}

static RM_COLD void end_slow(uint64_t token, uint64_t now)
{
    RM_KEEP_ERRNO;
    if (token == 0) {
        return; /* nothing was measured */
    }
    if (self.thread == NULL) {
        rm_session_count_stale_end(); /* of another thread, or begun before a fork */
        return;
    }
    struct rm_block_header *header = self.thread->session->block.header;
    if (own_session() != RM_LOAD(&resmon_scope_session)) {
        (void)RM_FETCH_ADD(&header->stale_ends, 1);
        return; /* its monitor was stopped */
    }
    if (token == RM_SCOPE_VOID) {
        self.void_depth -= self.void_depth > 0 ? 1 : 0;
        if (self.void_depth == 0 && self.thread->record != NULL) {
            self.gate &= ~SPECIAL_VOID;
        }
        return;
    }
    struct rm_scope_frame *frame = self.thread->record != NULL ? self.top : NULL;
    while (frame != NULL && frame->token != RM_ROOT_TOKEN && frame->token != token) {
        frame--;
    }
    if (frame == NULL || frame->token == RM_ROOT_TOKEN) {
        (void)RM_FETCH_ADD(&header->stale_ends, 1);
        return;
    }
    close_frames_above(frame, now);
    self.void_depth = 0;
    self.gate &= ~SPECIAL_VOID;
    if ((frame->folds & ~RM_FRAME_MARKS) > 0) {
        frame->folds--;
        return;
    }
    end_frame(frame, now);
}

/* Marks an open instance of this thread, once, unless a direct recursion is open in it. */
static void mark_open(uint64_t token, uint32_t mark, void (*count)(struct rm_scope_node *node))
{
    bool is_here = token != 0 && token != RM_SCOPE_VOID && self.thread != NULL &&
                   own_session() == RM_LOAD(&resmon_scope_session) && self.thread->record != NULL;
    struct rm_scope_frame *frame = is_here ? self.top : NULL;
    while (frame != NULL && frame->token != RM_ROOT_TOKEN && frame->token != token) {
        frame--;
    }
    if (frame != NULL && frame->token == token && (frame->folds & (~RM_FRAME_MARKS | mark)) == 0) {
        frame->folds |= mark;
        count(node_at(RM_LOAD(&frame->node)));
    }
}

void resmon_scope_fail(uint64_t token)
{
    RM_KEEP_ERRNO;
    mark_open(token, RM_FRAME_FAILED, rm_node_count_failure);
}

void resmon_scope_resumed(uint64_t token)
{
    RM_KEEP_ERRNO;
    mark_open(token, RM_FRAME_RESUMED, rm_node_count_resumed);
}

/* The node of the popped frame becomes the expected child of `current`, unless it was begun under a
 * handle. */
static inline void pop_expecting(struct rm_scope_frame *frame, struct rm_scope_node *node)
{
    rm_node_ref ref = RM_LOAD(&frame->node);
    pop(frame);
    if (RM_UNLIKELY(RM_LOAD(&node->kind) != RM_NODE_PLAIN)) {
        expect_last(self.current);
    } else {
        expect(ref, node);
    }
}

/* Ends that are not on the fast path: the usual end with an event, and all others. */
static RM_NOINLINE void end_special(uint64_t token, uint64_t now)
{
    struct rm_scope_frame *frame = self.top;
    if (RM_UNLIKELY(self.gate != (RM_LOAD(&resmon_scope_session) | SPECIAL_EVENTS) ||
                    RM_LOAD(&frame->token) != token || frame->folds != 0)) {
        end_slow(token, now);
        return;
    }
    uint64_t ticks = now - RM_LOAD(&frame->start);
    record_wall(self.current, ticks);
    record_event(frame, ticks);
    pop_expecting(frame, self.current);
}

void resmon_scope_end(uint64_t token)
{
    struct rm_scope_frame *frame = self.top;
    struct rm_scope_node *node = self.current;
    uint64_t now = rm_clock_ticks();
    if (RM_UNLIKELY(self.gate != RM_LOAD(&resmon_scope_session) ||
                    RM_LOAD(&frame->token) != token || frame->folds != 0)) {
        end_special(token, now);
        return;
    }
    record_wall(node, now - RM_LOAD(&frame->start));
    pop_expecting(frame, node);
}

bool rm_scope_end_forced(uint64_t token, uint64_t *ret_rss_peak)
{
    if (self.thread == NULL || self.thread->record == NULL ||
        own_session() != RM_LOAD(&resmon_scope_session) || self.top->token != token) {
        resmon_scope_end(token);
        return false;
    }
    const struct rm_meter_frame *meters = meter_frame_of(self.top);
    bool is_taken = (meters->taken & RESMON_METER_RSS) != 0;
    bool is_outermost = (self.top->folds & ~RM_FRAME_MARKS) == 0;
    end_slow(token, rm_clock_ticks());
    *ret_rss_peak = meters->rss_peak;
    return is_taken && is_outermost;
}

/* A frame without a token was being opened or closed when a signal handler called exit(). */
void rm_scope_end_with_program(const struct rm_block *block)
{
    uint32_t session = RM_LOAD(&resmon_scope_session);
    if (session == 0 || own_session() != session || self.thread->record == NULL ||
        self.thread->session->block.base != block->base) {
        return;
    }
    uint64_t now = rm_clock_ticks();
    while (self.top > self.thread->record->frames) {
        if (RM_LOAD(&self.top->token) != 0) {
            RM_STORE(&self.current->ended_at_exit, self.current->ended_at_exit + 1);
            self.top->folds &= RM_FRAME_MARKS;
            end_frame(self.top, now);
        } else {
            pop(self.top);
            expect_last(self.current);
        }
    }
}

static const struct rm_site_record *site_of(const struct rm_scope_frame *frame)
{
    return rm_site_at(&self.thread->session->block, RM_LOAD(&node_at(RM_LOAD(&frame->node))->site));
}

static bool is_of_one_function(const struct rm_scope_frame *outer,
                               const struct rm_scope_frame *inner)
{
    const struct rm_site_record *a = site_of(outer), *b = site_of(inner);
    return a->function[0] != '\0' && strcmp(a->function, b->function) == 0 &&
           strcmp(a->file, b->file) == 0;
}

bool rm_scope_line_place(struct rm_line_place *ret_place)
{
    uint32_t session = RM_LOAD(&resmon_scope_session);
    if (session == 0 || (own_session() != session && !attach()) || self.thread->record == NULL) {
        return false;
    }
    const struct rm_scope_frame *outermost = self.thread->record->frames;
    const struct rm_scope_frame *frame = self.top;
    for (const struct rm_scope_frame *outer = outermost + 1; outer < frame; outer++) {
        if (is_of_one_function(outer, frame)) {
            frame = outer;
        }
    }
    *ret_place = (struct rm_line_place){
        .session = self.thread->session,
        .mark = &meter_frame_of(frame)->line,
        .token = RM_LOAD(&frame->token),
        .start = frame > outermost ? RM_LOAD(&frame->start) : 0,
    };
    return true;
}

/* The sites from the root of the node's tree down to it, at most `room`.  Paths are bounded by the
 * depth of scopes, even if the node has been reused. */
static uint32_t sites_down_to(const struct rm_block *block, rm_node_ref ref, uint32_t *ret_sites,
                              uint32_t room)
{
    uint32_t depth = 0;
    for (rm_node_ref at = ref; depth < block->header->sizes.depth; depth++) {
        at = RM_LOAD(&rm_node_at(block, at)->parent);
        if (at == 0) {
            break;
        }
    }
    for (uint32_t i = depth; i-- > 0;) {
        const struct rm_scope_node *node = rm_node_at(block, ref);
        if (i < room) {
            ret_sites[i] = RM_LOAD(&node->site);
        }
        ref = RM_LOAD(&node->parent);
    }
    return depth < room ? depth : room;
}

/* In any state of this thread: a frame counts once it has its token, as for other readers. */
uint32_t rm_scope_open_sites(const struct rm_block *block, uint32_t *ret_sites, uint32_t room)
{
    const struct rm_scope_thread *thread = RM_LOAD(&self.thread);
    if (thread == NULL || thread->record == NULL || thread->session->block.base != block->base) {
        return 0;
    }
    const struct rm_scope_frame *frames = thread->record->frames;
    uint64_t depth = 0;
    while (depth < block->header->sizes.depth && RM_LOAD_ACQUIRE(&frames[depth + 1].token) != 0) {
        depth++;
    }
    return sites_down_to(block, RM_LOAD(&frames[depth].node), ret_sites, room);
}

/* By the clock of the thread's CPU time, which contains its kernel id. */
static const struct rm_scope_thread_record *record_of(const struct rm_block *block, uint32_t thread)
{
    const int64_t clock = rm_thread_cpu_clock_of(thread);
    const struct rm_scope_thread_record *record;
    for (uint64_t i = 0; (record = rm_scope_thread_at(block, i)) != NULL; i++) {
        if (RM_LOAD_ACQUIRE(&record->state) == RM_THREAD_LIVE &&
            RM_LOAD(&record->cpu_clock) == clock) {
            return record;
        }
    }
    return NULL;
}

static bool began_by(const struct rm_block_header *header, const struct rm_scope_frame *frame,
                     double ticks)
{
    return (double)(RM_LOAD(&frame->start) - header->start.ticks) <= ticks;
}

uint32_t rm_scope_sites_then(const struct rm_block *block, uint32_t thread, int64_t t_ns,
                             uint32_t *ret_sites, uint32_t room)
{
    const struct rm_block_header *header = block->header;
    const struct rm_scope_thread_record *record =
        header->has_scopes != 0 ? record_of(block, thread) : NULL;
    const struct rm_clock_pair now = rm_clock_read_pair();
    double ticks = (double)(t_ns - header->start.ns) / rm_clock_ns_per_tick(header->start, now);
    uint64_t depth = 0;
    while (record != NULL && depth < header->sizes.depth) {
        const struct rm_scope_frame *frame = &record->frames[depth + 1];
        if (RM_LOAD_ACQUIRE(&frame->token) == 0 || !began_by(header, frame, ticks)) {
            break;
        }
        depth++;
    }
    for (; depth > 0; depth--) {
        const struct rm_scope_frame *frame = &record->frames[depth];
        uint64_t token = RM_LOAD_ACQUIRE(&frame->token);
        uint32_t count = sites_down_to(block, RM_LOAD(&frame->node), ret_sites, room);
        bool was_open = token != 0 && began_by(header, frame, ticks);
        __atomic_thread_fence(__ATOMIC_ACQUIRE);
        if (was_open && RM_LOAD(&frame->token) == token) {
            return count;
        } /* else another instance by now */
    }
    return 0;
}

uint64_t rm_scope_measure_cost(bool keeps_events)
{
    struct rm_scope_node node = {.min = UINT64_MAX};
    struct rm_event_ring ring = {0};
    struct rm_event event;
    struct rm_event_writer writer = {.ring = &ring};
    enum { ROUNDS = 64 };
    uint64_t begin = rm_clock_ticks();
    for (int i = 0; i < ROUNDS; i++) {
        uint64_t start = rm_clock_ticks();
        uint64_t ticks = rm_clock_ticks() - start;
        record_wall(&node, ticks);
        if (keeps_events) {
            writer.next = &event;
            rm_events_add(&writer, start, ticks, 0, 0);
        }
    }
    return (rm_clock_ticks() - begin) / ROUNDS;
}
