/* SPDX-License-Identifier: MIT */
/*
 * Owns the library's work around a fork of the program.  The parts of the library are called in a
 * fixed order, independent of the order of their registration.  Before the fork and in the child,
 * the order is the one below; in the parent, it is the reverse.  Meanwhile the forking thread
 * blocks all signals, and other forking threads wait.
 */
#ifndef RM_BASE_FORK_H
#define RM_BASE_FORK_H

#include <stdbool.h>
#include <stdint.h>

#include "base/lock.h"

enum rm_fork_place {
    RM_FORK_STACKS,   /* stack/handler.c: no sample is being taken */
    RM_FORK_SESSION,  /* scope/session.c: its lock; the child has no session */
    RM_FORK_SITES,    /* scope/site.c: its lock */
    RM_FORK_SOURCES,  /* stack/named_sources.c: its lock */
    RM_FORK_PEAK,     /* scope/peak.c: its lock; the child needs the open scopes of its thread */
    RM_FORK_COUNTERS, /* scope/thread_counters.c: the child's thread has none */
    RM_FORK_CLOCKS,   /* os/own_usage.c: clocks of processes */
    RM_FORK_SCOPES,   /* scope/scope.c: the child's thread has none open */
    RM_FORK_THREADS,  /* base/thread.c: threads being started do not exist in the child */
    RM_FORK_LEADER,   /* job/leader.c: the child leads no host */
    RM_FORK_HTTP,     /* net/http.c: the child has no exchanges of other threads */
    RM_FORK_STANDARD, /* os/kept.c: stand-ins for standard files are closed */
    RM_FORK_STORAGE,  /* os/own_usage.c: the child has no storage work of other threads */
    RM_FORK_STDERR,   /* api/autorun.c: the copy belongs to the parent */
    RM_FORK_PLACES
};

struct rm_fork_part {
    void (*before)(void); /* NULL: not called */
    void (*in_parent)(void);
    void (*in_child)(void);
};

/** Registers a part, once.  Call it before taking a lock that some `before` takes.  Waits for a
 * fork in progress.  `part` must stay valid. */
void rm_fork_take_part(enum rm_fork_place place, const struct rm_fork_part *part);

/** Counts forks from now on. */
void rm_fork_watch(void);

/** The number of forks between the process that called rm_fork_watch() first and this process.  A
 * pid does not distinguish a child from its parent if each has its own pid namespace. */
uint32_t rm_forks(void);

/*
 * A lock that its part holds during a fork, so that the guarded data is complete in the child.  A
 * signal handler may fork while its interrupted thread holds the lock.  Then the lock stays held in
 * the parent, and the child does not use the guarded data.
 */
struct rm_fork_lock {
    struct rm_lock lock;
    bool is_held; /* during the fork in progress */
};

#define RM_FORK_LOCK_INITIALIZER   \
    {                              \
        RM_LOCK_INITIALIZER, false \
    }

static inline void rm_fork_lock(struct rm_fork_lock *lock)
{
    (void)rm_lock_take(&lock->lock);
}

static inline void rm_fork_unlock(struct rm_fork_lock *lock)
{
    rm_lock_drop(&lock->lock);
}

/** For a part's `before`, `in_parent` and `in_child`.  The last one returns whether the guarded
 * data is complete. */
void rm_fork_lock_hold(struct rm_fork_lock *lock);
void rm_fork_lock_release(struct rm_fork_lock *lock);
bool rm_fork_lock_renew(struct rm_fork_lock *lock);

#endif
