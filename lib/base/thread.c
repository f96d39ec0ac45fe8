/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* pthread_setname_np, RTLD_DEFAULT */
#include "base/thread.h"

#include <dlfcn.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/fault.h"
#include "base/status.h"

/* Deepest frames: text formatting of one line, below a collector. */
#define SMALL_STACK_BYTES (256U * 1024U)

/* What a thread needs for itself and the program's thread-local variables, which are taken from its
 * stack: glibc knows, but does not say so to everybody. */
static size_t least_stack(const pthread_attr_t *attributes)
{
    size_t (*ask)(const pthread_attr_t *) = NULL;
    void *symbol = dlsym(RTLD_DEFAULT, "__pthread_get_minstack");
    memcpy(&ask, &symbol, sizeof ask);
    return ask != NULL ? ask(attributes) : 0;
}

static uint64_t count; /* atomic */

void rm_thread_leave(void)
{
    (void)__atomic_sub_fetch(&count, 1, __ATOMIC_RELAXED);
}

uint64_t rm_thread_count(void)
{
    return __atomic_load_n(&count, __ATOMIC_RELAXED);
}

uint32_t rm_thread_id(void)
{
    return (uint32_t)syscall(SYS_gettid);
}

clockid_t rm_thread_cpu_clock(void)
{
    clockid_t clock;
    return pthread_getcpuclockid(pthread_self(), &clock) == 0 ? clock : CLOCK_THREAD_CPUTIME_ID;
}

void rm_thread_name(char name[16])
{
    if (prctl(PR_GET_NAME, name) != 0) {
        name[0] = '\0';
    }
}

void rm_thread_cond_init(pthread_cond_t *cond)
{
    pthread_condattr_t monotonic;
    (void)pthread_condattr_init(&monotonic);
    (void)pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    (void)pthread_cond_init(cond, &monotonic);
    (void)pthread_condattr_destroy(&monotonic);
}

resmon_status rm_thread_start(pthread_t *ret_thread, const struct rm_thread_work *work)
{
    if (RM_FAULT(RM_FAULT_THREAD)) {
        return rm_error(RESMON_EBUSY, "cannot create thread %s: injected", work->name);
    }
    pthread_attr_t attributes;
    int error = pthread_attr_init(&attributes);
    if (error != 0) {
        return rm_error_errno(error, "cannot create thread %s", work->name);
    }
    if (work->stack == RM_STACK_SMALL) {
        (void)pthread_attr_setstacksize(&attributes, SMALL_STACK_BYTES + least_stack(&attributes));
    }
    /* The new thread inherits the mask: block everything around the creation. */
    sigset_t all, old;
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &old);
    pthread_t thread;
    (void)__atomic_add_fetch(&count, 1, __ATOMIC_RELAXED);
    error = pthread_create(&thread, &attributes, work->run, work->context);
    (void)pthread_sigmask(SIG_SETMASK, &old, NULL);
    (void)pthread_attr_destroy(&attributes);
    if (error != 0) {
        rm_thread_leave();
        return rm_error_errno(error, "cannot create thread %s", work->name);
    }
    (void)pthread_setname_np(thread, work->name);
    *ret_thread = thread;
    return RESMON_OK;
}
