/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* RTLD_DEFAULT */
#include "base/thread.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/compiler.h"
#include "base/fault.h"
#include "base/fork.h"
#include "base/sanitizer.h"
#include "base/status.h"
#include "base/text.h"

/* SMALL: the deepest frames are those of text formatting of one line, below a collector.
 * LIBRARIES: cJSON was seen to take 132 KiB, for a text that nests as deep as it allows; libdw, in
 * resmon-names, 160 KiB. */
#define SMALL_STACK_BYTES   (256U * 1024U)
#define LIBRARY_STACK_BYTES (1024U * 1024U)

/* The least rest of a stack to work on where no thread can be started: nothing that nests. */
#define LEAST_LEFT_BYTES ((size_t)64 * 1024)

/* What a thread needs of its stack for itself and the program's thread-local variables: a function
 * of glibc that it does not declare. */
static size_t least_stack(const pthread_attr_t *attributes)
{
    size_t (*ask)(const pthread_attr_t *) = NULL;
    void *symbol = dlsym(RTLD_DEFAULT, "__pthread_get_minstack");
    memcpy(&ask, &symbol, sizeof ask);
    return ask != NULL ? ask(attributes) : 0;
}

/* One place for each thread, with its state.  If all places are taken, a further thread counts as
 * one of the program's. */
#define PLACES      1024
#define FREE        0U
#define BEGINNING   UINT32_MAX       /* the kernel may not know of it yet */
#define BEGUN       (UINT32_MAX - 1) /* the kernel counts it; its id is not known yet */
#define ENDING      0x80000000U      /* a flag of its id: the kernel may still count it */
#define NUMBER_MASK (ENDING - 1)
static uint32_t places[PLACES]; /* atomic; else its id */
static uint32_t places_end;     /* atomic: all from here on are free */
static uint64_t changes;        /* atomic: of places */

static bool replace(uint32_t *place, uint32_t old, uint32_t now)
{
    bool is_done =
        __atomic_compare_exchange_n(place, &old, now, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
    (void)__atomic_add_fetch(&changes, is_done, __ATOMIC_SEQ_CST);
    return is_done;
}

/* NULL: none is free. */
static uint32_t *take_place(void)
{
    for (uint32_t i = 0; i < PLACES; i++) {
        if (RM_LOAD(&places[i]) == FREE && replace(&places[i], FREE, BEGINNING)) {
            uint32_t end = __atomic_load_n(&places_end, __ATOMIC_SEQ_CST);
            while (end <= i && !__atomic_compare_exchange_n(&places_end, &end, i + 1, false,
                                                            __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) {
            }
            return &places[i];
        }
    }
    return NULL;
}

static void set_place(uint32_t *place, uint32_t now)
{
    if (place != NULL) {
        __atomic_store_n(place, now, __ATOMIC_SEQ_CST);
        (void)__atomic_add_fetch(&changes, 1, __ATOMIC_SEQ_CST);
    }
}

/* A thread that has been joined is counted by the kernel a little longer: joiners are woken before
 * the thread is taken off its process (Linux 6.1, kernel/exit.c: exit_mm, then exit_notify). */
static bool is_counted(uint32_t *place)
{
    uint32_t now = __atomic_load_n(place, __ATOMIC_SEQ_CST);
    if (now == FREE || now == BEGINNING) {
        return false;
    }
    if (now == BEGUN || (now & ENDING) == 0 ||
        syscall(SYS_tgkill, getpid(), now & NUMBER_MASK, 0) == 0) {
        return true;
    }
    (void)replace(place, now, FREE);
    return false;
}

uint64_t rm_thread_count(uint64_t *ret_changes)
{
    RM_KEEP_ERRNO;
    uint64_t count;
    do {
        count = 0;
        *ret_changes = __atomic_load_n(&changes, __ATOMIC_SEQ_CST);
        uint32_t end = __atomic_load_n(&places_end, __ATOMIC_SEQ_CST);
        for (uint32_t i = 0; i < end; i++) {
            count += is_counted(&places[i]);
        }
    } while (__atomic_load_n(&changes, __ATOMIC_SEQ_CST) != *ret_changes);
    return count;
}

bool rm_thread_may_be_ours(uint32_t id)
{
    uint32_t end = __atomic_load_n(&places_end, __ATOMIC_SEQ_CST);
    for (uint32_t i = 0; i < end; i++) {
        uint32_t place = __atomic_load_n(&places[i], __ATOMIC_SEQ_CST);
        if (place >= BEGUN || (place & NUMBER_MASK) == id) {
            return true;
        }
    }
    return false;
}

/* The arguments of a new thread.  Not on the heap, unless more than these are being started: a
 * thread that calls free() gets an arena of the allocator, for which glibc reserves 64 MiB of
 * addresses. */
#define STARTS 16
struct start {
    uint32_t is_taken; /* atomic */
    uint32_t is_of_heap;
    uint32_t *place;
    struct rm_thread_work work;
};
static struct start starts[STARTS];

/* NULL: no memory. */
static struct start *take_start(const struct rm_thread_work *work)
{
    struct start *start = NULL;
    for (size_t i = 0; i < STARTS && start == NULL; i++) {
        bool is_free = __atomic_exchange_n(&starts[i].is_taken, 1, __ATOMIC_ACQUIRE) == 0;
        start = is_free ? &starts[i] : NULL;
    }
    if (start == NULL) {
        start = rm_alloc(1, sizeof *start);
        if (start == NULL) {
            return NULL;
        }
        start->is_of_heap = 1;
    }
    start->work = *work;
    return start;
}

static void give_start(struct start *start)
{
    if (start->is_of_heap != 0) {
        rm_free(start);
    } else {
        __atomic_store_n(&start->is_taken, 0, __ATOMIC_RELEASE);
    }
}

/* In the child of a fork, which has none of these threads, nor one that was being started. */
static void forget_all(void)
{
    for (uint32_t i = 0; i < PLACES; i++) {
        set_place(&places[i], FREE);
    }
    for (size_t i = 0; i < STARTS; i++) {
        give_start(&starts[i]);
    }
}

static const struct rm_fork_part at_fork = {.in_child = forget_all};

static void leave(void *place)
{
    rm_made_time_count(-1);
    set_place(place, rm_thread_id() | ENDING);
    rm_sanitizer_look_again();
}

static RM_THREAD_LOCAL bool is_ours; /* the calling thread, with a stack of known size */

/* Keeps its place until it ends in whatever way: libraries may end it. */
static void *run_placed(void *start)
{
    const struct rm_thread_work work = ((struct start *)start)->work;
    uint32_t *place = ((struct start *)start)->place;
    void *result;
    give_start(start);
    rm_sanitizer_look_away();
    (void)prctl(PR_SET_NAME, work.name); /* by another thread, it takes a file of /proc */
    is_ours = work.stack == RM_STACK_LIBRARIES;
    set_place(place, rm_thread_id());
    pthread_cleanup_push(leave, place);
    result = work.run(work.context);
    pthread_cleanup_pop(1);
    return result;
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

/* The structure of sched_setattr(2), which the C library has since 2.41 only. */
struct scheduling {
    uint32_t size, policy;
    uint64_t flags;
    int32_t nice;
    uint32_t priority;
    uint64_t runtime_ns, deadline_ns, period_ns;
};

#define SHORT_SLICE_NS 100000 /* the kernel's least */

void rm_thread_run_soon(void)
{
    struct scheduling own = {.size = sizeof own};
    if (syscall(SYS_sched_getattr, 0, &own, sizeof own, 0) == 0 && own.policy == 0) {
        own.runtime_ns = SHORT_SLICE_NS;
        (void)syscall(SYS_sched_setattr, 0, &own, 0);
    }
}

/* ---- starting --------------------------------------------------------------------------- */

/* For RM_STACK_OF_PROGRAM, at least that of RM_STACK_LIBRARIES: the program may have set a low one.
 */
static size_t stack_bytes(const pthread_attr_t *attributes, enum rm_thread_stack stack)
{
    size_t usual = 0;
    if (stack != RM_STACK_OF_PROGRAM) {
        return (stack == RM_STACK_SMALL ? SMALL_STACK_BYTES : LIBRARY_STACK_BYTES) +
               least_stack(attributes);
    }
    (void)pthread_attr_getstacksize(attributes, &usual);
    size_t least = LIBRARY_STACK_BYTES + least_stack(attributes);
    return usual > least ? usual : least;
}

/* The new thread inherits the mask: everything is blocked around the creation. */
static int create(pthread_t *ret_thread, const pthread_attr_t *attributes, struct start *start)
{
    sigset_t all, old;
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &old);
    rm_fork_take_part(RM_FORK_THREADS, &at_fork);
    uint32_t *place = take_place();
    start->place = place;
    rm_made_time_count(+1);
    int error = pthread_create(ret_thread, attributes, run_placed, start);
    if (place != NULL) {
        (void)replace(place, BEGINNING, error == 0 ? BEGUN : FREE);
    }
    if (error != 0) {
        rm_made_time_count(-1);
    }
    (void)pthread_sigmask(SIG_SETMASK, &old, NULL);
    return error;
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
    (void)pthread_attr_setstacksize(&attributes, stack_bytes(&attributes, work->stack));
    struct start *start = take_start(work);
    pthread_t thread;
    error = start != NULL ? create(&thread, &attributes, start) : ENOMEM;
    (void)pthread_attr_destroy(&attributes);
    if (error != 0) {
        if (start != NULL) {
            give_start(start);
        }
        return rm_error_errno(error, "cannot create thread %s", work->name);
    }
    *ret_thread = thread;
    return RESMON_OK;
}

/* ---- work on a stack of our own --------------------------------------------------------- */

size_t rm_thread_stack_left(void)
{
    pthread_attr_t attributes;
    void *low = NULL;
    size_t bytes = 0;
    if (pthread_getattr_np(pthread_self(), &attributes) != 0) {
        return 0;
    }
    int error = pthread_attr_getstack(&attributes, &low, &bytes);
    (void)pthread_attr_destroy(&attributes);
    uintptr_t here = (uintptr_t)__builtin_frame_address(0);
    bool is_on_it = error == 0 && here > (uintptr_t)low && here - (uintptr_t)low <= bytes;
    return is_on_it ? here - (uintptr_t)low : 0;
}

/* The arguments and the results of the thread. */
struct call {
    resmon_status (*work)(void *context);
    void *context;
    resmon_status status;
    char text[RM_ERROR_TEXT_BYTES];
};

static void *run_call(void *call_)
{
    struct call *call = call_;
    call->status = call->work(call->context);
    if (call->status != RESMON_OK) {
        (void)rm_text_set(call->text, sizeof call->text, resmon_last_error());
    }
    rm_made_time_count(+1); /* the caller goes on */
    return NULL;
}

static resmon_status call_here(resmon_status (*work)(void *context), void *context)
{
    return rm_thread_stack_left() >= LEAST_LEFT_BYTES
               ? work(context)
               : rm_error(
                     RESMON_EBUSY,
                     "the stack of this thread is too small, and no other thread can be started");
}

/* Without cancellation of the caller while it waits: the thread works on `call`, which is here. */
resmon_status rm_thread_call_apart(resmon_status (*work)(void *context), void *context)
{
    RM_KEEP_ERRNO;
    struct call call = {.work = work,
                        .context = context,
                        .status = RESMON_ESTATE,
                        .text = "the thread that did the work was ended by the program"};
    const struct rm_thread_work told = {"rm-work", RM_STACK_LIBRARIES, run_call, &call};
    pthread_t thread = 0;
    int cancel_state;
    if (rm_thread_start(&thread, &told) != RESMON_OK) {
        return call_here(work, context);
    }
    rm_made_time_count(-1); /* until then this one works in its place */
    (void)pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_state);
    (void)pthread_join(thread, NULL);
    (void)pthread_setcancelstate(cancel_state, NULL);
    return call.status == RESMON_OK ? RESMON_OK : rm_error(call.status, "%s", call.text);
}

resmon_status rm_thread_call(resmon_status (*work)(void *context), void *context)
{
    return is_ours ? work(context) : rm_thread_call_apart(work, context);
}

/* ---- waiting ------------------------------------------------------------------------------ */

/* As SYS_futex has it, whatever the width of time_t in the C library. */
struct kernel_timespec {
    long tv_sec;
    long tv_nsec;
};

/* Keeps errno: threads of the program wait here, too. */
static void futex(uint32_t *word, int operation, uint32_t value, const struct kernel_timespec *left)
{
    int error = errno;
    (void)syscall(SYS_futex, word, operation, value, left, NULL, 0);
    errno = error;
}

/*
 * Happens-before: the state is changed before the count of changes is, and a waiter reads the count
 * (the mark) before the state.  The increments of changes and of waiters are sequentially
 * consistent, so that one side sees the other's: no thread sleeps through a change.
 */
void rm_condition_signal(struct rm_condition *condition)
{
    (void)__atomic_add_fetch(&condition->changes, 1, __ATOMIC_SEQ_CST);
    if (RM_TIME_IS_MADE()) {
        rm_made_time_tell();
    }
    if (__atomic_load_n(&condition->waiters, __ATOMIC_SEQ_CST) > 0) {
        futex(&condition->changes, FUTEX_WAKE_PRIVATE, INT_MAX, NULL);
    }
}

uint32_t rm_condition_mark(const struct rm_condition *condition)
{
    return __atomic_load_n(&condition->changes, __ATOMIC_SEQ_CST);
}

static struct kernel_timespec time_left(int64_t until_ns)
{
    int64_t left_ns = until_ns - rm_clock_monotonic_ns();
    left_ns = left_ns > 0 ? left_ns : 0;
    int64_t left_s = left_ns / RM_NS_PER_S;
    return (struct kernel_timespec){left_s < INT_MAX ? (long)left_s : INT_MAX,
                                    (long)(left_ns % RM_NS_PER_S)};
}

void rm_condition_wait_past(struct rm_condition *condition, uint32_t mark, int64_t until_ns)
{
    if (RM_TIME_IS_MADE()) {
        rm_made_time_wait(&condition->changes, mark, until_ns);
        return;
    }
    const struct kernel_timespec left = time_left(until_ns);
    bool is_bounded = until_ns != RM_WAIT_FOR_EVER;
    (void)__atomic_add_fetch(&condition->waiters, 1, __ATOMIC_SEQ_CST);
    if (!is_bounded || left.tv_sec > 0 || left.tv_nsec > 0) {
        futex(&condition->changes, FUTEX_WAIT_PRIVATE, mark, is_bounded ? &left : NULL);
    }
    (void)__atomic_sub_fetch(&condition->waiters, 1, __ATOMIC_SEQ_CST);
}

void rm_condition_nap(int64_t ns)
{
    struct rm_condition nothing = {0};
    rm_condition_wait_past(&nothing, 0, rm_clock_monotonic_ns() + ns);
}

bool rm_condition_wait(struct rm_condition *condition, pthread_mutex_t *lock, int64_t until_ns)
{
    uint32_t mark = rm_condition_mark(condition);
    (void)pthread_mutex_unlock(lock);
    rm_condition_wait_past(condition, mark, until_ns);
    (void)pthread_mutex_lock(lock);
    return until_ns == RM_WAIT_FOR_EVER || rm_clock_monotonic_ns() < until_ns;
}
