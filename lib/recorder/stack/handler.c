/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* syscall */
#include "stack/handler.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/compiler.h"
#include "base/fork.h"
#include "base/status.h"
#include "os/program.h"
#include "scope/scope.h"
#include "stack/slot.h"

/* Bytes in the ring of a slot from which on it is drained. */
#define MOST_WAITING (RM_SLOT_RING_BYTES / 4)

#define MOST_FORK_NS (100 * RM_NS_PER_MS) /* bound of a fork's wait for running handlers */

/* Static, as a late handler must find it.  `at_work` is increased before anything else is read. */
static struct {
    bool is_open;       /* atomic: handlers may take stacks */
    int at_work;        /* atomic: running handlers */
    int forks;          /* atomic: forks in progress, during which no stacks are taken */
    bool is_torn;       /* a fork was inside a handler: libunwind's locks may be held */
    bool has_requested; /* atomic: signals were sent by rt_tgsigqueueinfo(), or by the kernel */
    uint32_t drainer;   /* atomic: thread */
    uint64_t ticks;     /* atomic: time of handlers */
    struct rm_block block;
    int signal;
    void (*forget)(void);
} state;

static char wake_token;

/* ---- in the handler --------------------------------------------------------------------- */

static void set_place(struct rm_slot_sample *sample, const void *context)
{
    sample->t_ns = rm_clock_monotonic_ns();
    sample->stack = rm_view_stack_in(context);
    sample->instruction = rm_view_instruction_in(context);
}

static void take_stack(struct rm_stack_slot *slot, const struct rm_slot_sample *what,
                       const void *context)
{
    struct rm_slot_sample *sample = rm_slot_reserve(slot, what->count);
    if (sample == NULL) {
        return;
    }
    *sample = *what;
    set_place(sample, context);
    sample->site_count = rm_scope_open_sites(&state.block, rm_slot_sites(sample), RM_STACK_SITES);
    const struct rm_view_start start = {.context = context};
    struct rm_python_inside *python = __atomic_load_n(&slot->python, __ATOMIC_ACQUIRE);
    slot->unwind.code = rm_code_now();
    slot->unwind.stacks = python != NULL ? python->stacks : NULL;
    struct rm_unwound unwound =
        rm_unwind_follow(&slot->unwind, &start, rm_slot_addresses(sample), RM_STACK_DEPTH);
    sample->depth = unwound.depth;
    sample->is_cut = unwound.is_cut;
    sample->is_broken = unwound.is_broken;
    if (python != NULL && rm_unwind_has_room(context)) {
        rm_python_inside_add(python, sample);
    }
    sample->bytes = rm_slot_bytes_of(sample);
    rm_slot_commit(slot, sample);
}

/* The Python stack at a page fault, whose native stack the kernel has put into its ring. */
static void read_python(const void *context)
{
    uint32_t thread = (uint32_t)syscall(SYS_gettid);
    struct rm_stack_slot *slot = rm_slots_of_thread(thread);
    struct rm_python_inside *python =
        slot != NULL ? __atomic_load_n(&slot->python, __ATOMIC_ACQUIRE) : NULL;
    struct rm_slot_sample *sample = python != NULL ? rm_slot_reserve(slot, 0) : NULL;
    if (sample == NULL) {
        return;
    }
    *sample = (struct rm_slot_sample){.cause = RM_SAMPLE_PYTHON};
    set_place(sample, context);
    if (!rm_unwind_has_room(context) || !rm_python_inside_read(python, sample)) {
        return;
    }
    sample->bytes = rm_slot_bytes_of(sample);
    rm_slot_commit(slot, sample);
    if (slot->head - RM_LOAD(&slot->tail) > MOST_WAITING &&
        slot->head - slot->woken > MOST_WAITING) {
        slot->woken = slot->head;
        (void)rm_handler_request(RM_LOAD(&state.drainer), &wake_token);
    }
}

/* A stack by the thread's timer, or by rm_handler_request(). */
static bool take_requested(const siginfo_t *info, const void *context, bool is_timer)
{
    struct rm_stack_slot *slot = rm_slots_of_token(info->si_value.sival_ptr);
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
        return take_requested(info, context, true);
    case SI_QUEUE:
        return info->si_pid == getpid() && take_requested(info, context, false);
    case POLL_IN:
        read_python(context);
        return true;
    case SI_USER: /* the kernel lacked memory for the data of rt_tgsigqueueinfo() */
        return info->si_pid == 0 && RM_LOAD(&state.has_requested);
    default:
        return false;
    }
}

/* Our signals that arrive after the end are ignored, not passed on. */
static bool handle(const siginfo_t *info, void *context)
{
    (void)__atomic_add_fetch(&state.at_work, 1, __ATOMIC_SEQ_CST);
    uint64_t begin = rm_clock_ticks();
    bool is_ours = true;
    if (__atomic_load_n(&state.is_open, __ATOMIC_SEQ_CST) &&
        __atomic_load_n(&state.forks, __ATOMIC_SEQ_CST) == 0) {
        is_ours = handle_open(info, context);
    }
    (void)__atomic_add_fetch(&state.ticks, rm_clock_ticks() - begin, __ATOMIC_RELAXED);
    (void)__atomic_sub_fetch(&state.at_work, 1, __ATOMIC_SEQ_CST);
    return is_ours;
}

uint64_t rm_handler_ticks(void)
{
    return RM_LOAD(&state.ticks);
}

/* ---- open and close --------------------------------------------------------------------- */

resmon_status rm_handler_open(const struct rm_block *block, bool wants_signal)
{
    int signal = 0;
    resmon_status status = wants_signal ? rm_claimed_signal_take(handle, &signal) : RESMON_OK;
    if (status != RESMON_OK) {
        return status;
    }
    state.block = *block;
    state.signal = signal;
    RM_STORE(&state.has_requested, false);
    RM_STORE(&state.ticks, 0);
    __atomic_store_n(&state.is_open, true, __ATOMIC_SEQ_CST);
    return RESMON_OK;
}

void rm_handler_close(void)
{
    rm_claimed_signal_release();
    __atomic_store_n(&state.is_open, false, __ATOMIC_SEQ_CST);
}

bool rm_handler_wait(int64_t most_ns)
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

int rm_handler_signal(void)
{
    return state.signal;
}

/* ---- sending ---------------------------------------------------------------------------- */

bool rm_handler_request(uint32_t thread, void *token)
{
    siginfo_t info;
    RM_STORE(&state.has_requested, true);
    memset(&info, 0, sizeof info);
    info.si_code = SI_QUEUE;
    info.si_pid = getpid();
    info.si_uid = getuid();
    info.si_value.sival_ptr = token;
    return syscall(SYS_rt_tgsigqueueinfo, getpid(), (pid_t)thread, state.signal, &info) == 0;
}

void rm_handler_set_drainer(uint32_t thread)
{
    RM_STORE(&state.has_requested, true);
    RM_STORE(&state.drainer, thread);
}

void rm_handler_wake(uint32_t thread)
{
    if (rm_claimed_signal_is_ours()) {
        (void)rm_handler_request(thread, &wake_token);
    }
}

/* ---- forks ------------------------------------------------------------------------------ */

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

/* A forked child has no timers and counters, and no thread of ours. */
static void after_fork_child(void)
{
    state.is_torn = state.is_torn || __atomic_load_n(&state.at_work, __ATOMIC_SEQ_CST) > 0;
    __atomic_store_n(&state.forks, 0, __ATOMIC_SEQ_CST);
    __atomic_store_n(&state.at_work, 0, __ATOMIC_SEQ_CST);
    __atomic_store_n(&state.is_open, false, __ATOMIC_SEQ_CST);
    rm_claimed_signal_forget();
    state.forget();
}

static const struct rm_fork_part at_fork = {before_fork, after_fork_parent, after_fork_child};

resmon_status rm_handler_survive_forks(void (*forget)(void))
{
    state.forget = forget;
    rm_fork_take_part(RM_FORK_STACKS, &at_fork);
    return !state.is_torn
               ? RESMON_OK
               : rm_error(RESMON_ENOTSUP, "the process was forked while a stack was being taken");
}
