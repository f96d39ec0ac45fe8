/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* pthread_setname_np */
#include "base/thread.h"

#include <limits.h>
#include <signal.h>
#include <stddef.h>

#include "base/fault.h"
#include "base/status.h"

/* Deepest frames: text formatting of one report line and a user's sink callback. */
#define STACK_BYTES (256U * 1024U)

resmon_status rm_thread_start(pthread_t *ret_thread, const char *name, void *(*run)(void *),
                              void *context)
{
    if (RM_FAULT(RM_FAULT_THREAD)) {
        return rm_error(RESMON_EBUSY, "cannot create thread %s: injected", name);
    }
    pthread_attr_t attributes;
    int error = pthread_attr_init(&attributes);
    if (error != 0) {
        return rm_error_errno(error, "cannot create thread %s", name);
    }
    (void)pthread_attr_setstacksize(&attributes, STACK_BYTES);
    /* The new thread inherits the mask: block everything around the creation. */
    sigset_t all, old;
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &old);
    pthread_t thread;
    error = pthread_create(&thread, &attributes, run, context);
    (void)pthread_sigmask(SIG_SETMASK, &old, NULL);
    (void)pthread_attr_destroy(&attributes);
    if (error != 0) {
        return rm_error_errno(error, "cannot create thread %s", name);
    }
    (void)pthread_setname_np(thread, name);
    *ret_thread = thread;
    return RESMON_OK;
}
