/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* SIGEV_THREAD_ID, syscall */
#include "stack/sampler.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <sys/syscall.h>
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
    bool is_taken;  /* atomic: from open to the end of close */
    bool is_open;   /* atomic: handlers may take stacks */
    int at_work;    /* atomic: handlers */
    int forks;      /* atomic: being made; handlers take no stacks meanwhile */
    bool is_torn;   /* a fork came in the midst of a handler: libunwind's locks may be held */
    bool has_asked; /* atomic: signals were sent by rt_tgsigqueueinfo() */
    struct rm_stack_terms terms;
    int signal;
    struct rm_code *code;                          /* atomic */
    struct rm_stack_slot *slots[RM_STACK_THREADS]; /* atomic; NULL: never used */
    /* The thread of engine/stacks alone: */
    struct rm_code *retired; /* handlers may still look at it */
    bool is_named[RM_STACK_THREADS];
    struct pollfd rings[RM_STACK_THREADS];
    struct rm_unwind unwind; /* of faults */
    unsigned char record[RM_PERF_RECORD_BYTES] __attribute__((aligned(8)));
    struct {
        struct rm_slot_sample sample;
        unsigned char parts[RM_STACK_SITES * sizeof(uint32_t) + RM_STACK_DEPTH * sizeof(uint64_t)];
    } faulted;
    uint32_t count; /* slots from here on are NULL */
} state;

/* What a signal of ours carries: the address of its slot's byte here. */
static char tokens[RM_STACK_THREADS];
static char wake_token; /* this one wakes the thread of engine/stacks */

/* ---- in the handler --------------------------------------------------------------------- */

static void follow(struct rm_unwind *unwind, const struct rm_unwind_start *start,
                   struct rm_slot_sample *sample)
{
    struct rm_unwound unwound =
        rm_unwind_follow(unwind, start, rm_slot_addresses(sample), RM_STACK_DEPTH);
    sample->depth = unwound.depth;
    sample->is_cut = unwound.is_cut;
    sample->is_broken = unwound.is_broken;
    sample->bytes = rm_slot_bytes_of(sample);
}

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
    const struct rm_unwind_start start = {.context = context};
    slot->unwind.code = __atomic_load_n(&state.code, __ATOMIC_SEQ_CST);
    follow(&slot->unwind, &start, sample);
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

/* By its timer, or by rm_stack_sampler_ask_all(). */
static bool take_asked(const siginfo_t *info, const void *context, bool is_timer)
{
    struct rm_stack_slot *slot = slot_of_token(info->si_value.sival_ptr);
    if (slot == NULL) {
        return info->si_value.sival_ptr == &wake_token;
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
    memset(state.slots, 0, sizeof state.slots); /* what they held is the parent's, and stays */
    state.code = NULL;
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
    __atomic_store_n(&state.at_work, 0, __ATOMIC_SEQ_CST);
    forget_all();
    __atomic_store_n(&state.is_taken, false, __ATOMIC_SEQ_CST);
}

static void install_fork_handlers(void)
{
    (void)pthread_atfork(before_fork, after_fork_parent, after_fork_child);
}

static resmon_status open_taken(const struct rm_stack_terms *terms)
{
    int signal = 0;
    resmon_status status =
        terms->wants_signal ? rm_claimed_signal_take(handle, &signal) : RESMON_OK;
    if (status != RESMON_OK) {
        return status;
    }
    state.terms = *terms;
    RM_STORE(&state.has_asked, false);
    state.signal = signal;
    if (!rm_stack_sampler_refresh() && state.code == NULL) {
        rm_claimed_signal_release();
        return rm_error(RESMON_ENOMEM, "out of memory for the list of libraries");
    }
    __atomic_store_n(&state.is_open, true, __ATOMIC_SEQ_CST);
    return RESMON_OK;
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
    if (__atomic_exchange_n(&state.is_taken, true, __ATOMIC_SEQ_CST)) {
        return rm_error(RESMON_EBUSY, "another monitor takes stacks");
    }
    status = open_taken(terms);
    if (status != RESMON_OK) {
        __atomic_store_n(&state.is_taken, false, __ATOMIC_SEQ_CST);
    }
    return status;
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

static void free_code(struct rm_code *code)
{
    if (code != NULL) {
        rm_free(code->modules);
        rm_free(code->recipes);
        rm_free(code);
    }
}

static void stop_timer(struct rm_stack_slot *slot)
{
    if (slot->has_timer) {
        (void)timer_delete(slot->timer);
        slot->has_timer = false;
    }
}

static void silence(struct rm_stack_slot *slot)
{
    stop_timer(slot);
    rm_perf_ring_close(&slot->faults);
}

void rm_stack_sampler_give_up(void)
{
    state.terms.cpu_ns = 0;
    for (uint32_t i = 0; i < state.count; i++) {
        stop_timer(state.slots[i]);
    }
}

void rm_stack_sampler_stop(void)
{
    for (uint32_t i = 0; i < state.count; i++) {
        silence(state.slots[i]);
    }
    rm_claimed_signal_release();
    __atomic_store_n(&state.is_open, false, __ATOMIC_SEQ_CST);
}

/* A thread that is kept in the handler (by a debugger, say) keeps what it looks at. */
void rm_stack_sampler_close(void)
{
    if (!wait_for_handlers(2 * RM_NS_PER_S)) {
        forget_all();
        __atomic_store_n(&state.is_taken, false, __ATOMIC_SEQ_CST);
        return;
    }
    for (uint32_t i = 0; i < state.count; i++) {
        rm_free(state.slots[i]);
        state.slots[i] = NULL;
        state.is_named[i] = false;
    }
    state.count = 0;
    free_code(state.code);
    free_code(state.retired);
    state.code = NULL;
    state.retired = NULL;
    __atomic_store_n(&state.is_taken, false, __ATOMIC_SEQ_CST);
}

/* ---- modules ---------------------------------------------------------------------------- */

static resmon_status list_code(struct rm_code **ret_code)
{
    struct rm_code *code = rm_alloc(1, sizeof *code);
    resmon_status status = code != NULL ? rm_modules_list(&code->modules) : RESMON_ENOMEM;
    if (status != RESMON_OK) {
        rm_free(code);
        return status;
    }
    code->recipes = rm_recipes_new();
    *ret_code = code;
    return RESMON_OK;
}

bool rm_stack_sampler_refresh(void)
{
    struct rm_code *fresh = NULL;
    if (state.retired != NULL && wait_for_handlers(0)) {
        free_code(state.retired);
        state.retired = NULL;
    }
    if (state.retired != NULL ||
        !rm_modules_are_old(state.code != NULL ? state.code->modules : NULL) ||
        list_code(&fresh) != RESMON_OK) {
        return false;
    }
    state.retired = state.code;
    __atomic_store_n(&state.code, fresh, __ATOMIC_SEQ_CST);
    return true;
}

const struct rm_modules *rm_stack_sampler_modules(void)
{
    return state.code->modules;
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
        fresh->faults.fd = -1;
        memset(fresh->ring, 0xff,
               sizeof fresh->ring); /* page faults of ours are not the program's */
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
    slot->faults_taken = 0;
    slot->is_hung_up = false;
    slot->seen_ns = (uint64_t)rm_clock_ns(rm_thread_cpu_clock_of(thread));
    state.is_named[index] = true;
    if (state.terms.fault_period > 0) {
        resmon_status status = rm_perf_ring_open(&slot->faults, thread, state.terms.fault_period);
        ret_attached->faults = say(thread, status, ret_attached->faults_error);
        ret_attached->lacks_kernel = status == RESMON_OK && !slot->faults.has_kernel;
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

/* The scopes are those that are open still: the sample is a few milliseconds old. */
static void take_fault(struct rm_stack_slot *slot, const struct rm_perf_sample *fault,
                       rm_stack_take_fn take, void *context)
{
    struct rm_slot_sample *sample = &state.faulted.sample;
    *sample =
        (struct rm_slot_sample){.cause = RM_SAMPLE_FAULT, .count = 1, .address = fault->address};
    sample->site_count = rm_scope_sites_then(&state.terms.block, slot->thread, fault->t_ns,
                                             rm_slot_sites(sample), RM_STACK_SITES);
    const struct rm_unwind_start start = {
        .registers = fault->registers,
        .stack_address = rm_unwind_stack_pointer(fault->registers),
        .stack = fault->stack,
        .stack_bytes = fault->stack_bytes,
    };
    state.unwind.code = state.code;
    follow(&state.unwind, &start, sample);
    take(context, sample, slot);
}

/* Samples that found the ring full came from the same thread a moment later than the last one that
 * did not, and are charged to that. */
static void drain_faults(struct rm_stack_slot *slot, rm_stack_take_fn take, void *context)
{
    struct rm_perf_sample fault;
    uint64_t before = slot->faults_taken;
    uint64_t all = rm_perf_ring_count(&slot->faults); /* first: what comes meanwhile is in none */
    while (rm_perf_ring_take(&slot->faults, state.record, &fault)) {
        take_fault(slot, &fault, take, context);
        slot->faults_taken++;
    }
    if (slot->faults_taken != before && all > slot->faults_taken) {
        struct rm_slot_sample *last = &state.faulted.sample;
        last->count = all - slot->faults_taken;
        slot->full_faults += last->count;
        slot->faults_taken = all;
        take(context, last, slot);
    }
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
        drain_faults(slot, take, context);
    }
}

static bool is_polled(const struct rm_stack_slot *slot)
{
    return slot->faults.fd >= 0 && !slot->is_hung_up;
}

/* Until a ring fills, or the time has come, or rm_stack_sampler_wake(), whose signal only this wait
 * lets through. */
void rm_stack_sampler_wait(int64_t most_ns)
{
    struct pollfd *rings = state.rings;
    nfds_t count = 0;
    sigset_t mask;
    const struct timespec most = {most_ns / RM_NS_PER_S, most_ns % RM_NS_PER_S};
    (void)sigfillset(&mask);
    if (rm_claimed_signal_is_ours()) { /* else it is the program's, which has no business here */
        (void)sigdelset(&mask, state.signal);
    }
    for (uint32_t i = 0; i < state.count; i++) {
        if (is_polled(state.slots[i])) {
            rings[count++] = (struct pollfd){.fd = state.slots[i]->faults.fd, .events = POLLIN};
        }
    }
    if (ppoll(rings, count, &most, &mask) <= 0) {
        return;
    }
    count = 0;
    for (uint32_t i = 0; i < state.count; i++) {
        if (is_polled(state.slots[i])) {
            /* Of a thread that has ended; it would be so for ever. */
            state.slots[i]->is_hung_up = (rings[count++].revents & (POLLHUP | POLLERR)) != 0;
        }
    }
}

static bool send_token(uint32_t thread, void *token)
{
    siginfo_t info;
    RM_STORE(&state.has_asked, true);
    memset(&info, 0, sizeof info);
    info.si_code = SI_QUEUE;
    info.si_pid = getpid();
    info.si_uid = getuid();
    info.si_value.sival_ptr = token;
    return syscall(SYS_rt_tgsigqueueinfo, getpid(), (pid_t)thread, state.signal, &info) == 0;
}

void rm_stack_sampler_wake(uint32_t thread)
{
    if (rm_claimed_signal_is_ours()) {
        (void)send_token(thread, &wake_token);
    }
}

uint64_t rm_stack_sampler_full(void)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < state.count; i++) {
        struct rm_stack_slot *slot = state.slots[i];
        uint64_t full = RM_LOAD(&slot->full) + slot->full_faults;
        sum += full - slot->seen_full;
        slot->seen_full = full;
    }
    return sum;
}

uint32_t rm_stack_sampler_ask_all(void)
{
    uint32_t asked = 0;
    for (uint32_t i = 0; i < state.count; i++) {
        uint32_t thread = state.slots[i]->thread;
        asked += thread != 0 && send_token(thread, &tokens[i]) ? 1 : 0;
    }
    return asked;
}

int rm_stack_sampler_signal(void)
{
    return state.signal;
}
