/* SPDX-License-Identifier: MIT */
#include "base/fork.h"

#include <signal.h>
#include <stddef.h>

#include "base/compiler.h"

static const struct rm_fork_part *parts[RM_FORK_PLACES]; /* written under `lock` */
static uint32_t forks;

/* Held during a fork: forks are serialized, and a part that registers takes part in all phases of a
 * fork or in none. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static sigset_t blocked; /* the signals that the forking thread had blocked */

/* Blocks signals: a handler must not fork, or enter and leave a scope, while some of the locks are
 * held. */
static void before(void)
{
    sigset_t all, had;
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &had);
    (void)pthread_mutex_lock(&lock);
    blocked = had;
    for (size_t i = 0; i < RM_FORK_PLACES; i++) {
        if (parts[i] != NULL && parts[i]->before != NULL) {
            parts[i]->before();
        }
    }
}

static void leave(void)
{
    sigset_t had = blocked;
    (void)pthread_mutex_unlock(&lock);
    (void)pthread_sigmask(SIG_SETMASK, &had, NULL);
}

static void in_parent(void)
{
    for (size_t i = RM_FORK_PLACES; i-- > 0;) {
        if (parts[i] != NULL && parts[i]->in_parent != NULL) {
            parts[i]->in_parent();
        }
    }
    leave();
}

static void in_child(void)
{
    RM_STORE(&forks, forks + 1);
    for (size_t i = 0; i < RM_FORK_PLACES; i++) {
        if (parts[i] != NULL && parts[i]->in_child != NULL) {
            parts[i]->in_child();
        }
    }
    leave();
}

static void install(void)
{
    (void)pthread_atfork(before, in_parent, in_child);
}

void rm_fork_watch(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    (void)pthread_once(&once, install);
}

void rm_fork_take_part(enum rm_fork_place place, const struct rm_fork_part *part)
{
    if (RM_LOAD_ACQUIRE(&parts[place]) != NULL) {
        return;
    }
    sigset_t all, had;
    rm_fork_watch();
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &had);
    (void)pthread_mutex_lock(&lock);
    RM_STORE_RELEASE(&parts[place], part);
    (void)pthread_mutex_unlock(&lock);
    (void)pthread_sigmask(SIG_SETMASK, &had, NULL);
}

uint32_t rm_forks(void)
{
    return RM_LOAD(&forks);
}

/* ---- locks ------------------------------------------------------------------------------ */

void rm_fork_lock_hold(struct rm_fork_lock *held)
{
    held->is_held = rm_lock_take(&held->lock);
}

void rm_fork_lock_release(struct rm_fork_lock *held)
{
    if (held->is_held) {
        rm_lock_drop(&held->lock);
    }
}

/* The child's only thread has the lock, by `before` or since before.  Its mutex is a new one: other
 * threads, which do not exist here, may have waited for the old one. */
bool rm_fork_lock_renew(struct rm_fork_lock *held)
{
    rm_lock_drop(&held->lock);
    held->lock = (struct rm_lock)RM_LOCK_INITIALIZER;
    return held->is_held;
}
