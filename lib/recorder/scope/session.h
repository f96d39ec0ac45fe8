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

#include "base/map.h"
#include "scope/meter.h"
#include "scope/site.h"
#include "store/block.h"
#include "store/events.h"
#include "store/scope_tree.h"

/* The nodes of a tree by the node above, site and kind. */
struct rm_node_index {
    struct rm_map map;
    bool lacks_some; /* for want of memory: siblings are looked through */
};

struct rm_scope_session {
    uint32_t number;
    struct rm_metering metering;
    struct rm_block block;
    void (*release)(void *context); /* gives the block's memory back, after the last reference */
    void *context;
    int references; /* atomic */
    bool yields;
    uint32_t forked_before; /* rm_forked_lost() when it started */

    /* Guards the members below, and in the block: the links of all nodes, the thread records'
     * states, the retired tree, site records, node_count, the counters of threads and paths, and
     * adding to the paths of handles. */
    pthread_mutex_t lock;
    bool is_over;
    struct rm_scope_paths paths;
    bool has_rss;           /* it was tried to open `rss`, and done */
    struct rm_kept rss;     /* the process's RSS, for lines */
    rm_node_ref free_nodes; /* chained by `next` */
    uint64_t free_count;
    struct rm_node_index retired;
};

/** A thread's part in a session; on the heap, known to its thread only. */
struct rm_scope_thread {
    struct rm_scope_session *session;
    struct rm_scope_thread_record *record; /* NULL: no slot was free; its scopes are counted only */
    struct rm_meter_frame *meter_frames;   /* depth + 1 of them */
    struct rm_event_writer events;
    struct rm_thread_counters counters;
    struct rm_node_index tree; /* of `record` */
    uint32_t led_path;         /* where a handle led last, and its node; 0: nowhere yet */
    rm_node_ref led_node;
};

/* How a session has the scopes. */
struct rm_session_terms {
    uint64_t meters;
    double max_share;
    bool insists; /* takes them from one that yields */
    bool yields;
    const struct rm_counter_wish *counters; /* with RESMON_METER_PERF; NULL: none */
    uint64_t cost_ticks;                    /* of a scope: rm_scope_measure_cost() */
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

/** For readers of the trees: the block says how many children are in no run. */
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

/** The child of `parent` in the thread's tree for a site, made if needed; NULL when there is no
 * room (counted). */
struct rm_scope_node *rm_session_child(struct rm_scope_thread *thread, struct rm_scope_node *parent,
                                       const resmon_site *site, uint32_t number);

/** The child of `parent` that is of kind RM_NODE_*, made if needed; NULL when there is no room. */
struct rm_scope_node *rm_session_child_of_kind(struct rm_scope_thread *thread,
                                               struct rm_scope_node *parent,
                                               const resmon_site *site, uint32_t number,
                                               uint32_t kind);

/** The node of a path in the thread's tree, with those on the way to it, made if needed: none has a
 * call for that.  0: the thread's root.  NULL when there is no room (counted). */
struct rm_scope_node *rm_session_follow(struct rm_scope_thread *thread, uint32_t path);

/** The path of a node, for handles; 0 when there is no room (counted). */
uint32_t rm_session_path_of(struct rm_scope_session *session, const struct rm_scope_node *node);

/** A handle for a path, 0 for 0; and the path of a handle, 0: there is none in this session, which
 * is counted as an end of that kind is. */
uint64_t rm_session_handle(const struct rm_scope_session *session, uint32_t path);
uint32_t rm_session_path(struct rm_scope_session *session, uint64_t handle);

/** The path below which an instance of `site` begun under `path` lies: beside that, not inside,
 * where it has the same site. */
uint32_t rm_session_path_above(const struct rm_scope_session *session, uint32_t path,
                               uint32_t site);

/* As `resmon_scope_session` in such a child until its first scope: no session has this number. */
#define RM_SCOPE_FORKED (UINT32_MAX - 1)

/** Before scopes are measured: memory that this process shares with children that come.  Without
 * it, none of them is counted. */
void rm_forked_prepare(void);

/** How many children, and children of these, had scopes that are in no run. */
uint32_t rm_forked_lost(void);

/** Who starts a monitor in a child, from the thread that has its first scope: at most in 128 of
 * them.  False: there is none. */
void rm_forked_start_by(bool (*start)(void));

/** At a scope while `resmon_scope_session` is RM_SCOPE_FORKED: it is another number then. */
void rm_forked_come(void);

#endif
