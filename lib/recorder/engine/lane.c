/* SPDX-License-Identifier: MIT */
#include "engine/lane.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/compiler.h"
#include "base/ring.h"
#include "base/status.h"
#include "base/text.h"
#include "base/thread.h"
#include "run/run.h"
#include "scope/peak.h"
#include "store/run_records.h"

/* Time that the queue covers while a sink is busy, within bounds. */
#define QUEUE_NS      (10 * RM_NS_PER_S)
#define QUEUE_LEAST   128
#define QUEUE_LARGEST 1024

/* Early, so that write errors are reported soon, and short runs have a snapshot. */
#define FIRST_SNAPSHOT_MS 1000

enum record_kind { RECORD_ROW, RECORD_TAG };

struct record {
    int64_t t_ns;
    enum record_kind kind;
    /* followed by the values of a row, or the label of a tag */
    double values[];
};

struct lane_sink {
    resmon_sink_ops ops;
    void *context;
    int64_t next_snapshot_ns;
    bool is_own; /* one of the library's sinks */
    bool wants_draft;
    uint64_t snapshot_parts;
    bool is_off;           /* atomic: its start failed, or a call did not return */
    bool is_ended;         /* guarded by the lane's lock: its end was called */
    resmon_sink_info info; /* guarded by the lane's lock; is_off is not used */
};

struct rm_lane {
    int references; /* atomic: the monitor and the thread */
    const char *thread_name;
    struct lane_sink sinks[RM_MAX_SINKS];
    size_t sink_count;
    struct rm_ring ring; /* from the sampling thread */
    struct rm_lane_terms terms;
    struct rm_condition wake; /* signaled for each row, and to stop */
    pthread_t thread;
    bool has_thread;
    bool wants_records;    /* a sink wants rows or tags */
    bool is_stopping;      /* atomic: set before the last wake */
    int64_t deadline_ns;   /* atomic */
    uint64_t cpu_ns;       /* atomic: of the thread */
    resmon_run *final_run; /* before is_stopping */
    resmon_run *draft;     /* atomic: taken over by the thread */

    pthread_mutex_t lock; /* guards the members below, and the sinks' info */
    struct rm_condition ended;
    bool is_done;
    bool is_drafted;
    struct lane_sink *current; /* the sink that is being called */
    resmon_status end_status;  /* of the first sink that failed in stop or flush */
    char end_text[RM_ERROR_TEXT_BYTES];

    /* held while a snapshot is made, during which the monitor exists */
    pthread_mutex_t capture_lock;
};

/* The lane of this thread, also if it was abandoned, or has not been assigned by its starter yet.
 */
static RM_THREAD_LOCAL struct rm_lane *own_lane;

/* ---- life ------------------------------------------------------------------------------- */

struct rm_lane *rm_lane_new(const char *thread_name)
{
    struct rm_lane *lane = rm_alloc(1, sizeof *lane);
    if (lane == NULL) {
        return NULL;
    }
    lane->references = 1;
    lane->thread_name = thread_name;
    lane->deadline_ns = RM_DEADLINE_NONE;
    (void)pthread_mutex_init(&lane->lock, NULL);
    (void)pthread_mutex_init(&lane->capture_lock, NULL);
    return lane;
}

static void free_memory(struct rm_lane *lane)
{
    rm_ring_free(&lane->ring);
    rm_run_free(lane->terms.columns);
    rm_run_free(lane->final_run);
    rm_run_free(lane->draft);
    rm_free(lane);
}

static void lane_unref(struct rm_lane *lane)
{
    if (__atomic_sub_fetch(&lane->references, 1, __ATOMIC_ACQ_REL) > 0) {
        return;
    }
    for (size_t i = 0; i < lane->sink_count; i++) {
        if (lane->sinks[i].ops.close != NULL) {
            lane->sinks[i].ops.close(lane->sinks[i].context);
        }
    }
    (void)pthread_mutex_destroy(&lane->lock);
    (void)pthread_mutex_destroy(&lane->capture_lock);
    free_memory(lane);
}

void rm_lane_free(struct rm_lane *lane)
{
    if (lane != NULL) {
        lane_unref(lane);
    }
}

void rm_lane_forget(struct rm_lane *lane)
{
    if (lane != NULL) {
        free_memory(lane);
    }
}

size_t rm_lane_add(struct rm_lane *lane, const resmon_sink_ops *ops, void *context)
{
    struct lane_sink *sink = &lane->sinks[lane->sink_count];
    *sink = (struct lane_sink){.ops = *ops, .context = context};
    sink->ops.parts = ops->parts != 0 ? ops->parts : RESMON_PART_ALL;
    sink->snapshot_parts = sink->ops.parts;
    (void)rm_text_set(sink->info.name, sizeof sink->info.name,
                      ops->name != NULL ? ops->name : "callback");
    lane->wants_records = lane->wants_records || ops->rows != NULL || ops->tag != NULL;
    return lane->sink_count++;
}

void rm_lane_own(struct rm_lane *lane, size_t index, const struct rm_own_sink *own)
{
    struct lane_sink *sink = &lane->sinks[index];
    sink->is_own = true;
    sink->wants_draft = own->wants_draft;
    sink->snapshot_parts = own->snapshot_parts != 0 ? own->snapshot_parts : sink->ops.parts;
}

/* ---- calling sinks ---------------------------------------------------------------------- */

/* A call of a sink, and its account. */
struct call {
    struct rm_lane *lane;
    struct lane_sink *sink;
    const char *what;
    int64_t begin_ns;
};

static struct call call_begin(struct rm_lane *lane, struct lane_sink *sink, const char *what)
{
    (void)pthread_mutex_lock(&lane->lock);
    lane->current = sink;
    (void)pthread_mutex_unlock(&lane->lock);
    return (struct call){lane, sink, what, rm_clock_monotonic_ns()};
}

/* A failure is logged if it differs from the last one. */
static void call_end(const struct call *call, resmon_status status)
{
    resmon_sink_info *info = &call->sink->info;
    uint64_t took_ns = (uint64_t)(rm_clock_monotonic_ns() - call->begin_ns);
    const char *text = status < RESMON_OK ? resmon_last_error() : "";
    (void)pthread_mutex_lock(&call->lane->lock);
    bool is_news = status < RESMON_OK && info->status != status;
    call->lane->current = NULL;
    info->calls++;
    info->busy_ns += took_ns;
    info->longest_ns = took_ns > info->longest_ns ? took_ns : info->longest_ns;
    if (status < RESMON_OK) {
        info->failures++;
        info->status = status;
        (void)rm_text_set(info->reason, sizeof info->reason, text);
    }
    (void)pthread_mutex_unlock(&call->lane->lock);
    if (is_news) {
        rm_log(RESMON_LOG_WARNING, "sink %s: %s failed with %s: %s", info->name, call->what,
               resmon_status_name(status), text);
    }
}

static bool is_on(const struct lane_sink *sink)
{
    return !RM_LOAD(&sink->is_off);
}

/* The status of the lane's stop is that of the first failure at the end. */
static void note_end(struct rm_lane *lane, struct lane_sink *sink, resmon_status status)
{
    if (status >= RESMON_OK) {
        return;
    }
    (void)pthread_mutex_lock(&lane->lock);
    sink->info.end_status = status;
    if (lane->end_status == RESMON_OK) {
        lane->end_status = status;
        (void)snprintf(lane->end_text, sizeof lane->end_text, "sink %s: %s", sink->info.name,
                       resmon_last_error());
    }
    (void)pthread_mutex_unlock(&lane->lock);
}

static void call_start(struct rm_lane *lane)
{
    for (size_t i = 0; i < lane->sink_count; i++) {
        struct lane_sink *sink = &lane->sinks[i];
        if (sink->ops.start == NULL) {
            continue;
        }
        struct call call = call_begin(lane, sink, "start");
        resmon_status status = sink->ops.start(sink->context, lane->terms.columns);
        call_end(&call, status);
        if (status < RESMON_OK) {
            RM_STORE(&sink->is_off, true);
            note_end(lane, sink, status);
        }
    }
}

static void call_record(struct rm_lane *lane, const struct record *record)
{
    resmon_rows rows = {
        .struct_size = sizeof rows,
        .run = lane->terms.columns,
        .row_count = 1,
        .column_count = lane->terms.column_count,
        .t_ns = &record->t_ns,
        .values = record->values,
        .dropped_rows = RM_LOAD(&lane->ring.dropped),
    };
    for (size_t i = 0; i < lane->sink_count; i++) {
        struct lane_sink *sink = &lane->sinks[i];
        if (!is_on(sink)) {
            continue;
        }
        if (record->kind == RECORD_TAG && sink->ops.tag != NULL) {
            struct call call = call_begin(lane, sink, "tag");
            call_end(&call,
                     sink->ops.tag(sink->context, record->t_ns, (const char *)record->values));
        }
        if (record->kind == RECORD_ROW && sink->ops.rows != NULL) {
            struct call call = call_begin(lane, sink, "rows");
            call_end(&call, sink->ops.rows(sink->context, &rows));
        }
    }
}

static void end_sink(struct rm_lane *lane, struct lane_sink *sink)
{
    if (is_on(sink) && sink->ops.stop != NULL) {
        struct call call = call_begin(lane, sink, "stop");
        resmon_status status =
            lane->final_run != NULL
                ? sink->ops.stop(sink->context, lane->final_run)
                : rm_error(RESMON_ENOMEM, "there is no finished run to deliver to it");
        call_end(&call, status);
        note_end(lane, sink, status);
    }
    if (is_on(sink) && sink->ops.flush != NULL) {
        struct call call = call_begin(lane, sink, "flush");
        resmon_status status = sink->ops.flush(sink->context);
        call_end(&call, status);
        note_end(lane, sink, status);
    }
    (void)pthread_mutex_lock(&lane->lock);
    sink->is_ended = true;
    (void)pthread_mutex_unlock(&lane->lock);
}

/* ---- snapshots -------------------------------------------------------------------------- */

static bool wants_snapshots(const struct lane_sink *sink)
{
    return is_on(sink) && sink->ops.snapshot != NULL && sink->ops.snapshot_interval_ms > 0;
}

static bool is_due(const struct lane_sink *sink, int64_t now_ns)
{
    return wants_snapshots(sink) && sink->next_snapshot_ns <= now_ns;
}

static int64_t next_snapshot_ns(const struct rm_lane *lane)
{
    int64_t next_ns = INT64_MAX;
    for (size_t i = 0; i < lane->sink_count; i++) {
        if (wants_snapshots(&lane->sinks[i]) && lane->sinks[i].next_snapshot_ns < next_ns) {
            next_ns = lane->sinks[i].next_snapshot_ns;
        }
    }
    return next_ns;
}

static void schedule_snapshot(struct lane_sink *sink, int64_t now_ns, uint64_t ms)
{
    int64_t most_ms = INT64_MAX / 4 / RM_NS_PER_MS;
    sink->next_snapshot_ns =
        now_ns + (ms < (uint64_t)most_ms ? (int64_t)ms : most_ms) * RM_NS_PER_MS;
}

/* NULL: the lane is stopping, and the monitor may be freed; or out of memory. */
static resmon_run *capture(struct rm_lane *lane, uint64_t parts)
{
    resmon_run *run = NULL;
    (void)pthread_mutex_lock(&lane->capture_lock);
    if (!RM_LOAD(&lane->is_stopping) &&
        lane->terms.capture(lane->terms.context, (unsigned)parts, &run) != RESMON_OK) {
        run = NULL;
    }
    (void)pthread_mutex_unlock(&lane->capture_lock);
    return run;
}

void rm_lane_note(const char *key, const char *value)
{
    struct rm_lane *lane = own_lane;
    if (lane == NULL) {
        return;
    }
    (void)pthread_mutex_lock(&lane->capture_lock);
    if (!RM_LOAD(&lane->is_stopping) && lane->terms.note != NULL) {
        lane->terms.note(lane->terms.context, key, value);
    }
    (void)pthread_mutex_unlock(&lane->capture_lock);
}

/* Reports the growth of RSS by work that begins here. */
static void note_rise(struct rm_lane *lane, struct rm_peak_work *work)
{
    uint64_t bytes = 0;
    bool is_known = rm_peak_work_end(work, &bytes);
    (void)pthread_mutex_lock(&lane->capture_lock);
    if (is_known && lane->terms.note_rise != NULL && !RM_LOAD(&lane->is_stopping)) {
        lane->terms.note_rise(lane->terms.context, bytes);
    }
    (void)pthread_mutex_unlock(&lane->capture_lock);
}

/* One capture for all sinks whose snapshots are due. */
static void show_snapshots(struct rm_lane *lane, int64_t now_ns)
{
    uint64_t parts = 0;
    for (size_t i = 0; i < lane->sink_count; i++) {
        parts |= is_due(&lane->sinks[i], now_ns) ? lane->sinks[i].snapshot_parts : 0;
    }
    resmon_run *run = capture(lane, parts);
    for (size_t i = 0; i < lane->sink_count; i++) {
        struct lane_sink *sink = &lane->sinks[i];
        if (!is_due(sink, now_ns)) {
            continue;
        }
        if (run != NULL) {
            struct call call = call_begin(lane, sink, "snapshot");
            call_end(&call, sink->ops.snapshot(sink->context, run));
        }
        schedule_snapshot(sink, rm_clock_monotonic_ns(), sink->ops.snapshot_interval_ms);
    }
    rm_run_free(run);
}

static void call_snapshots(struct rm_lane *lane)
{
    struct rm_peak_work work;
    int64_t now_ns = rm_clock_monotonic_ns();
    if (next_snapshot_ns(lane) > now_ns) {
        return;
    }
    rm_peak_work_begin(&work);
    show_snapshots(lane, now_ns);
    note_rise(lane, &work);
}

static void call_draft(struct rm_lane *lane)
{
    resmon_run *run = __atomic_exchange_n(&lane->draft, NULL, __ATOMIC_ACQ_REL);
    if (run == NULL) {
        return;
    }
    for (size_t i = 0; i < lane->sink_count; i++) {
        struct lane_sink *sink = &lane->sinks[i];
        if (is_on(sink) && sink->wants_draft && sink->ops.snapshot != NULL) {
            struct call call = call_begin(lane, sink, "snapshot");
            call_end(&call, sink->ops.snapshot(sink->context, run));
        }
    }
    rm_run_free(run);
    (void)pthread_mutex_lock(&lane->lock);
    lane->is_drafted = true;
    rm_condition_signal(&lane->ended);
    (void)pthread_mutex_unlock(&lane->lock);
}

/* ---- the thread ------------------------------------------------------------------------- */

static void wait_for_work(struct rm_lane *lane)
{
    uint32_t mark = rm_condition_mark(&lane->wake);
    if (rm_ring_peek(&lane->ring) == NULL &&
        __atomic_load_n(&lane->draft, __ATOMIC_ACQUIRE) == NULL &&
        !__atomic_load_n(&lane->is_stopping, __ATOMIC_ACQUIRE)) {
        rm_condition_wait_past(&lane->wake, mark, next_snapshot_ns(lane));
    }
}

/* Delivers until the queue is empty.  Due snapshots come in between, since a sink slower than the
 * samples never empties the queue. */
static void deliver_queue(struct rm_lane *lane, bool is_stopping)
{
    const struct record *record;
    while ((record = rm_ring_peek(&lane->ring)) != NULL) {
        call_record(lane, record);
        rm_ring_release(&lane->ring);
        if (!is_stopping && rm_clock_monotonic_ns() >= next_snapshot_ns(lane)) {
            return;
        }
    }
}

static void *run_thread(void *context)
{
    struct rm_lane *lane = context;
    bool is_stopping = false;
    own_lane = lane;
    rm_deadline_follow(&lane->deadline_ns);
    call_start(lane);
    for (size_t i = 0; i < lane->sink_count; i++) {
        uint64_t ms = lane->sinks[i].ops.snapshot_interval_ms;
        schedule_snapshot(&lane->sinks[i], rm_clock_monotonic_ns(),
                          ms < FIRST_SNAPSHOT_MS ? ms : FIRST_SNAPSHOT_MS);
    }
    while (!is_stopping) {
        wait_for_work(lane);
        /* Read before the queue is emptied, so that entries queued before the stop are delivered.
         */
        is_stopping = __atomic_load_n(&lane->is_stopping, __ATOMIC_ACQUIRE);
        deliver_queue(lane, is_stopping);
        if (!is_stopping) {
            call_draft(lane);
            call_snapshots(lane);
        }
        RM_STORE(&lane->cpu_ns, (uint64_t)rm_clock_cpu_ns(CLOCK_THREAD_CPUTIME_ID));
    }
    for (size_t i = 0; i < lane->sink_count; i++) {
        end_sink(lane, &lane->sinks[i]);
    }
    rm_deadline_follow(NULL);
    (void)pthread_mutex_lock(&lane->lock);
    lane->is_done = true;
    rm_condition_signal(&lane->ended);
    (void)pthread_mutex_unlock(&lane->lock);
    lane_unref(lane);
    return NULL;
}

static size_t queue_records(int64_t interval_ns)
{
    int64_t records = interval_ns > 0 ? QUEUE_NS / interval_ns : QUEUE_LARGEST;
    records = records > QUEUE_LEAST ? records : QUEUE_LEAST;
    return (size_t)(records < QUEUE_LARGEST ? records : QUEUE_LARGEST);
}

/* Callbacks of the program may need as much stack as its own threads have. */
static enum rm_thread_stack stack_of(const struct rm_lane *lane)
{
    bool are_own = true;
    for (size_t i = 0; i < lane->sink_count; i++) {
        are_own = are_own && lane->sinks[i].is_own;
    }
    return are_own ? RM_STACK_LIBRARIES : RM_STACK_OF_PROGRAM;
}

resmon_status rm_lane_start(struct rm_lane *lane, const struct rm_lane_terms *terms)
{
    size_t payload = terms->column_count * sizeof(double);
    payload = payload > RM_TAG_LABEL_BYTES ? payload : RM_TAG_LABEL_BYTES;
    if (lane->wants_records) {
        resmon_status status = rm_ring_init(&lane->ring, sizeof(struct record) + payload,
                                            queue_records(terms->interval_ns));
        if (status != RESMON_OK) {
            return status;
        }
    }
    lane->terms = *terms;
    (void)rm_run_ref(lane->terms.columns);
    (void)__atomic_add_fetch(&lane->references, 1, __ATOMIC_RELAXED);
    const struct rm_thread_work work = {lane->thread_name, stack_of(lane), run_thread, lane};
    resmon_status status = rm_thread_start(&lane->thread, &work);
    if (status != RESMON_OK) {
        (void)__atomic_sub_fetch(&lane->references, 1, __ATOMIC_RELAXED);
        return status;
    }
    lane->has_thread = true;
    return RESMON_OK;
}

/* ---- from other threads ----------------------------------------------------------------- */

bool rm_lane_wants_rows(const struct rm_lane *lane)
{
    return lane->wants_records;
}

void rm_lane_row(struct rm_lane *lane, int64_t t_ns, const double *values)
{
    if (lane->wants_records) {
        struct record *record = rm_ring_reserve(&lane->ring);
        if (record != NULL) {
            record->t_ns = t_ns;
            record->kind = RECORD_ROW;
            memcpy(record->values, values, lane->terms.column_count * sizeof *values);
            rm_ring_commit(&lane->ring);
        }
        rm_condition_signal(&lane->wake);
    }
}

void rm_lane_tag(struct rm_lane *lane, int64_t t_ns, const char *label)
{
    struct record *record = lane->wants_records ? rm_ring_reserve(&lane->ring) : NULL;
    if (record != NULL) {
        record->t_ns = t_ns;
        record->kind = RECORD_TAG;
        (void)rm_text_set((char *)record->values, RM_TAG_LABEL_BYTES, label);
        rm_ring_commit(&lane->ring);
    }
}

uint64_t rm_lane_cpu_ns(const struct rm_lane *lane)
{
    return RM_LOAD(&lane->cpu_ns);
}

uint64_t rm_lane_dropped(const struct rm_lane *lane)
{
    return RM_LOAD(&lane->ring.dropped);
}

bool rm_lane_is_this_thread(const struct rm_lane *lane)
{
    return lane == own_lane;
}

void rm_lane_get(struct rm_lane *lane, size_t index, resmon_sink_info *ret_info)
{
    (void)pthread_mutex_lock(&lane->lock);
    *ret_info = lane->sinks[index].info;
    ret_info->is_off = is_on(&lane->sinks[index]) ? 0 : 1;
    (void)pthread_mutex_unlock(&lane->lock);
}

uint64_t rm_lane_parts(const struct rm_lane *lane)
{
    uint64_t parts = 0;
    for (size_t i = 0; i < lane->sink_count; i++) {
        parts |= lane->sinks[i].ops.stop != NULL ? lane->sinks[i].ops.parts : 0;
    }
    return parts;
}

uint64_t rm_lane_draft_parts(const struct rm_lane *lane)
{
    uint64_t parts = 0;
    for (size_t i = 0; i < lane->sink_count && lane->has_thread; i++) {
        const struct lane_sink *sink = &lane->sinks[i];
        parts |= sink->wants_draft && is_on(sink) ? sink->ops.parts : 0;
    }
    return parts;
}

void rm_lane_draft(struct rm_lane *lane, resmon_run *run, int64_t until_ns)
{
    __atomic_store_n(&lane->draft, rm_run_ref(run), __ATOMIC_RELEASE);
    rm_condition_signal(&lane->wake);
    (void)pthread_mutex_lock(&lane->lock);
    while (!lane->is_drafted && rm_condition_wait(&lane->ended, &lane->lock, until_ns)) {
    }
    (void)pthread_mutex_unlock(&lane->lock);
}

void rm_lane_finish(struct rm_lane *lane, resmon_run *run, int64_t deadline_ns)
{
    if (!lane->has_thread) {
        return;
    }
    __atomic_store_n(&lane->deadline_ns, deadline_ns, __ATOMIC_RELAXED);
    lane->final_run = rm_run_ref(run);
    /* While the lock is held, no capture runs.  After is_stopping is set, no capture begins. */
    (void)pthread_mutex_lock(&lane->capture_lock);
    __atomic_store_n(&lane->is_stopping, true, __ATOMIC_RELEASE);
    (void)pthread_mutex_unlock(&lane->capture_lock);
    rm_condition_signal(&lane->wake);
}

/* Called with the lock held. */
static void note_late(struct lane_sink *sink, const char *why)
{
    sink->info.status = RESMON_ETIMEDOUT;
    sink->info.end_status = RESMON_ETIMEDOUT;
    (void)rm_text_set(sink->info.reason, sizeof sink->info.reason, why);
}

/* Called with the lock held.  The other sinks are called after the current one returns, but the
 * monitor does not wait for these calls. */
static void leave_behind(struct rm_lane *lane)
{
    lane->end_status = RESMON_ETIMEDOUT;
    const char *name = lane->current != NULL ? lane->current->info.name : "?";
    (void)snprintf(lane->end_text, sizeof lane->end_text,
                   "sink %s did not return in time; the run ended without it", name);
    for (size_t i = 0; i < lane->sink_count; i++) {
        struct lane_sink *sink = &lane->sinks[i];
        if (sink == lane->current) {
            RM_STORE(&sink->is_off, true);
            note_late(sink, lane->end_text);
        } else if (!sink->is_ended && is_on(sink)) {
            char why[RM_ERROR_TEXT_BYTES];
            (void)snprintf(why, sizeof why,
                           "it was not ended: it waits for sink %s, which did not return", name);
            note_late(sink, why);
        }
    }
}

resmon_status rm_lane_wait(struct rm_lane *lane, int64_t until_ns)
{
    if (!lane->has_thread) {
        return RESMON_OK;
    }
    (void)pthread_mutex_lock(&lane->lock);
    while (!lane->is_done && rm_condition_wait(&lane->ended, &lane->lock, until_ns)) {
    }
    bool is_done = lane->is_done;
    if (!is_done) {
        leave_behind(lane);
    }
    resmon_status status = lane->end_status;
    status = status < RESMON_OK ? rm_error(status, "%s", lane->end_text) : RESMON_OK;
    (void)pthread_mutex_unlock(&lane->lock);
    lane->has_thread = false;
    if (is_done) {
        (void)pthread_join(lane->thread, NULL);
    } else {
        (void)pthread_detach(lane->thread);
    }
    return status;
}
