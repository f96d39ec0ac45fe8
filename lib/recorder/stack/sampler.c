/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* SIGEV_THREAD_ID, ppoll */
#include "stack/round.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/compiler.h"
#include "base/status.h"
#include "base/text.h"
#include "base/thread.h"
#include "os/program.h"
#include "stack/code.h"
#include "stack/handler.h"
#include "stack/slot.h"

#ifndef sigev_notify_thread_id
#define sigev_notify_thread_id _sigev_un._tid
#endif

/* Capacity of new threads between two calls; the next round finds more. */
#define MOST_NEW_THREADS 128U

static struct {
    bool is_taken; /* atomic: from open to the end of close */
    struct rm_stack_terms terms;
    /* Used by the thread of engine/stacks only: */
    bool expects_huge_pages;
    bool is_silent; /* no signal is sent: the program handles them */
    struct pollfd rings[2 * RM_STACK_THREADS];
    uint32_t new_threads[MOST_NEW_THREADS]; /* new threads, not attached yet */
    uint32_t new_thread_count;
} state;

/* ---- open, stop, close ------------------------------------------------------------------ */

static void leave_all(void)
{
    rm_slots_forget();
    rm_code_forget();
    rm_python_inside_forget();
    __atomic_store_n(&state.is_taken, false, __ATOMIC_SEQ_CST);
}

static resmon_status open_taken(const struct rm_stack_terms *terms)
{
    state.terms = *terms;
    state.is_silent = !terms->wants_signal;
    state.new_thread_count = 0;
    if (!rm_code_refresh(true) && rm_code_now() == NULL) {
        return rm_error(RESMON_ENOMEM, "out of memory for the list of libraries");
    }
    return rm_handler_open(&terms->block, terms->wants_signal);
}

resmon_status rm_stack_sampler_open(const struct rm_stack_terms *terms)
{
    resmon_status status = rm_handler_survive_forks(leave_all);
    if (status == RESMON_OK) {
        status = rm_unwind_open();
    }
    if (status != RESMON_OK) {
        return status;
    }
    if (__atomic_exchange_n(&state.is_taken, true, __ATOMIC_SEQ_CST)) {
        return rm_error(RESMON_EBUSY, "another monitor takes stacks");
    }
    status = open_taken(terms);
    if (status != RESMON_OK) {
        rm_code_free();
        __atomic_store_n(&state.is_taken, false, __ATOMIC_SEQ_CST);
    }
    return status;
}

void rm_stack_sampler_expect_huge_pages(bool are_likely)
{
    state.expects_huge_pages = are_likely;
}

void rm_stack_sampler_look_closely(void)
{
    for (uint32_t i = 0; i < rm_slots_count(); i++) {
        rm_faults_look_closely(&rm_slots_at(i)->faults);
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
    rm_faults_close(&slot->faults);
}

void rm_stack_sampler_give_up(void)
{
    state.is_silent = true;
    state.terms.cpu_ns = 0;
    for (uint32_t i = 0; i < rm_slots_count(); i++) {
        stop_timer(rm_slots_at(i));
    }
}

void rm_stack_sampler_stop(void)
{
    for (uint32_t i = 0; i < rm_slots_count(); i++) {
        silence(rm_slots_at(i));
    }
    rm_handler_close();
}

/* Memory of a thread that is stopped in the handler (by a debugger, say) is not freed. */
void rm_stack_sampler_close(void)
{
    if (rm_handler_wait(2 * RM_NS_PER_S)) {
        rm_slots_free();
        rm_code_free();
        rm_python_inside_free();
    }
    leave_all();
}

bool rm_stack_sampler_refresh(void)
{
    return rm_code_refresh(rm_handler_wait(0));
}

const char *rm_stack_sampler_find_python(void)
{
    const char *why = rm_python_inside_find(rm_code_now()->modules);
    for (uint32_t i = 0; i < rm_slots_count(); i++) {
        struct rm_stack_slot *slot = rm_slots_at(i);
        if (slot->python == NULL) {
            __atomic_store_n(&slot->python, rm_python_inside_new(slot->thread), __ATOMIC_RELEASE);
        }
    }
    return why;
}

/* ---- threads ---------------------------------------------------------------------------- */

static resmon_status start_timer(struct rm_stack_slot *slot)
{
    struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = rm_handler_signal()};
    int64_t every = state.terms.cpu_ns;
    const struct timespec interval = {every / RM_NS_PER_S, every % RM_NS_PER_S};
    const struct itimerspec times = {interval, interval};
    event.sigev_value.sival_ptr = rm_slots_token(slot);
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

/* The end of a thread meanwhile is no failure. */
static resmon_status say(uint32_t thread, resmon_status status, char text[RM_STACK_ERROR_BYTES],
                         bool *ret_has_ended)
{
    if (status == RESMON_OK) {
        return RESMON_OK;
    }
    if (status == RESMON_ESRCH || has_ended(thread)) {
        *ret_has_ended = true;
        return RESMON_OK;
    }
    (void)rm_text_set(text, RM_STACK_ERROR_BYTES, resmon_last_error());
    return status;
}

static void attach(struct rm_stack_slot *slot, struct rm_stack_attached *attached)
{
    if (slot->python != NULL) { /* of a thread that has ended */
        rm_python_inside_begin(slot->python, slot->thread);
    } else {
        __atomic_store_n(&slot->python, rm_python_inside_new(slot->thread), __ATOMIC_RELEASE);
    }
    slot->blocked = 0;
    slot->is_hung_up = false;
    slot->seen_ns = (uint64_t)rm_clock_cpu_ns(rm_thread_cpu_clock_of(slot->thread));
    const struct rm_fault_terms terms = {
        .thread = slot->thread,
        .period = state.terms.fault_period,
        .is_fine = state.expects_huge_pages,
        .signal = slot->python != NULL && !state.is_silent ? rm_handler_signal() : 0,
    };
    resmon_status status = rm_faults_open(&slot->faults, &terms);
    attached->faults = say(slot->thread, status, attached->faults_error, &attached->has_ended);
    if (status == RESMON_OK && state.terms.fault_period > 0) {
        attached->lacks_kernel = !slot->faults.minor.ring.has_kernel;
        attached->lacks_pages = !slot->faults.minor.ring.has_pages;
    }
    if (state.terms.cpu_ns > 0) {
        attached->timer =
            say(slot->thread, start_timer(slot), attached->timer_error, &attached->has_ended);
    }
}

bool rm_stack_sampler_attach(uint32_t thread, struct rm_stack_attached *ret_attached)
{
    if (rm_slots_find(thread) != NULL) {
        return false;
    }
    struct rm_stack_slot *slot = rm_slots_take(thread);
    *ret_attached = (struct rm_stack_attached){.has_slot = slot != NULL};
    if (slot != NULL) {
        attach(slot, ret_attached);
    }
    return true;
}

/* Of an ended thread, the handler does not run, and all samples were drained.  A living thread may
 * be missing in the list: the kernel leaves out threads when others end meanwhile, and there may be
 * no descriptor to read it. */
void rm_stack_sampler_forget_ended(void)
{
    for (uint32_t i = 0; i < rm_slots_count(); i++) {
        struct rm_stack_slot *slot = rm_slots_at(i);
        if (!rm_slots_was_named(i) && slot->thread != 0 && has_ended(slot->thread)) {
            silence(slot);
            slot->thread = 0;
        }
        rm_faults_check(&slot->faults);
    }
}

/* ---- taking out ------------------------------------------------------------------------- */

struct taking {
    rm_stack_take_fn take;
    void *context;
    struct rm_stack_slot *slot;
};

/* The Python stack at a page fault, which is the next sample of the handler. */
static const struct rm_slot_sample *python_at(const struct taking *taking,
                                              const struct rm_slot_sample *fault)
{
    const struct rm_slot_sample *next = rm_slot_find(taking->slot, fault->t_ns);
    return next != NULL && rm_python_inside_is_of(next, fault) ? next : NULL;
}

static void take_fault(void *context, const struct rm_slot_sample *sample)
{
    const struct taking *taking = context;
    taking->take(taking->context, sample, python_at(taking, sample), taking->slot);
}

static void keep_new_thread(void *context, uint32_t new_thread)
{
    (void)context;
    if (state.new_thread_count < MOST_NEW_THREADS) {
        state.new_threads[state.new_thread_count++] = new_thread;
    }
}

void rm_stack_sampler_drain(rm_stack_take_fn take, void *context)
{
    for (uint32_t i = 0; i < rm_slots_count(); i++) {
        struct rm_stack_slot *slot = rm_slots_at(i);
        struct taking taking = {take, context, slot};
        const struct rm_faults_taker taker = {take_fault, keep_new_thread, &taking};
        const struct rm_slot_sample *sample;
        uint64_t head = RM_LOAD_ACQUIRE(&slot->head); /* the rest may be of later page faults */
        rm_faults_drain(&slot->faults, slot->thread, &state.terms.block, &taker);
        while ((sample = rm_slot_peek(slot, head)) != NULL) {
            if (sample->cause != RM_SAMPLE_PYTHON) {
                take(context, sample, sample, slot);
            }
            rm_slot_release(slot, sample);
        }
    }
}

uint32_t rm_stack_sampler_take_new_thread(void)
{
    return state.new_thread_count > 0 ? state.new_threads[--state.new_thread_count] : 0;
}

/* ---- waiting ---------------------------------------------------------------------------- */

/* The open rings of a slot; NULL past the last. */
static const struct rm_perf_ring *polled_ring(const struct rm_stack_slot *slot, size_t index)
{
    const struct rm_perf_ring *rings[] = {&slot->faults.minor.ring, &slot->faults.major.ring};
    return rings[index]->fd >= 0 && !slot->is_hung_up ? rings[index] : NULL;
}

static nfds_t list_rings(struct pollfd *rings, bool wakes_for_threads)
{
    nfds_t count = 0;
    for (uint32_t i = 0; i < 2 * rm_slots_count(); i++) {
        const struct rm_perf_ring *ring = polled_ring(rm_slots_at(i / 2), i % 2);
        if (ring != NULL) { /* the second ring reports new threads; where the thread gets signals,
                               its handler ends the wait; poll() ignores -1 */
            bool is_waited_for = i % 2 == 0 ? ring->signal == 0 : wakes_for_threads;
            rings[count++] = (struct pollfd){.fd = is_waited_for ? ring->fd : -1, .events = POLLIN};
        }
    }
    return count;
}

/* The ring of an ended thread would end every wait; so would a descriptor that belongs to another
 * file now. */
static void leave_hung_up(const struct pollfd *rings)
{
    nfds_t count = 0;
    for (uint32_t i = 0; i < rm_slots_count(); i++) {
        struct rm_stack_slot *slot = rm_slots_at(i);
        short seen = 0;
        for (size_t k = 0; k < 2; k++) {
            seen |= polled_ring(slot, k) != NULL ? rings[count++].revents : 0;
        }
        if ((seen & (POLLHUP | POLLERR | POLLNVAL)) != 0) {
            rm_faults_check(&slot->faults);
            slot->is_hung_up = (seen & (POLLHUP | POLLERR)) != 0 &&
                               (polled_ring(slot, 0) != NULL || polled_ring(slot, 1) != NULL);
        }
    }
}

/* Waits for a ring, the timeout, or rm_handler_wake(), whose signal is unblocked in this wait only.
 */
void rm_stack_sampler_wait(int64_t most_ns, bool wakes_for_threads)
{
    sigset_t mask;
    const struct timespec most = {most_ns / RM_NS_PER_S, most_ns % RM_NS_PER_S};
    (void)sigfillset(&mask);
    if (rm_claimed_signal_is_ours()) { /* else the handler is the program's */
        (void)sigdelset(&mask, rm_handler_signal());
    }
    int ready = ppoll(state.rings, list_rings(state.rings, wakes_for_threads), &most, &mask);
    if (ready > 0) {
        leave_hung_up(state.rings);
    } else if (ready < 0 && errno != EINTR) {
        /* a seccomp filter refuses ppoll(): sleep instead of spinning */
        (void)nanosleep(&most, NULL);
    }
}

uint64_t rm_stack_sampler_bytes(void)
{
    uint64_t each = sizeof(struct rm_stack_slot);
    each += rm_python_inside_is_on() ? sizeof(struct rm_python_inside) : 0;
    return rm_slots_count() * each;
}

uint64_t rm_stack_sampler_full(void)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < rm_slots_count(); i++) {
        struct rm_stack_slot *slot = rm_slots_at(i);
        uint64_t full = RM_LOAD(&slot->full) + slot->faults.full;
        sum += full - slot->seen_full;
        slot->seen_full = full;
    }
    return sum;
}

uint32_t rm_stack_sampler_request_all(void)
{
    uint32_t requested = 0;
    for (uint32_t i = 0; i < rm_slots_count(); i++) {
        const struct rm_stack_slot *slot = rm_slots_at(i);
        requested +=
            slot->thread != 0 && rm_handler_request(slot->thread, rm_slots_token(slot)) ? 1 : 0;
    }
    return requested;
}
