/* SPDX-License-Identifier: MIT */
/*
 * Owns locks that a signal handler may meet while its own thread holds them: taking such a lock
 * again is refused, where a mutex would wait for ever.  They are error-checking mutexes, of which
 * POSIX has no initializer.  As of those, a handler must not come between taking the mutex and
 * noting its owner.
 */
#ifndef RM_BASE_LOCK_H
#define RM_BASE_LOCK_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/compiler.h"

struct rm_lock {
    pthread_mutex_t mutex;
    uintptr_t owner; /* the thread that has it; 0: none */
};

#define RM_LOCK_INITIALIZER          \
    {                                \
        PTHREAD_MUTEX_INITIALIZER, 0 \
    }

/** Waits for the lock; false: this thread has it already. */
static inline bool rm_lock_take(struct rm_lock *lock)
{
    uintptr_t self = (uintptr_t)pthread_self();
    if (RM_LOAD(&lock->owner) == self) {
        return false;
    }
    (void)pthread_mutex_lock(&lock->mutex);
    RM_STORE(&lock->owner, self);
    return true;
}

/** Nothing happens if this thread does not have it. */
static inline void rm_lock_drop(struct rm_lock *lock)
{
    if (RM_LOAD(&lock->owner) == (uintptr_t)pthread_self()) {
        RM_STORE(&lock->owner, 0);
        (void)pthread_mutex_unlock(&lock->mutex);
    }
}

#endif
