/* SPDX-License-Identifier: MIT */
/*
 * Owns what the library does around a fork of the program: parts that take part are done in one
 * order, whichever came first.  Before the fork in the order below, after it in the parent in the
 * reverse, and in the child in the order below again.  Meanwhile the forking thread has all signals
 * blocked, and other threads that fork wait.
 */
#ifndef RM_BASE_FORK_H
#define RM_BASE_FORK_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

enum rm_fork_place {
    RM_FORK_STACKS,   /* stack/handler.c: no sample is being taken */
    RM_FORK_SESSION,  /* scope/session.c: its lock, and that the child has no session */
    RM_FORK_SITES,    /* scope/site.c: its lock */
    RM_FORK_PEAK,     /* scope/peak.c: its lock; the child needs the open scopes of its thread */
    RM_FORK_COUNTERS, /* scope/thread_counters.c: the child's thread has none */
    RM_FORK_CLOCKS,   /* os/own_usage.c: of processes */
    RM_FORK_SCOPES,   /* scope/scope.c: the child's thread has none open */
    RM_FORK_THREADS,  /* base/thread.c: those that were being started never come */
    RM_FORK_LEADER,   /* job/leader.c: the child leads no host */
    RM_FORK_HTTP,     /* net/http.c: exchanges of other threads are gone */
    RM_FORK_STANDARD, /* os/kept.c: stand-ins for standard files are closed */
    RM_FORK_STORAGE,  /* os/own_usage.c: parts of work of other threads are gone */
    RM_FORK_STDERR,   /* api/autorun.c: the copy is the parent's */
    RM_FORK_PLACES
};

struct rm_fork_part {
    void (*before)(void); /* NULL: nothing is done then */
    void (*in_parent)(void);
    void (*in_child)(void);
};

/** Takes part from now on, once; before a lock is taken that some `before` takes.  Waits for a fork
 * that is under way.  `part` lives on. */
void rm_fork_take_part(enum rm_fork_place place, const struct rm_fork_part *part);

/** Counts forks from now on. */
void rm_fork_watch(void);

/** How many forks lie between the process that watched first and this one: a pid alone does not
 * tell a child from its parent, where each has a pid namespace of its own. */
uint32_t rm_forks(void);

/*
 * A lock that its part holds over a fork, so that what it guards is whole in the child.  A signal
 * handler that forks may have interrupted its own thread while that held it: then it stays held in
 * the parent, and what it guards is left alone in the child.
 */
struct rm_fork_lock {
    pthread_mutex_t mutex;
    bool is_held; /* over the fork that is under way */
};

#define RM_FORK_LOCK_INITIALIZER                       \
    {                                                  \
        PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP, false \
    }

static inline void rm_fork_lock(struct rm_fork_lock *lock)
{
    (void)pthread_mutex_lock(&lock->mutex);
}

static inline void rm_fork_unlock(struct rm_fork_lock *lock)
{
    (void)pthread_mutex_unlock(&lock->mutex);
}

/** For a part's `before`, `in_parent` and `in_child`; the last gives whether what the lock guards
 * is whole. */
void rm_fork_lock_hold(struct rm_fork_lock *lock);
void rm_fork_lock_release(struct rm_fork_lock *lock);
bool rm_fork_lock_renew(struct rm_fork_lock *lock);

#endif
