/* SPDX-License-Identifier: MIT */
#include "os/claimed_signal.h"

#include <errno.h>
#include <pthread.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include "base/compiler.h"
#include "base/sanitizer.h"
#include "base/status.h"

/*
 * In order of harmlessness.  SIGURG first: one that comes late (after an exec, or when the handler
 * has gone) is ignored by default, and nearly nobody has a use for it.  A standard signal is queued
 * once only, so that a thread that has it blocked does not gather them.
 */
static const struct {
    int number;
    const char *name;
} candidates[] = {
    {SIGURG, "SIGURG"},
#ifdef SIGSTKFLT
    {SIGSTKFLT, "SIGSTKFLT"},
#endif
    {SIGPROF, "SIGPROF"},
};

static rm_signal_fn handler; /* atomic */
static int claimed;          /* atomic; 0: none */
static struct sigaction before;

/* What would have happened without us: it was ignored, or had its default. */
static void pass_on(int signal)
{
    if (before.sa_handler == SIG_DFL && signal != SIGURG) {
        (void)sigaction(signal, &before, NULL);
        (void)raise(signal); /* comes when this handler returns */
    }
}

/* A thread that may be cancelled at any time is not cancelled in the handler, whose work would be
 * left half done: the C library's signal for it cannot be blocked.  It is when the handler ends,
 * and then it ends with its signals blocked, for others that wait would nest in this handler. */
static void on_signal(int signal, siginfo_t *info, void *context)
{
    int error = errno;
    int type;
    (void)pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, &type);
    rm_sanitizer_look_away();
    rm_signal_fn handle = __atomic_load_n(&handler, __ATOMIC_ACQUIRE);
    if (handle == NULL || !handle(info, context)) {
        pass_on(signal);
    }
    rm_sanitizer_look_again();
    if (type != PTHREAD_CANCEL_DEFERRED) {
        (void)pthread_setcanceltype(type, &type);
    }
    errno = error;
}

static bool is_free(const struct sigaction *action)
{
    return (action->sa_flags & SA_SIGINFO) == 0 &&
           (action->sa_handler == SIG_DFL || action->sa_handler == SIG_IGN);
}

static bool is_ours(const struct sigaction *action)
{
    return (action->sa_flags & SA_SIGINFO) != 0 && action->sa_sigaction == on_signal;
}

/* The index of a candidate, RM_ARRAY_LEN(candidates) when there is none; and what handles it. */
static size_t find(struct sigaction *ret_old)
{
    for (size_t i = 0; i < RM_ARRAY_LEN(candidates); i++) {
        if (sigaction(candidates[i].number, NULL, ret_old) == 0 &&
            (is_free(ret_old) || is_ours(ret_old))) {
            return i;
        }
    }
    return RM_ARRAY_LEN(candidates);
}

const char *rm_claimed_signal_find(void)
{
    struct sigaction old;
    size_t found = find(&old);
    return found < RM_ARRAY_LEN(candidates) ? candidates[found].name : NULL;
}

resmon_status rm_claimed_signal_take(rm_signal_fn handle, int *ret_signal)
{
    struct sigaction ours = {.sa_flags = SA_SIGINFO | SA_RESTART};
    struct sigaction old;
    ours.sa_sigaction = on_signal;
    (void)sigfillset(&ours.sa_mask);
    if (RM_LOAD(&claimed) != 0) {
        return rm_error(RESMON_EBUSY, "another monitor takes stacks");
    }
    size_t found = find(&old);
    if (found < RM_ARRAY_LEN(candidates)) {
        int number = candidates[found].number;
        before = is_free(&old) ? old : before; /* a parent's handler is left over from a fork */
        __atomic_store_n(&handler, handle, __ATOMIC_RELEASE);
        if (sigaction(number, &ours, NULL) == 0) {
            RM_STORE(&claimed, number);
            *ret_signal = number;
            return RESMON_OK;
        }
    }
    return rm_error(RESMON_EBUSY,
                    "the program handles SIGURG, SIGSTKFLT and SIGPROF itself: stacks need one of "
                    "them");
}

bool rm_claimed_signal_is_ours(void)
{
    struct sigaction now;
    int signal = RM_LOAD(&claimed);
    return signal != 0 && sigaction(signal, NULL, &now) == 0 && is_ours(&now);
}

/* Ignoring a signal throws away those that wait in any thread, blocked or not. */
void rm_claimed_signal_release(void)
{
    int signal = RM_LOAD(&claimed);
    if (rm_claimed_signal_is_ours()) {
        struct sigaction ignore = {.sa_flags = 0};
        ignore.sa_handler = SIG_IGN;
        (void)sigaction(signal, &ignore, NULL);
        (void)sigaction(signal, &before, NULL);
    }
    RM_STORE(&claimed, 0); /* the function stays: a signal may be on its way to it */
}

void rm_claimed_signal_forget(void)
{
    RM_STORE(&claimed, 0);
}
