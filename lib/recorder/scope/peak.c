/* SPDX-License-Identifier: MIT */
#include "scope/peak.h"

#include <pthread.h>
#include <stddef.h>

#include "base/compiler.h"
#include "base/fork.h"
#include "os/own_usage.h"

uint64_t rm_peak_folded; /* written under the lock, read by the sampler without it */

/* Guards everything below. */
static struct rm_fork_lock lock = RM_FORK_LOCK_INITIALIZER;
static struct rm_peak_watch watches = {&watches, &watches, 0}; /* ring of the open watches */
static struct rm_rss_mark mark;
static bool is_open;
static bool is_shared;   /* atomic: another owner resets the mark as well */
static uint64_t resets;  /* atomic: number of our resets */
static uint64_t sampled; /* highest RSS sampled since the last reset */

static void open_locked(void)
{
    if (!is_open) {
        uint64_t peak;
        rm_rss_mark_open(&mark, &peak);
        RM_STORE(&rm_peak_folded, peak);
        is_open = true;
    }
}

/* ---- fork ------------------------------------------------------------------------------- */

static void before_fork(void)
{
    rm_fork_lock_hold(&lock);
}

static void after_fork_parent(void)
{
    rm_fork_lock_release(&lock);
}

/* Ending one of them later is a no-op. */
static void drop_watches(void)
{
    struct rm_peak_watch *watch = watches.next;
    while (watch != &watches) {
        struct rm_peak_watch *next = watch->next;
        watch->next = NULL;
        watch = next;
    }
    watches.next = &watches;
    watches.previous = &watches;
}

/* The child's inherited descriptor must not reset the parent's mark. */
static void after_fork_child(void)
{
    sampled = 0;
    is_shared = false;
    if (is_open) {
        rm_rss_mark_close(&mark); /* an inherited descriptor resets the parent's mark */
        is_open = false;
    }
    RM_STORE(&rm_peak_folded, 0);
    if (rm_fork_lock_renew(&lock)) {
        drop_watches();
    }
}

static void lock_watches(void)
{
    static const struct rm_fork_part at_fork = {before_fork, after_fork_parent, after_fork_child};
    rm_fork_take_part(RM_FORK_PEAK, &at_fork);
    rm_fork_lock(&lock);
}

/* ---- watches ---------------------------------------------------------------------------- */

/* File reads and writes are cancellation points: a cancelled thread would keep the lock, and all
 * others would block forever. */
static int lock_against_cancel(void)
{
    int state;
    (void)pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
    lock_watches();
    return state;
}

static void unlock_again(int cancel_state)
{
    rm_fork_unlock(&lock);
    (void)pthread_setcancelstate(cancel_state, NULL);
}

void rm_peak_open(void)
{
    int cancel_state = lock_against_cancel();
    open_locked();
    unlock_again(cancel_state);
}

bool rm_peak_is_exact(void)
{
    return RM_LOAD(&mark.reading) != RM_MARK_NONE && !RM_LOAD(&is_shared);
}

const char *rm_peak_method(void)
{
    return RM_LOAD(&mark.reading) == RM_MARK_EXACT
               ? "reset by clear_refs, read by getrusage or as VmHWM"
               : mark.why_not;
}

static void fold(uint64_t peak)
{
    for (struct rm_peak_watch *watch = watches.next; watch != &watches; watch = watch->next) {
        watch->peak = watch->peak > peak ? watch->peak : peak;
    }
    if (peak > RM_LOAD(&rm_peak_folded)) {
        RM_STORE(&rm_peak_folded, peak);
    }
}

/* Both values are sums over CPUs that are updated in batches. */
#define SLACK_BYTES ((uint64_t)16 << 20)

/* A mark below an RSS sampled since our last reset was reset by another owner. */
static uint64_t read_mark(void)
{
    uint64_t peak = rm_rss_mark_read(&mark);
    if (mark.reading == RM_MARK_EXACT && sampled > peak + SLACK_BYTES) {
        RM_STORE(&is_shared, true);
        fold(sampled);
    }
    return peak;
}

static void reset_mark(void)
{
    rm_rss_mark_reset(&mark);
    RM_STORE(&resets, resets + 1);
    sampled = 0;
}

static void unlink_watch(struct rm_peak_watch *watch)
{
    watch->next->previous = watch->previous;
    watch->previous->next = watch->next;
    watch->next = NULL;
}

static void link_watch(struct rm_peak_watch *watch)
{
    watch->next = watches.next;
    watch->previous = &watches;
    watches.next->previous = watch;
    watches.next = watch;
}

void rm_peak_begin(struct rm_peak_watch *watch)
{
    int cancel_state = lock_against_cancel();
    open_locked();
    fold(read_mark());
    reset_mark();
    /* Without a reset, the current RSS is read, and counts. */
    watch->peak = mark.reading == RM_MARK_NONE ? rm_rss_mark_read(&mark) : 0;
    link_watch(watch);
    unlock_again(cancel_state);
}

uint64_t rm_peak_end(struct rm_peak_watch *watch)
{
    int cancel_state = lock_against_cancel();
    uint64_t peak = 0;
    if (watch->next != NULL) { /* else it was begun before a fork */
        fold(read_mark());
        unlink_watch(watch);
        peak = watch->peak;
    }
    unlock_again(cancel_state);
    return peak;
}

uint64_t rm_peak_lap(struct rm_peak_watch *watch, uint64_t *ret_rss)
{
    int cancel_state = lock_against_cancel();
    uint64_t peak = 0;
    if (watch->next != NULL) {
        fold(read_mark());
        peak = watch->peak;
        reset_mark();
    }
    *ret_rss = rm_rss_mark_rss(&mark);
    watch->peak = mark.reading == RM_MARK_NONE ? *ret_rss : 0;
    unlock_again(cancel_state);
    return peak;
}

/* The lifetime peak of the process, including times before resets. */
static uint64_t life_peak(void)
{
    uint64_t peak = rm_rss_mark_life();
    uint64_t folded = RM_LOAD(&rm_peak_folded);
    return peak > folded ? peak : folded;
}

void rm_peak_work_begin(struct rm_peak_work *work)
{
    int cancel_state = lock_against_cancel();
    *work = (struct rm_peak_work){.is_watched = is_open && mark.reading == RM_MARK_EXACT &&
                                                watches.next != &watches};
    if (work->is_watched) { /* open watches reset the mark anyway */
        fold(read_mark());
        reset_mark();
        link_watch(&work->watch);
        work->before = rm_rss_mark_rss(&mark);
    } else {
        work->before = life_peak();
    }
    unlock_again(cancel_state);
}

bool rm_peak_work_end(struct rm_peak_work *work, uint64_t *ret_bytes)
{
    int cancel_state = lock_against_cancel();
    uint64_t after = 0;
    if (!work->is_watched) {
        after = life_peak();
    } else if (work->watch.next != NULL) { /* else it was begun before a fork */
        fold(read_mark());
        unlink_watch(&work->watch);
        after = work->watch.peak;
    }
    unlock_again(cancel_state);
    *ret_bytes = after > work->before ? after - work->before : 0;
    return work->before > 0 && after > 0;
}

void rm_peak_abandon(struct rm_peak_watch *watch)
{
    lock_watches();
    if (watch->next != NULL) {
        unlink_watch(watch);
    }
    rm_fork_unlock(&lock);
}

uint64_t rm_peak_resets(void)
{
    return RM_LOAD(&resets);
}

void rm_peak_observe(uint64_t rss_bytes, uint64_t resets_before)
{
    lock_watches();
    if (is_open && resets == resets_before) { /* so every open watch began before the reading */
        sampled = sampled > rss_bytes ? sampled : rss_bytes;
        if (mark.reading == RM_MARK_NONE) {
            fold(rss_bytes);
        } else if (watches.next != &watches) {
            (void)read_mark();
        }
    }
    rm_fork_unlock(&lock);
}
