/* SPDX-License-Identifier: MIT */
/*
 * Owns a scope session: the time during which one monitor has the scopes, with the pools of nodes
 * and threads in its run block.
 *
 * Threads attach at their first scope in a session and hold a reference, so that the memory that
 * they write to outlives a monitor that is freed meanwhile.
 */
#ifndef RM_SCOPE_SESSION_H
#define RM_SCOPE_SESSION_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include <resmon/scope.h>

#include "scope/meter.h"
#include "store/block.h"
#include "store/events.h"
#include "store/scope_tree.h"

struct rm_scope_session {
    uint32_t number;
    struct rm_metering metering;
    struct rm_block block;
    void (*release)(void *context); /* gives the block's memory back, after the last reference */
    void *context;
    int references; /* atomic */
    bool yields;

    /* Guards the members below, and in the block: the links of all nodes, the thread records'
     * states, the retired tree, site records, node_count and the counters of threads and paths. */
    pthread_mutex_t lock;
    bool is_over;
    bool has_rss;           /* it was tried to open `rss`, and done */
    struct rm_kept rss;     /* the process's RSS, for lines */
    rm_node_ref free_nodes; /* chained by `next` */
    uint64_t free_count;
};

/** A thread's part in a session; on the heap, known to its thread only. */
struct rm_scope_thread {
    struct rm_scope_session *session;
    struct rm_scope_thread_record *record; /* NULL: no slot was free; its scopes are counted only */
    struct rm_meter_frame *meter_frames;   /* depth + 1 of them */
    struct rm_event_writer events;
    struct rm_thread_counters counters;
};

/* How a session has the scopes. */
struct rm_session_terms {
    uint64_t meters;
    double max_share;
    bool insists; /* takes them from one that yields */
    bool yields;
    const struct rm_counter_wish *counters; /* with RESMON_METER_PERF; NULL: none */
};

/**
 * Takes the scopes for `block`.  RESMON_EBUSY when another session has them.  On success the
 * session calls `release(context)` once nothing can touch the block any more.
 */
resmon_status rm_session_start(const struct rm_block *block, const struct rm_session_terms *terms,
                               void (*release)(void *context), void *context,
                               struct rm_scope_session **ret_session);

/** Ends it: scopes that are open stay so in the record.  Stopping again is fine. */
void rm_session_stop(struct rm_scope_session *session);

/** Gives the monitor's reference back. */
void rm_session_unref(struct rm_scope_session *session);

/** In the child of a fork: frees what was inherited, whatever threads of the parent held it. */
void rm_session_forget(struct rm_scope_session *session);
void rm_session_forget_thread(struct rm_scope_thread *thread);

/** For readers of the trees. */
void rm_session_lock(struct rm_scope_session *session);
void rm_session_unlock(struct rm_scope_session *session);

/** The session that has the scopes now, with a reference; NULL: none. */
struct rm_scope_session *rm_session_current(void);

/** An end by a thread that has nothing open: counted by the session that has the scopes, if any. */
void rm_session_count_stale_end(void);

/** A slot and a root for this thread; never fails (see rm_scope_thread.record).  NULL: no memory.
 */
struct rm_scope_thread *rm_session_attach(struct rm_scope_session *session);

/** Notes the calling thread's name beside its events, if they are kept. */
void rm_session_name_thread(struct rm_scope_thread *thread);

/** The thread's tree moves to the retired; its reference is given back. */
void rm_session_detach(struct rm_scope_thread *thread);

/** The child of `parent` for a site, made if needed; NULL when there is no room (counted). */
struct rm_scope_node *rm_session_child(struct rm_scope_session *session,
                                       struct rm_scope_node *parent, const resmon_site *site,
                                       uint32_t number);

/** Measures what the end of a scope costs here, in ticks, with two looks at the clock, and with the
 * writing of an event: for the run's account of its overhead. */
uint64_t rm_scope_measure_cost(bool keeps_events);

/** Installs what makes sessions survive fork: once per process. */
void rm_scope_prepare_for_fork(void);

/** How many forks lie between the process that prepared first and this one: a pid alone does not
 * tell a child from its parent, where each has a pid namespace of its own. */
uint32_t rm_scope_forks(void);

/* Where a thread is between two checkpoints of lines. */
struct rm_line_place {
    struct rm_scope_session *session;
    struct rm_line_mark *mark; /* of that scope, or of the thread outside of any */
    uint64_t token;            /* of the scope's instance */
    uint64_t start;            /* of it, in ticks; 0: outside of any */
};

/** Where this thread is: in the outermost of the scopes around that one function opened, the
 * function of the innermost one.  False when nothing is measured. */
bool rm_scope_line_place(struct rm_line_place *ret_place);

/**
 * The same of another thread, by its number: the scopes that were open at `t_ns` (CLOCK_MONOTONIC)
 * and are so still; scopes that ended since then are not among them.
 */
uint32_t rm_scope_sites_then(const struct rm_block *block, uint32_t thread, int64_t t_ns,
                             uint32_t *ret_sites, uint32_t room);

/** The sites of the scopes that this thread has open in the session of `block`, from the outermost;
 * how many.  Async-signal-safe. */
uint32_t rm_scope_open_sites(const struct rm_block *block, uint32_t *ret_sites, uint32_t room);

/** In the child of a fork: forgets this thread's part without touching the parent's block. */
void rm_scope_forget_thread(void);

#endif
