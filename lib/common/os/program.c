/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* syscall, on_exit */
#include "os/program.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/compiler.h"
#include "base/sanitizer.h"
#include "base/status.h"
#include "base/thread.h"

/* ---- handlers of signals ------------------------------------------------------------------ */

/* Whether the signal has this handler: SIG_DFL, SIG_IGN, or a function without siginfo_t. */
static bool has_handler(const struct sigaction *action, void (*function)(int signal))
{
    return (action->sa_flags & SA_SIGINFO) == 0 && action->sa_handler == function;
}

static void set_handler(int signal, void (*function)(int signal))
{
    struct sigaction action = {.sa_flags = 0};
    action.sa_handler = function;
    (void)sigaction(signal, &action, NULL);
}

/* ---- signals of failed writes ------------------------------------------------------------- */

static const int write_signals[] = {SIGXFSZ, SIGPIPE};

void rm_signal_guard_begin(struct rm_signal_guard *guard)
{
    sigset_t pending;
    (void)sigemptyset(&guard->guarded);
    (void)sigemptyset(&pending);
    (void)sigpending(&pending);
    for (size_t i = 0; i < RM_ARRAY_LEN(write_signals); i++) {
        (void)sigaddset(&guard->guarded, write_signals[i]);
        guard->was_pending[i] = sigismember(&pending, write_signals[i]) == 1;
    }
    (void)pthread_sigmask(SIG_BLOCK, &guard->guarded, &guard->before);
}

void rm_signal_guard_end(const struct rm_signal_guard *guard)
{
    const struct timespec at_once = {0, 0};
    int error = errno; /* of the write */
    for (size_t i = 0; i < RM_ARRAY_LEN(write_signals); i++) {
        sigset_t one;
        (void)sigemptyset(&one);
        (void)sigaddset(&one, write_signals[i]);
        while (!guard->was_pending[i] && sigtimedwait(&one, NULL, &at_once) < 0 && errno == EINTR) {
        }
    }
    (void)pthread_sigmask(SIG_SETMASK, &guard->before, NULL);
    errno = error;
}

/* ---- a claimed signal --------------------------------------------------------------------- */

/*
 * The most harmless first: SIGURG is ignored by default if it comes late (after an exec, or after
 * the handler was removed), and few programs use it.  A standard signal is queued once only, so
 * that it does not pile up in a thread that blocks it.
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

static rm_signal_fn claimed_handler; /* atomic */
static int claimed;                  /* atomic; 0: none */
static struct sigaction before_claim;

/* Does what would have happened without us: the signal is ignored, or has its default effect. */
static void pass_on(int signal)
{
    if (before_claim.sa_handler == SIG_DFL && signal != SIGURG) {
        (void)sigaction(signal, &before_claim, NULL);
        (void)raise(signal); /* delivered when this handler returns */
    }
}

/* A thread that may be cancelled at any time is not cancelled in the handler, whose work would be
 * left half done: the C library's signal for cancellation cannot be blocked.  The thread is
 * cancelled when the handler ends, with its signals still blocked, because pending ones would nest
 * in this handler. */
static void on_claimed_signal(int signal, siginfo_t *info, void *context)
{
    int error = errno;
    int type;
    (void)pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, &type);
    rm_sanitizer_look_away();
    rm_signal_fn handle = __atomic_load_n(&claimed_handler, __ATOMIC_ACQUIRE);
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
    return has_handler(action, SIG_DFL) || has_handler(action, SIG_IGN);
}

static bool is_ours(const struct sigaction *action)
{
    return (action->sa_flags & SA_SIGINFO) != 0 && action->sa_sigaction == on_claimed_signal;
}

/* The index of a free candidate, or RM_ARRAY_LEN(candidates); and its present handler. */
static size_t find_candidate(struct sigaction *ret_old)
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
    size_t found = find_candidate(&old);
    return found < RM_ARRAY_LEN(candidates) ? candidates[found].name : NULL;
}

resmon_status rm_claimed_signal_take(rm_signal_fn handle, int *ret_signal)
{
    struct sigaction ours = {.sa_flags = SA_SIGINFO | SA_RESTART};
    struct sigaction old;
    ours.sa_sigaction = on_claimed_signal;
    (void)sigfillset(&ours.sa_mask);
    if (RM_LOAD(&claimed) != 0) {
        return rm_error(RESMON_EBUSY, "another monitor takes stacks");
    }
    size_t found = find_candidate(&old);
    if (found < RM_ARRAY_LEN(candidates)) {
        int number = candidates[found].number;
        before_claim =
            is_free(&old) ? old : before_claim; /* a parent's handler is left over from a fork */
        __atomic_store_n(&claimed_handler, handle, __ATOMIC_RELEASE);
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

/* Ignoring a signal drops it where it is pending, in any thread, blocked or not. */
void rm_claimed_signal_release(void)
{
    int signal = RM_LOAD(&claimed);
    if (rm_claimed_signal_is_ours()) {
        set_handler(signal, SIG_IGN);
        (void)sigaction(signal, &before_claim, NULL);
    }
    RM_STORE(&claimed, 0); /* the function stays: a signal may still be delivered to it */
}

void rm_claimed_signal_forget(void)
{
    RM_STORE(&claimed, 0);
}

/* ---- signals that end the program --------------------------------------------------------- */

#define HOLD_NS     (RM_NS_PER_S / 5)
#define SAME_NS     (RM_NS_PER_S / 2)
#define MOST_NUMBER 63

#define POLL_NS (10L * 1000 * 1000)

static struct rm_end_signals terms; /* set before the first handler */
static bool has_thread;
static pthread_t finisher;
static sem_t has_come;
static int number_of_end; /* atomic; the first signal, 0: none */
static int64_t came_ns;   /* atomic; 0: not known yet */
static bool is_over;      /* atomic; the signal did not end the program */

/* As the signal would have without us. */
static void end_program(int number)
{
    sigset_t one;
    set_handler(number, SIG_DFL);
    (void)sigemptyset(&one);
    (void)sigaddset(&one, number);
    (void)pthread_sigmask(SIG_UNBLOCK, &one, NULL);
    (void)raise(number);
}

/* By the system call itself, which is no cancellation point. */
static void hold_thread(void)
{
    int64_t until_ns = rm_clock_monotonic_ns() + HOLD_NS;
    const struct timespec until = {until_ns / RM_NS_PER_S, until_ns % RM_NS_PER_S};
    while (syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) != 0 &&
           errno == EINTR) {
    }
}

static bool is_repeated(void)
{
    int64_t then_ns = __atomic_load_n(&came_ns, __ATOMIC_ACQUIRE);
    return then_ns == 0 || rm_clock_monotonic_ns() - then_ns < SAME_NS;
}

static void on_end_signal(int number)
{
    int error = errno;
    int none = 0;
    bool is_ours = terms.is_ours();
    if (is_ours && __atomic_compare_exchange_n(&number_of_end, &none, number, false,
                                               __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
        __atomic_store_n(&came_ns, rm_clock_monotonic_ns(), __ATOMIC_RELEASE);
        (void)sem_post(&has_come);
        hold_thread();
    } else if (!is_ours || !is_repeated()) {
        end_program(number);
    }
    errno = error;
}

static void *wait_and_finish(void *unused)
{
    while (sem_wait(&has_come) != 0 && errno == EINTR) {
    }
    int number = __atomic_load_n(&number_of_end, __ATOMIC_ACQUIRE);
    terms.finish(number);
    end_program(number);
    terms.go_on();
    RM_STORE(&is_over, true);
    return unused;
}

static resmon_status start_finisher(void)
{
    const struct rm_thread_work work = {"rm-signal", RM_STACK_LIBRARIES, wait_and_finish, NULL};
    (void)sem_init(&has_come, 0, 0);
    resmon_status status = rm_thread_start(&finisher, &work);
    if (status == RESMON_OK) {
        (void)pthread_detach(finisher);
        has_thread = true;
    }
    return status;
}

/* With SA_NODEFER: the second signal may be delivered to the thread that is held for the first. */
resmon_status rm_end_signals_take(const struct rm_end_signals *signals)
{
    const uint64_t before = terms.wanted;
    terms = *signals;
    terms.wanted |= before;
    resmon_status status = has_thread ? RESMON_OK : start_finisher();
    struct sigaction ours = {.sa_flags = SA_RESTART | SA_NODEFER | SA_ONSTACK};
    ours.sa_handler = on_end_signal;
    (void)sigemptyset(&ours.sa_mask);
    for (int number = 1; number <= MOST_NUMBER && status == RESMON_OK; number++) {
        struct sigaction now;
        if ((signals->wanted >> number & 1) != 0 && sigaction(number, NULL, &now) == 0 &&
            has_handler(&now, SIG_DFL)) {
            (void)sigaction(number, &ours, NULL);
        }
    }
    return status;
}

void rm_end_signals_wait(void)
{
    const struct timespec a_moment = {.tv_nsec = POLL_NS};
    if (has_thread && pthread_equal(pthread_self(), finisher)) {
        return; /* a callback of the program calls exit() on it */
    }
    while (__atomic_load_n(&number_of_end, __ATOMIC_ACQUIRE) != 0 && !RM_LOAD(&is_over) &&
           terms.is_ours()) {
        (void)nanosleep(&a_moment, NULL);
    }
}

void rm_end_signals_release(void)
{
    for (int number = 1; number <= MOST_NUMBER; number++) {
        struct sigaction now;
        if ((terms.wanted >> number & 1) != 0 && sigaction(number, NULL, &now) == 0 &&
            has_handler(&now, on_end_signal)) {
            set_handler(number, SIG_DFL);
        }
    }
}

/* ---- the exit status ---------------------------------------------------------------------- */

#if defined(__GLIBC__)

typedef void (*note_fn)(int exit_status);

static note_fn note; /* atomic; NULL: not watched */
static bool has_main_run;

/* Of the C library, for languages with destructors of threads: exit() first calls the destructors
 * of its thread.  The last argument identifies the library that they are in. */
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
    (void)on_exit(on_exit_status, NULL); /* the last one registered is called first */
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
