/* SPDX-License-Identifier: MIT */
/*
 * Owns a scope session: the time during which one monitor measures the scopes, with the pools of
 * nodes and threads in its run block.
 *
 * Threads attach at their first scope in a session and hold a reference, so that the memory they
 * write to outlives a monitor that is freed meanwhile.
 *
 * And scopes in the child of a fork, where the parent's monitor does not measure.  At the first
 * scope, the child starts a monitor of its own if a parent command requests that (RESMON_RUN).
 * Otherwise it counts among the children whose scopes are in no run.
 */
#ifndef RM_SCOPE_SESSION_H
#define RM_SCOPE_SESSION_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include <resmon/scope.h>

#include "base/map.h"
#include "scope/meter.h"
#include "scope/site.h"
#include "store/block.h"
#include "store/events.h"
#include "store/scope_tree.h"

/* Index of a tree's nodes by parent, site and kind. */
struct rm_node_index {
    struct rm_map map;
    bool lacks_some; /* incomplete for lack of memory: siblings are searched linearly */
};

struct rm_scope_session {
    uint32_t number;
    struct rm_metering metering;
    struct rm_block block;
    void (*release)(void *context); /* gives the block's memory back, after the last reference */
    void *context;
    int references; /* atomic */
    bool yields;
    uint32_t forked_before; /* rm_forked_lost() at the start */

    /* Guards the members below, and in the block: the links of all nodes, the thread records'
     * states, the retired tree, site records, node_count, the counters of threads and paths, and
     * adding paths of handles. */
    pthread_mutex_t lock;
    bool is_over;
    struct rm_scope_paths paths;
    bool has_rss;           /* opening `rss` was attempted */
    struct rm_kept rss;     /* RSS of the process, for lines */
    rm_node_ref free_nodes; /* linked by `next` */
    uint64_t free_count;
    struct rm_node_index retired;
};

/** A thread's part of a session; on the heap, used by its thread only. */
struct rm_scope_thread {
    struct rm_scope_session *session;
    struct rm_scope_thread_record *record; /* NULL: no free slot; its scopes are counted only */
    struct rm_meter_frame *meter_frames;   /* depth + 1 entries */
    struct rm_event_writer events;
    struct rm_thread_counters counters;
    struct rm_node_index tree; /* index of `record`'s tree */
    uint32_t led_path;         /* cache: the last path resolved, and its node; 0: none */
    rm_node_ref led_node;
};

/* Parameters of a session. */
struct rm_session_terms {
    uint64_t meters;
    double max_share;
    bool insists; /* replaces a session that yields */
    bool yields;
    const struct rm_counter_wish *counters; /* used with RESMON_METER_PERF; NULL: none */
    uint64_t cost_ticks;                    /* cost of a scope: rm_scope_measure_cost() */
};

/**
 * Starts a session for `block`.  RESMON_EBUSY: another session measures.  On success, the
 * session calls `release(context)` when the block is not used any more.
 */
resmon_status rm_session_start(const struct rm_block *block, const struct rm_session_terms *terms,
                               void (*release)(void *context), void *context,
                               struct rm_scope_session **ret_session);

/** Stops the session: open scopes stay open in the record.  May be called again. */
void rm_session_stop(struct rm_scope_session *session);

/** Releases the monitor's reference. */
void rm_session_unref(struct rm_scope_session *session);

/** In the child of a fork: frees what was inherited, regardless of references of the parent's
 * threads. */
void rm_session_forget(struct rm_scope_session *session);
void rm_session_forget_thread(struct rm_scope_thread *thread);

/** Locks the trees for readers; the block gets the number of children that are in no run. */
void rm_session_lock(struct rm_scope_session *session);
void rm_session_unlock(struct rm_scope_session *session);

/** The current session, with a reference; NULL: none. */
struct rm_scope_session *rm_session_current(void);

/** Counts an end by a thread without an open scope, in the current session, if any. */
void rm_session_count_stale_end(void);

/** Attaches this thread: a slot and a root node.  Works without a slot, too
 * (rm_scope_thread.record). NULL: out of memory. */
struct rm_scope_thread *rm_session_attach(struct rm_scope_session *session);

/** Writes the calling thread's name beside its events, if they are kept. */
void rm_session_name_thread(struct rm_scope_thread *thread);

/** Moves the thread's tree to the retired tree, and releases its reference. */
void rm_session_detach(struct rm_scope_thread *thread);

/** The child of `parent` in the thread's tree for a site, created if needed; NULL: no capacity
 * (counted). */
struct rm_scope_node *rm_session_child(struct rm_scope_thread *thread, struct rm_scope_node *parent,
                                       const resmon_site *site, uint32_t number);

/** The child of `parent` of kind RM_NODE_*, created if needed; NULL: no capacity. */
struct rm_scope_node *rm_session_child_of_kind(struct rm_scope_thread *thread,
                                               struct rm_scope_node *parent,
                                               const resmon_site *site, uint32_t number,
                                               uint32_t kind);

/** The node of a path in the thread's tree, created with its ancestors if needed, without calls.
 * 0: the thread's root.  NULL: no capacity (counted). */
struct rm_scope_node *rm_session_follow(struct rm_scope_thread *thread, uint32_t path);

/** The path of a node, for handles; 0: no capacity (counted). */
uint32_t rm_session_path_of(struct rm_scope_session *session, const struct rm_scope_node *node);

/** A handle for a path, 0 for 0; and the path of a handle, 0: none in this session, which is
 * counted like a stale end. */
uint64_t rm_session_handle(const struct rm_scope_session *session, uint32_t path);
uint32_t rm_session_path(struct rm_scope_session *session, uint64_t handle);

/** The parent path of an instance of `site` begun under `path`: if `path` has the same site, its
 * parent, so that the instance is beside it, not inside. */
uint32_t rm_session_path_above(const struct rm_scope_session *session, uint32_t path,
                               uint32_t site);

/* Value of `resmon_scope_session` in such a child until its first scope; no session has this
 * number. */
#define RM_SCOPE_FORKED (UINT32_MAX - 1)

/** Called before scopes are measured: allocates memory shared with future children.  Without it, no
 * child is counted. */
void rm_forked_prepare(void);

/** Number of descendant processes whose scopes are in no run. */
uint32_t rm_forked_lost(void);

/** Sets the function that starts a monitor in a child, called by the thread of its first scope,
 * in at most 128 children.  It returns false if the child has no monitor. */
void rm_forked_start_by(bool (*start)(void));

/** Called at a scope while `resmon_scope_session` is RM_SCOPE_FORKED; afterwards it has another
 * value. */
void rm_forked_come(void);

#endif
