/* SPDX-License-Identifier: MIT */
/*
 * The fast path: what runs at every begin and end of a scope, and the slow path beside it.
 *
 * A thread's part of a session is reached through one thread-local structure.  The thread writes
 * only to its own frames and nodes, with relaxed stores; what other threads and later readers of
 * the file may look at is published by a release store of a token (frames) or a version (nodes).
 */
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include <resmon/monitor.h>
#include <resmon/scope.h>

#include "base/clock.h"
#include "base/compiler.h"
#include "base/thread.h"
#include "scope/session.h"
#include "scope/site.h"
#include "scope/timed.h"

/* What makes a begin or an end special, in one word that is 0 almost always. */
#define SPECIAL_METERS 1U /* the session has meters besides wall */
#define SPECIAL_VOID   2U /* inside of an instance that is not measured */
#define SPECIAL_EVENTS 4U /* each instance is kept by itself, too */

static RM_THREAD_LOCAL struct {
    uint32_t session; /* number; 0: not attached */
    uint32_t special;
    struct rm_scope_node *current;
    struct rm_scope_frame *top;   /* the innermost open frame; frames[0] when none is */
    struct rm_scope_frame *limit; /* the last that there is */
    unsigned char *nodes;
    uint64_t next_token;
    struct rm_scope_thread *thread;
    uint64_t void_depth; /* open instances that are not measured */
} self;

static pthread_key_t exit_key; /* its destructor detaches a thread that ends */
static bool has_exit_key; /* else every key of the process is taken, and no scope is measured */

/* ---- records ---------------------------------------------------------------------------- */

static inline struct rm_scope_node *node_at(rm_node_ref ref)
{
    return (struct rm_scope_node *)(void *)(self.nodes + ref);
}

/* The new record is written beside the current one and published by its version. */
static inline void record_wall(struct rm_scope_node *node, uint64_t ticks, uint64_t folded)
{
    uint32_t version = RM_LOAD(&node->wall_version);
    const struct rm_scope_wall *old = &node->wall[version & 1];
    struct rm_scope_wall *new = &node->wall[(version + 1) & 1];
    uint64_t calls = RM_LOAD(&old->calls);
    uint64_t min = RM_LOAD(&old->min);
    uint64_t max = RM_LOAD(&old->max);
    if (RM_UNLIKELY(calls == 0)) {
        RM_STORE(&node->first_ticks, ticks);
    }
    double apart = (double)(int64_t)(ticks - RM_LOAD(&node->first_ticks));
    double square_sum;
    __atomic_load(&old->square_sum, &square_sum, __ATOMIC_RELAXED);
    square_sum += apart * apart;
    RM_FENCE_BEFORE_REFILL();
    RM_STORE(&new->calls, calls + 1);
    RM_STORE(&new->folded, RM_LOAD(&old->folded) + folded);
    RM_STORE(&new->total, RM_LOAD(&old->total) + ticks);
    RM_STORE(&new->min, ticks < min ? ticks : min);
    RM_STORE(&new->max, ticks > max ? ticks : max);
    __atomic_store(&new->square_sum, &square_sum, __ATOMIC_RELAXED);
    RM_STORE_RELEASE(&node->wall_version, version + 1);
}

/* The instance in the innermost frame, before that is popped.  Whoever starts a thread names it a
 * moment later: its name is looked at again after events 1, 2, 4, 8, ... */
static inline void record_event(const struct rm_scope_frame *frame, uint64_t ticks)
{
    struct rm_event_writer *events = &self.thread->events;
    uint32_t depth = (uint32_t)(frame - self.thread->record->frames) - 1;
    rm_events_add(events, RM_LOAD(&frame->start), ticks, RM_LOAD(&self.current->site), depth);
    if (RM_UNLIKELY((events->written & (events->written - 1)) == 0)) {
        rm_session_name_thread(self.thread);
    }
}

static inline void record_instance(const struct rm_scope_frame *frame, uint64_t ticks)
{
    record_wall(self.current, ticks, frame->folded_total);
    if ((self.special & SPECIAL_EVENTS) != 0) {
        record_event(frame, ticks);
    }
}

static struct rm_meter_frame *meter_frame_of(const struct rm_scope_frame *frame)
{
    return &self.thread->meter_frames[frame - self.thread->record->frames];
}

/* Opens a frame for `node`; its start is the last thing to be taken, unless meters just took `now`.
 */
static inline uint64_t push(struct rm_scope_node *node, rm_node_ref ref, uint64_t now)
{
    struct rm_scope_frame *frame = self.top + 1;
    uint64_t token = self.next_token++;
    RM_STORE(&frame->node, ref);
    self.top = frame;
    self.current = node;
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

/* ---- attaching -------------------------------------------------------------------------- */

static void detach(void)
{
    struct rm_scope_thread *thread = self.thread;
    self.thread = NULL;
    self.session = 0;
    self.special = 0;
    if (thread != NULL) {
        (void)pthread_setspecific(exit_key, NULL);
        rm_session_detach(thread);
    }
}

/* Closes what the thread leaves open, as its outermost end would have. */
static void close_frames_above(struct rm_scope_frame *base, uint64_t now)
{
    struct rm_block_header *header = self.thread->session->block.header;
    while (self.top > base) {
        struct rm_scope_frame *frame = self.top;
        record_instance(frame, now - RM_LOAD(&frame->start));
        rm_meters_abandon(meter_frame_of(frame));
        frame->folds = 0;
        frame->folded_total = 0;
        pop(frame);
        (void)RM_FETCH_ADD(&header->misordered_ends, 1);
    }
}

static void on_thread_exit(void *unused)
{
    (void)unused;
    if (self.thread == NULL) {
        return;
    }
    if (self.thread->record != NULL && self.session == RM_LOAD(&resmon_scope_session)) {
        close_frames_above(self.thread->record->frames, rm_clock_ticks());
    }
    detach();
}

static void make_exit_key(void)
{
    has_exit_key = pthread_key_create(&exit_key, on_thread_exit) == 0;
}

void rm_scope_forget_thread(void)
{
    if (self.thread != NULL) {
        (void)pthread_setspecific(exit_key, NULL);
        rm_session_forget_thread(self.thread);
    }
    self.thread = NULL;
    self.session = 0;
    self.special = 0;
    self.void_depth = 0;
}

/* Joins the session that has the scopes now; false when there is none. */
static RM_COLD bool attach(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    static uint64_t threads;
    (void)pthread_once(&once, make_exit_key);
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
    self.session = number;
    self.void_depth = 0;
    /* Tokens of different threads never meet: a thread counts in a range of its own. */
    self.next_token = (__atomic_add_fetch(&threads, 1, __ATOMIC_RELAXED) & 0x7fffff) << 40 | 1;
    (void)pthread_setspecific(exit_key, thread);
    if (thread->record == NULL) {
        self.special = SPECIAL_VOID;
        return true;
    }
    self.special = (session->metering.meters != 0 ? SPECIAL_METERS : 0) |
                   (thread->events.ring != NULL ? SPECIAL_EVENTS : 0);
    self.nodes = session->block.base + session->block.header->sections[RM_SECTION_NODES].offset;
    self.top = thread->record->frames;
    self.limit = self.top + session->block.header->sizes.depth;
    self.current = node_at(thread->record->root);
    return true;
}

/* ---- begin ------------------------------------------------------------------------------ */

static uint64_t begin_uncounted(void)
{
    self.void_depth++;
    self.special |= SPECIAL_VOID;
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
    if (((self.special & SPECIAL_METERS) | forced) != 0) {
        now = rm_meters_begin(&self.thread->session->metering, node, meter_frame_of(self.top + 1),
                              forced);
    }
    return push(node, ref, now);
}

/* Everything that is not the repeated visit of the child visited last. */
static RM_COLD uint64_t begin_slow(resmon_site *site, uint32_t forced)
{
    uint32_t number = rm_site_number(site);
    uint32_t session = RM_LOAD(&resmon_scope_session); /* it may have ended meanwhile */
    if (session == 0 || (self.session != session && !attach())) {
        return 0;
    }
    if ((self.special & SPECIAL_VOID) != 0) {
        return begin_void();
    }
    if (self.current->site == number && self.top->token != RM_ROOT_TOKEN) {
        self.top->folds++; /* direct recursion */
        self.top->folded_total++;
        return self.top->token;
    }
    if (self.top == self.limit) {
        return begin_void();
    }
    struct rm_scope_node *node = rm_session_child(self.thread->session, self.current, site, number);
    if (node == NULL) {
        return begin_uncounted(); /* it is among the dropped paths */
    }
    rm_node_ref ref = RM_LOAD(&self.current->last_child);
    return begin_special(node, ref, forced);
}

uint64_t resmon_scope_begin(resmon_site *site)
{
    uint32_t session = RM_LOAD(&resmon_scope_session);
    if (RM_UNLIKELY(self.session != session || session == 0)) {
        return session == 0 ? 0 : begin_slow(site, 0);
    }
    if (RM_UNLIKELY((self.special & SPECIAL_VOID) != 0)) {
        return begin_void();
    }
    rm_node_ref ref = RM_LOAD(&self.current->last_child);
    struct rm_scope_node *node = node_at(ref);
    if (RM_UNLIKELY(RM_LOAD(&node->site) != RM_LOAD(&site->id) || ref == 0 ||
                    self.top == self.limit)) {
        return begin_slow(site, 0);
    }
    if (RM_UNLIKELY(self.special != 0)) {
        return begin_special(node, ref, 0);
    }
    return push(node, ref, 0);
}

uint64_t rm_scope_begin_forced(resmon_site *site, uint32_t meters)
{
    return RM_LOAD(&resmon_scope_session) != 0 ? begin_slow(site, meters) : 0;
}

/* ---- end -------------------------------------------------------------------------------- */

static void end_frame(struct rm_scope_frame *frame, uint64_t now)
{
    struct rm_scope_node *node = self.current;
    uint64_t ticks = now - RM_LOAD(&frame->start);
    record_instance(frame, ticks);
    frame->folded_total = 0;
    struct rm_meter_frame *meters = meter_frame_of(frame);
    rm_meters_end(&self.thread->session->metering, node, meters, ticks);
    pop(frame);
}

static RM_COLD void end_slow(uint64_t token, uint64_t now)
{
    if (token == 0) {
        return; /* nothing was measured */
    }
    if (self.thread == NULL) {
        rm_session_count_stale_end(); /* another thread's, or begun before a fork */
        return;
    }
    struct rm_block_header *header = self.thread->session->block.header;
    if (self.session != RM_LOAD(&resmon_scope_session)) {
        (void)RM_FETCH_ADD(&header->stale_ends, 1);
        return; /* its monitor has stopped */
    }
    if (token == RM_SCOPE_VOID) {
        self.void_depth -= self.void_depth > 0 ? 1 : 0;
        if (self.void_depth == 0 && self.thread->record != NULL) {
            self.special &= ~SPECIAL_VOID;
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
    self.special &= ~SPECIAL_VOID;
    if (frame->folds > 0) {
        frame->folds--;
        return;
    }
    end_frame(frame, now);
}

/* What resmon_scope_end() does not do at once: the usual end with an event, and all others. */
static void end_special(uint64_t token, uint64_t now)
{
    struct rm_scope_frame *frame = self.top;
    if (RM_UNLIKELY(self.session == 0 || self.session != RM_LOAD(&resmon_scope_session) ||
                    self.special != SPECIAL_EVENTS || RM_LOAD(&frame->token) != token ||
                    frame->folds != 0 || frame->folded_total != 0)) {
        end_slow(token, now);
        return;
    }
    uint64_t ticks = now - RM_LOAD(&frame->start);
    record_wall(self.current, ticks, 0);
    record_event(frame, ticks);
    pop(frame);
}

void resmon_scope_end(uint64_t token)
{
    uint64_t now = rm_clock_ticks();
    struct rm_scope_frame *frame = self.top;
    if (RM_UNLIKELY(self.session == 0 || self.session != RM_LOAD(&resmon_scope_session) ||
                    self.special != 0 || RM_LOAD(&frame->token) != token || frame->folds != 0 ||
                    frame->folded_total != 0)) {
        end_special(token, now);
        return;
    }
    record_wall(self.current, now - RM_LOAD(&frame->start), 0);
    pop(frame);
}

bool rm_scope_end_forced(uint64_t token, uint64_t *ret_rss_peak)
{
    if (self.thread == NULL || self.thread->record == NULL || self.session == 0 ||
        self.session != RM_LOAD(&resmon_scope_session) || self.top->token != token) {
        resmon_scope_end(token);
        return false;
    }
    const struct rm_meter_frame *meters = meter_frame_of(self.top);
    bool is_taken = (meters->taken & RESMON_METER_RSS) != 0;
    bool is_outermost = self.top->folds == 0;
    end_slow(token, rm_clock_ticks());
    *ret_rss_peak = meters->rss_peak;
    return is_taken && is_outermost;
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
    if (session == 0 || (self.session != session && !attach()) || self.thread->record == NULL) {
        return false;
    }
    const struct rm_scope_frame *outermost = self.thread->record->frames;
    const struct rm_scope_frame *frame = self.top;
    while (frame > outermost + 1 && is_of_one_function(frame - 1, frame)) {
        frame--;
    }
    *ret_place = (struct rm_line_place){
        .session = self.thread->session,
        .mark = &meter_frame_of(frame)->line,
        .token = RM_LOAD(&frame->token),
        .start = frame > outermost ? RM_LOAD(&frame->start) : 0,
    };
    return true;
}

/* Whatever this thread was doing: a frame counts once it has its token, as for other readers. */
uint32_t rm_scope_open_sites(const struct rm_block *block, uint32_t *ret_sites, uint32_t room)
{
    const struct rm_scope_thread *thread = RM_LOAD(&self.thread);
    if (thread == NULL || thread->record == NULL || thread->session->block.base != block->base) {
        return 0;
    }
    uint64_t depth = block->header->sizes.depth;
    uint32_t count = 0;
    while (count < room && count < depth) {
        const struct rm_scope_frame *frame = &thread->record->frames[count + 1];
        if (RM_LOAD_ACQUIRE(&frame->token) == 0) {
            break;
        }
        ret_sites[count++] = rm_node_at(block, RM_LOAD(&frame->node))->site;
    }
    return count;
}

/* By the clock of its CPU time, which has the number in it. */
static const struct rm_scope_thread_record *record_of(const struct rm_block *block, uint32_t thread)
{
    int64_t clock = rm_thread_cpu_clock_of(thread);
    for (uint64_t i = 0; i < block->header->sizes.threads; i++) {
        const struct rm_scope_thread_record *record = rm_block_record(block, RM_SECTION_THREADS, i);
        uint32_t thread_state = RM_LOAD_ACQUIRE(&record->state);
        if (thread_state == RM_THREAD_LIVE && RM_LOAD(&record->cpu_clock) == clock) {
            return record;
        }
        if (thread_state == RM_THREAD_FREE && RM_LOAD(&record->root) == 0) {
            break; /* never used, nor are those behind it */
        }
    }
    return NULL;
}

uint32_t rm_scope_sites_then(const struct rm_block *block, uint32_t thread, int64_t t_ns,
                             uint32_t *ret_sites, uint32_t room)
{
    const struct rm_block_header *header = block->header;
    const struct rm_scope_thread_record *record =
        header->has_scopes != 0 ? record_of(block, thread) : NULL;
    const struct rm_clock_pair now = rm_clock_read_pair();
    double rate = rm_clock_ns_per_tick(header->start, now);
    uint32_t count = 0;
    while (record != NULL && count < room && count < header->sizes.depth) {
        const struct rm_scope_frame *frame = &record->frames[count + 1];
        uint64_t token = RM_LOAD_ACQUIRE(&frame->token);
        if (token == 0 || (double)(RM_LOAD(&frame->start) - header->start.ticks) * rate >
                              (double)(t_ns - header->start.ns)) {
            break;
        }
        uint32_t site = RM_LOAD(&rm_node_at(block, RM_LOAD(&frame->node))->site);
        __atomic_thread_fence(__ATOMIC_ACQUIRE);
        if (RM_LOAD(&frame->token) != token) {
            break; /* another instance by now */
        }
        ret_sites[count++] = site;
    }
    return count;
}

uint64_t rm_scope_measure_cost(bool keeps_events)
{
    struct rm_scope_node node = {.wall = {{.min = UINT64_MAX}}};
    struct rm_event_ring ring = {0};
    struct rm_event event;
    struct rm_event_writer writer = {.ring = &ring};
    enum { ROUNDS = 64 };
    uint64_t begin = rm_clock_ticks();
    for (int i = 0; i < ROUNDS; i++) {
        uint64_t start = rm_clock_ticks();
        uint64_t ticks = rm_clock_ticks() - start;
        record_wall(&node, ticks, 0);
        if (keeps_events) {
            writer.next = &event;
            rm_events_add(&writer, start, ticks, 0, 0);
        }
    }
    return (rm_clock_ticks() - begin) / ROUNDS;
}
