/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* SIGEV_THREAD_ID, syscall */
#include "stack/sampler.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/compiler.h"
#include "base/status.h"
#include "base/text.h"
#include "base/thread.h"
#include "scope/session.h"
#include "store/stack_record.h"
#include "sys/claimed_signal.h"

#ifndef sigev_notify_thread_id
#define sigev_notify_thread_id _sigev_un._tid
#endif

#define MOST_FORK_NS (100 * RM_NS_PER_MS) /* that a fork waits for handlers to end */

/* All static: a handler that comes late must find something.  Slots and tables are freed when no
 * handler is at work, which `at_work` tells; it is raised before anything else is looked at. */
static struct {
    bool is_open; /* atomic: handlers may take stacks */
    int at_work;  /* atomic: handlers */
    int forks;    /* atomic: being made; handlers take no stacks meanwhile */
    bool
        is_torn; /* a fork came in the midst of a handler: libunwind's locks may be held for good */
    bool has_asked; /* atomic: rm_stack_sampler_ask_all() was called */
    struct rm_stack_terms terms;
    int signal;
    const struct rm_modules *modules;              /* atomic */
    struct rm_stack_slot *slots[RM_STACK_THREADS]; /* atomic; NULL: never used */
    /* The thread of engine/stacks alone: */
    struct rm_modules *retired; /* a table that handlers may still look at */
    bool is_named[RM_STACK_THREADS];
    uint32_t count; /* slots from here on are NULL */
} state;

/* What a signal of ours carries: the address of its slot's byte here. */
static char tokens[RM_STACK_THREADS];

/* ---- in the handler --------------------------------------------------------------------- */

static void take_stack(struct rm_stack_slot *slot, const struct rm_slot_sample *what,
                       const void *context)
{
    struct rm_slot_sample *sample = rm_slot_reserve(slot, what->count);
    if (sample == NULL) {
        return;
    }
    *sample = *what;
    sample->site_count =
        rm_scope_open_sites(&state.terms.block, rm_slot_sites(sample), RM_STACK_SITES);
    slot->unwind.modules = __atomic_load_n(&state.modules, __ATOMIC_ACQUIRE);
    struct rm_unwound unwound =
        rm_unwind_follow(&slot->unwind, context, rm_slot_addresses(sample), RM_STACK_DEPTH);
    sample->depth = unwound.depth;
    sample->is_cut = unwound.is_cut;
    sample->is_broken = unwound.is_broken;
    sample->bytes = rm_slot_bytes_of(sample);
    rm_slot_commit(slot, sample);
}

static struct rm_stack_slot *slot_of_token(const void *token)
{
    uintptr_t at = (uintptr_t)token;
    uintptr_t first = (uintptr_t)&tokens[0];
    return at >= first && at - first < sizeof tokens
               ? __atomic_load_n(&state.slots[at - first], __ATOMIC_ACQUIRE)
               : NULL;
}

static struct rm_stack_slot *slot_of_fd(int fd)
{
    for (size_t i = 0; i < RM_STACK_THREADS; i++) {
        struct rm_stack_slot *slot = __atomic_load_n(&state.slots[i], __ATOMIC_ACQUIRE);
        if (slot == NULL) {
            return NULL;
        }
        if (RM_LOAD(&slot->fault_fd) == fd) {
            return slot;
        }
    }
    return NULL;
}

/* Also one of a counter that is not in its slot yet, or no more, is ours: passed on, a signal whose
 * default is to kill would do so. */
static bool take_faults(const siginfo_t *info, const void *context)
{
    struct rm_stack_slot *slot = slot_of_fd(info->si_fd);
    if (slot == NULL) {
        return true;
    }
    struct rm_slot_sample what = {.cause = RM_SAMPLE_FAULT};
    what.count = rm_perf_ring_take(&slot->faults, &what.address);
    if (what.count > 0) {
        take_stack(slot, &what, context);
    }
    return true;
}

/* By its timer, or by rm_stack_sampler_ask_all(). */
static bool take_asked(const siginfo_t *info, const void *context, bool is_timer)
{
    struct rm_stack_slot *slot = slot_of_token(info->si_value.sival_ptr);
    if (slot == NULL) {
        return false;
    }
    struct rm_slot_sample what = {.cause = RM_SAMPLE_PEAK, .count = 1};
    if (is_timer) {
        what.cause = RM_SAMPLE_CPU;
        what.count = 1 + (uint64_t)(info->si_overrun > 0 ? info->si_overrun : 0);
    }
    take_stack(slot, &what, context);
    return true;
}

static bool handle_open(const siginfo_t *info, void *context)
{
    switch (info->si_code) {
    case SI_TIMER:
        return take_asked(info, context, true);
    case SI_QUEUE:
        return info->si_pid == getpid() && take_asked(info, context, false);
    case POLL_IN:
    case POLL_HUP:
    case POLL_ERR:
        return take_faults(info, context);
    case SI_USER: /* from nobody: the kernel had no room for what rt_tgsigqueueinfo() said */
        return info->si_pid == 0 && RM_LOAD(&state.has_asked);
    default:
        return false;
    }
}

/* Signals of ours that come when all is over are ours still. */
static bool handle(const siginfo_t *info, void *context)
{
    (void)__atomic_add_fetch(&state.at_work, 1, __ATOMIC_SEQ_CST);
    bool is_ours = true;
    if (__atomic_load_n(&state.is_open, __ATOMIC_SEQ_CST) &&
        __atomic_load_n(&state.forks, __ATOMIC_SEQ_CST) == 0) {
        is_ours = handle_open(info, context);
    }
    (void)__atomic_sub_fetch(&state.at_work, 1, __ATOMIC_SEQ_CST);
    return is_ours;
}

/* ---- open, stop, close ------------------------------------------------------------------ */

static void forget_all(void)
{
    __atomic_store_n(&state.is_open, false, __ATOMIC_SEQ_CST);
    __atomic_store_n(&state.at_work, 0, __ATOMIC_SEQ_CST);
    memset(state.slots, 0, sizeof state.slots); /* what they held is the parent's, and stays */
    state.modules = NULL;
    state.retired = NULL;
    state.count = 0;
    rm_claimed_signal_forget();
}

static void before_fork(void)
{
    int64_t until_ns = rm_clock_monotonic_ns() + MOST_FORK_NS;
    (void)__atomic_add_fetch(&state.forks, 1, __ATOMIC_SEQ_CST);
    while (__atomic_load_n(&state.at_work, __ATOMIC_SEQ_CST) > 0 &&
           rm_clock_monotonic_ns() < until_ns) {
        (void)sched_yield();
    }
}

static void after_fork_parent(void)
{
    (void)__atomic_sub_fetch(&state.forks, 1, __ATOMIC_SEQ_CST);
}

/* In the child of a fork no timer and no counter is left, nor the thread that runs all this. */
static void after_fork_child(void)
{
    state.is_torn = state.is_torn || __atomic_load_n(&state.at_work, __ATOMIC_SEQ_CST) > 0;
    __atomic_store_n(&state.forks, 0, __ATOMIC_SEQ_CST);
    forget_all();
}

static void install_fork_handlers(void)
{
    (void)pthread_atfork(before_fork, after_fork_parent, after_fork_child);
}

resmon_status rm_stack_sampler_open(const struct rm_stack_terms *terms)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    (void)pthread_once(&once, install_fork_handlers);
    if (state.is_torn) {
        return rm_error(RESMON_ENOTSUP, "the process was forked while a stack was being taken");
    }
    resmon_status status = rm_unwind_open();
    if (status != RESMON_OK) {
        return status;
    }
    int signal;
    status = rm_claimed_signal_take(handle, &signal);
    if (status != RESMON_OK) {
        return status;
    }
    state.terms = *terms;
    RM_STORE(&state.has_asked, false);
    state.signal = signal;
    if (!rm_stack_sampler_refresh() && state.modules == NULL) {
        rm_claimed_signal_release();
        return rm_error(RESMON_ENOMEM, "out of memory for the list of libraries");
    }
    __atomic_store_n(&state.is_open, true, __ATOMIC_SEQ_CST);
    return RESMON_OK;
}

static bool wait_for_handlers(int64_t most_ns)
{
    const struct timespec pause = {.tv_nsec = 200000};
    int64_t until_ns = rm_clock_monotonic_ns() + most_ns;
    while (__atomic_load_n(&state.at_work, __ATOMIC_SEQ_CST) > 0) {
        if (rm_clock_monotonic_ns() > until_ns) {
            return false;
        }
        (void)nanosleep(&pause, NULL);
    }
    return true;
}

static void silence(struct rm_stack_slot *slot)
{
    if (slot->has_timer) {
        (void)timer_delete(slot->timer);
        slot->has_timer = false;
    }
    RM_STORE(&slot->fault_fd, -1);
    rm_perf_ring_stop(&slot->faults);
}

void rm_stack_sampler_give_up(void)
{
    for (uint32_t i = 0; i < state.count; i++) {
        silence(state.slots[i]);
    }
}

void rm_stack_sampler_stop(void)
{
    rm_stack_sampler_give_up();
    rm_claimed_signal_release();
    __atomic_store_n(&state.is_open, false, __ATOMIC_SEQ_CST);
}

/* A thread that is kept in the handler (by a debugger, say) keeps what it looks at. */
void rm_stack_sampler_close(void)
{
    if (!wait_for_handlers(2 * RM_NS_PER_S)) {
        forget_all();
        return;
    }
    for (uint32_t i = 0; i < state.count; i++) {
        rm_perf_ring_close(&state.slots[i]->faults);
        rm_free(state.slots[i]);
        state.slots[i] = NULL;
        state.is_named[i] = false;
    }
    state.count = 0;
    rm_free((void *)(uintptr_t)state.modules); // NOLINT(performance-no-int-to-ptr)
    rm_free(state.retired);
    state.modules = NULL;
    state.retired = NULL;
}

/* ---- modules ---------------------------------------------------------------------------- */

bool rm_stack_sampler_refresh(void)
{
    struct rm_modules *fresh = NULL;
    if (state.retired != NULL && wait_for_handlers(0)) {
        rm_free(state.retired);
        state.retired = NULL;
    }
    if (state.retired != NULL || !rm_modules_are_old(state.modules) ||
        rm_modules_list(&fresh) != RESMON_OK) {
        return false;
    }
    state.retired =
        (struct rm_modules *)(uintptr_t)state.modules; // NOLINT(performance-no-int-to-ptr)
    __atomic_store_n(&state.modules, fresh, __ATOMIC_RELEASE);
    rm_unwind_forget();
    return true;
}

const struct rm_modules *rm_stack_sampler_modules(void)
{
    return state.modules;
}

/* ---- threads ---------------------------------------------------------------------------- */

static uint32_t find_thread(uint32_t thread)
{
    uint32_t i = 0;
    while (i < state.count && state.slots[i]->thread != thread) {
        i++;
    }
    return i;
}

/* A free slot, made if needed; NULL: there are too many threads. */
static struct rm_stack_slot *take_slot(uint32_t *ret_index)
{
    uint32_t index = find_thread(0);
    if (index == RM_STACK_THREADS) {
        return NULL;
    }
    if (index == state.count) {
        struct rm_stack_slot *fresh = rm_alloc(1, sizeof *fresh);
        if (fresh == NULL) {
            return NULL;
        }
        fresh->fault_fd = -1;
        fresh->faults.fd = -1;
        __atomic_store_n(&state.slots[index], fresh, __ATOMIC_RELEASE);
        state.count++;
    }
    *ret_index = index;
    return state.slots[index];
}

static resmon_status start_timer(struct rm_stack_slot *slot, uint32_t index)
{
    struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = state.signal};
    int64_t every = state.terms.cpu_ns;
    const struct timespec interval = {every / RM_NS_PER_S, every % RM_NS_PER_S};
    const struct itimerspec times = {interval, interval};
    event.sigev_value.sival_ptr = &tokens[index];
    event.sigev_notify_thread_id = (pid_t)slot->thread;
    if (timer_create(rm_thread_cpu_clock_of(slot->thread), &event, &slot->timer) != 0) {
        return rm_error_errno(errno, "cannot make a timer of a thread's CPU time");
    }
    slot->has_timer = true;
    if (timer_settime(slot->timer, 0, &times, NULL) != 0) {
        return rm_error_errno(errno, "cannot set a timer of a thread's CPU time");
    }
    return RESMON_OK;
}

static bool has_ended(uint32_t thread)
{
    return syscall(SYS_tgkill, getpid(), (pid_t)thread, 0) != 0 && errno == ESRCH;
}

/* That a thread ends just now is no failure. */
static resmon_status say(uint32_t thread, resmon_status status, char text[RM_STACK_ERROR_BYTES])
{
    if (status == RESMON_OK || status == RESMON_ESRCH || has_ended(thread)) {
        return RESMON_OK;
    }
    (void)rm_text_set(text, RM_STACK_ERROR_BYTES, resmon_last_error());
    return status;
}

bool rm_stack_sampler_attach(uint32_t thread, struct rm_stack_attached *ret_attached)
{
    uint32_t index = find_thread(thread);
    *ret_attached = (struct rm_stack_attached){.has_slot = true};
    if (index < state.count) {
        state.is_named[index] = true;
        return false;
    }
    struct rm_stack_slot *slot = take_slot(&index);
    if (slot == NULL) {
        ret_attached->has_slot = false;
        return true;
    }
    slot->thread = thread;
    slot->blocked = 0;
    slot->seen_ns = (uint64_t)rm_clock_ns(rm_thread_cpu_clock_of(thread));
    state.is_named[index] = true;
    if (state.terms.fault_period > 0) {
        resmon_status status =
            rm_perf_ring_open(&slot->faults, thread, state.terms.fault_period, state.signal);
        if (status == RESMON_OK) {
            RM_STORE(&slot->fault_fd, slot->faults.fd);
        }
        ret_attached->faults = say(thread, status, ret_attached->faults_error);
    }
    if (state.terms.cpu_ns > 0) {
        ret_attached->timer = say(thread, start_timer(slot, index), ret_attached->timer_error);
    }
    return true;
}

/* A thread that is dead: its handler cannot be at work, and its samples were drained before.  One
 * that lives may go unnamed: where threads end meanwhile, the kernel's list leaves out others, and
 * there may be no descriptor to read it. */
void rm_stack_sampler_forget_ended(void)
{
    for (uint32_t i = 0; i < state.count; i++) {
        struct rm_stack_slot *slot = state.slots[i];
        if (slot->thread != 0 && !state.is_named[i] && has_ended(slot->thread)) {
            silence(slot);
            rm_perf_ring_close(&slot->faults);
            slot->thread = 0;
        }
        state.is_named[i] = false;
    }
}

bool rm_stack_sampler_thread(uint32_t index, struct rm_stack_slot **ret_slot)
{
    if (index >= state.count) {
        return false;
    }
    *ret_slot = state.slots[index];
    return true;
}

void rm_stack_sampler_drain(rm_stack_take_fn take, void *context)
{
    for (uint32_t i = 0; i < state.count; i++) {
        struct rm_stack_slot *slot = state.slots[i];
        const struct rm_slot_sample *sample;
        while ((sample = rm_slot_peek(slot)) != NULL) {
            take(context, sample, slot);
            rm_slot_release(slot, sample);
        }
    }
}

uint64_t rm_stack_sampler_full(void)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < state.count; i++) {
        struct rm_stack_slot *slot = state.slots[i];
        uint64_t full = RM_LOAD(&slot->full);
        sum += full - slot->seen_full;
        slot->seen_full = full;
    }
    return sum;
}

uint32_t rm_stack_sampler_ask_all(void)
{
    uint32_t asked = 0;
    RM_STORE(&state.has_asked, true);
    for (uint32_t i = 0; i < state.count; i++) {
        siginfo_t info;
        memset(&info, 0, sizeof info);
        info.si_code = SI_QUEUE;
        info.si_pid = getpid();
        info.si_uid = getuid();
        info.si_value.sival_ptr = &tokens[i];
        if (state.slots[i]->thread != 0 &&
            syscall(SYS_rt_tgsigqueueinfo, getpid(), (pid_t)state.slots[i]->thread, state.signal,
                    &info) == 0) {
            asked++;
        }
    }
    return asked;
}

int rm_stack_sampler_signal(void)
{
    return state.signal;
}
