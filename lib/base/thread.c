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

#include "base/alloc.h"
#include "base/compiler.h"
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

static uint64_t count;   /* atomic: of threads that have begun and not ended */
static uint64_t changes; /* atomic: of that */

/* Their numbers; a thread more than there is room for is taken for one of the program's. */
#define KNOWN_THREADS 256
static uint32_t ids[KNOWN_THREADS]; /* atomic; 0: free */
static uint64_t nameless;           /* atomic: being started, and not among them yet */

static void enter_id(uint32_t id)
{
    for (size_t i = 0; i < KNOWN_THREADS; i++) {
        uint32_t none = 0;
        if (__atomic_compare_exchange_n(&ids[i], &none, id, false, __ATOMIC_RELAXED,
                                        __ATOMIC_RELAXED)) {
            return;
        }
    }
}

static void leave_id(uint32_t id)
{
    for (size_t i = 0; i < KNOWN_THREADS; i++) {
        if (RM_LOAD(&ids[i]) == id) {
            RM_STORE(&ids[i], 0);
        }
    }
}

bool rm_thread_may_be_ours(uint32_t id)
{
    bool is_any = __atomic_load_n(&nameless, __ATOMIC_SEQ_CST) > 0; /* before the list is read */
    for (size_t i = 0; i < KNOWN_THREADS; i++) {
        if (RM_LOAD(&ids[i]) == id) {
            return true;
        }
    }
    return is_any;
}

/* In the child of a fork: what was being started then never comes. */
static void forget_starts(void)
{
    __atomic_store_n(&nameless, 0, __ATOMIC_SEQ_CST);
}

static void install_fork_handler(void)
{
    (void)pthread_atfork(NULL, NULL, forget_starts);
}

static void leave(void *unused)
{
    (void)unused;
    leave_id(rm_thread_id());
    (void)__atomic_sub_fetch(&count, 1, __ATOMIC_SEQ_CST);
    (void)__atomic_add_fetch(&changes, 1, __ATOMIC_SEQ_CST);
}

/* Counted by the thread itself, until it ends in whatever way: libraries may end it. */
static void *run_counted(void *start_)
{
    const struct rm_thread_work work = *(struct rm_thread_work *)start_;
    void *result;
    rm_free(start_);
    enter_id(rm_thread_id());
    (void)__atomic_sub_fetch(&nameless, 1, __ATOMIC_SEQ_CST);
    (void)__atomic_add_fetch(&count, 1, __ATOMIC_SEQ_CST);
    (void)__atomic_add_fetch(&changes, 1, __ATOMIC_SEQ_CST);
    pthread_cleanup_push(leave, NULL);
    result = work.run(work.context);
    pthread_cleanup_pop(1);
    return result;
}

uint64_t rm_thread_count(uint64_t *ret_changes)
{
    *ret_changes = __atomic_load_n(&changes, __ATOMIC_SEQ_CST);
    return __atomic_load_n(&count, __ATOMIC_SEQ_CST);
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

/* CPUCLOCK_SCHED of a thread, as the kernel numbers clocks (include/linux/posix-timers.h). */
clockid_t rm_thread_cpu_clock_of(uint32_t id)
{
    return (clockid_t)((~id << 3) | 6U);
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
    struct rm_thread_work *start = rm_alloc(1, sizeof *start);
    if (start == NULL) {
        return rm_error(RESMON_ENOMEM, "out of memory for thread %s", work->name);
    }
    *start = *work;
    pthread_attr_t attributes;
    int error = pthread_attr_init(&attributes);
    if (error != 0) {
        rm_free(start);
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
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    (void)pthread_once(&once, install_fork_handler);
    (void)__atomic_add_fetch(&nameless, 1, __ATOMIC_SEQ_CST);
    error = pthread_create(&thread, &attributes, run_counted, start);
    (void)pthread_sigmask(SIG_SETMASK, &old, NULL);
    (void)pthread_attr_destroy(&attributes);
    if (error != 0) {
        (void)__atomic_sub_fetch(&nameless, 1, __ATOMIC_SEQ_CST);
        rm_free(start);
        return rm_error_errno(error, "cannot create thread %s", work->name);
    }
    (void)pthread_setname_np(thread, work->name);
    *ret_thread = thread;
    return RESMON_OK;
}
