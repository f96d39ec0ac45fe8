/* SPDX-License-Identifier: MIT */
#define _DEFAULT_SOURCE /* on_exit */
#include "base/exit_status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>

#include "base/compiler.h"
#include "base/status.h"

#if defined(__GLIBC__)

typedef void (*note_fn)(int exit_status);

static note_fn note; /* atomic; NULL: nobody watches */
static bool has_main_run;

/* Of the C library, for languages with destructors of threads; exit() calls those of its thread
 * first.  The last argument tells which library they are in. */
extern int __cxa_thread_atexit_impl(void (*)(void *), void *, void *) __attribute__((weak));
extern void *__dso_handle __attribute__((visibility("hidden")));

static void on_exit_status(int exit_status, void *unused)
{
    (void)unused;
    note_fn noted = __atomic_load_n(&note, __ATOMIC_ACQUIRE);
    if (noted != NULL) {
        noted(exit_status & 0xff);
    }
}

static void on_thread_end(void *unused)
{
    (void)unused;
    (void)on_exit(on_exit_status, NULL); /* the last to be registered is the first to be called */
}

void rm_exit_status_watch(void (*wanted)(int exit_status))
{
    __atomic_store_n(&note, wanted, __ATOMIC_RELEASE);
    (void)on_exit(on_exit_status, NULL);
    if (__cxa_thread_atexit_impl != NULL) {
        (void)__cxa_thread_atexit_impl(on_thread_end, NULL, &__dso_handle);
    }
}

void rm_exit_status_main_runs(void)
{
    if (__atomic_load_n(&note, __ATOMIC_ACQUIRE) != NULL &&
        !__atomic_exchange_n(&has_main_run, true, __ATOMIC_RELAXED)) {
        (void)on_exit(on_exit_status, NULL);
    }
}

resmon_status rm_exit_status_hand(void (*run)(int exit_status, void *context), void *context)
{
    return on_exit(run, context) == 0
               ? RESMON_OK
               : rm_error(RESMON_ENOMEM, "there is no room for another exit handler");
}

#else

resmon_status rm_exit_status_hand(void (*run)(int exit_status, void *context), void *context)
{
    (void)run, (void)context;
    return rm_error(RESMON_ENOTSUP,
                    "this C library does not report exit statuses (it has no on_exit())");
}

void rm_exit_status_watch(void (*wanted)(int exit_status))
{
    (void)wanted;
}

void rm_exit_status_main_runs(void)
{
}

#endif
