/* SPDX-License-Identifier: MIT */
#include "os/signal_guard.h"

#include <errno.h>
#include <pthread.h>
#include <stddef.h>
#include <time.h>

#include "base/compiler.h"

static const int signals[] = {SIGXFSZ, SIGPIPE};

void rm_signal_guard_begin(struct rm_signal_guard *guard)
{
    sigset_t pending;
    (void)sigemptyset(&guard->guarded);
    (void)sigemptyset(&pending);
    (void)sigpending(&pending);
    for (size_t i = 0; i < RM_ARRAY_LEN(signals); i++) {
        (void)sigaddset(&guard->guarded, signals[i]);
        guard->was_pending[i] = sigismember(&pending, signals[i]) == 1;
    }
    (void)pthread_sigmask(SIG_BLOCK, &guard->guarded, &guard->before);
}

void rm_signal_guard_end(const struct rm_signal_guard *guard)
{
    const struct timespec at_once = {0, 0};
    int error = errno; /* of the write */
    for (size_t i = 0; i < RM_ARRAY_LEN(signals); i++) {
        sigset_t one;
        (void)sigemptyset(&one);
        (void)sigaddset(&one, signals[i]);
        while (!guard->was_pending[i] && sigtimedwait(&one, NULL, &at_once) < 0 && errno == EINTR) {
        }
    }
    (void)pthread_sigmask(SIG_SETMASK, &guard->before, NULL);
    errno = error;
}
