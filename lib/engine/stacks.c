/* SPDX-License-Identifier: MIT */
#include "engine/stacks.h"

#include <pthread.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/status.h"
#include "base/text.h"
#include "base/thread.h"
#include "engine/stack_round.h"
#include "engine/stack_threads.h"
#include "stack/handler.h"
#include "sys/kept.h"

#define ROUND_NS   (20 * RM_NS_PER_MS)
#define SHORT_NS   (4 * RM_NS_PER_MS) /* while page faults come: their scopes are still open */
#define MOST_WAKES 24U                /* between two rounds, by births and major faults */
#define TEXT_BYTES 160

struct rm_stacks {
    struct rm_stack_round round; /* the thread's alone, once it runs */
    pthread_t thread;
    bool is_stopping;     /* atomic */
    pthread_mutex_t lock; /* guards the members below */
    pthread_cond_t answered;
    bool has_begun;
    uint32_t number; /* the kernel's, of the thread */
};

/* ---- the thread ------------------------------------------------------------------------- */

static void tell_begun(struct rm_stacks *stacks)
{
    (void)pthread_mutex_lock(&stacks->lock);
    stacks->has_begun = true;
    stacks->number = rm_thread_id();
    (void)pthread_cond_signal(&stacks->answered);
    (void)pthread_mutex_unlock(&stacks->lock);
}

/* Until it is stopped. */
static void make_rounds(struct rm_stacks *stacks, bool is_open)
{
    struct rm_stack_round *round = &stacks->round;
    int64_t until_ns = rm_clock_monotonic_ns() + ROUND_NS;
    uint32_t wakes = 0; /* since the latest round */
    while (!__atomic_load_n(&stacks->is_stopping, __ATOMIC_SEQ_CST)) {
        rm_stack_sampler_wait(round->has_faults ? SHORT_NS : ROUND_NS,
                              wakes++ < MOST_WAKES && rm_stack_threads_may_be_greeted(round));
        int64_t now_ns = rm_clock_monotonic_ns();
        if (is_open && now_ns >= until_ns) {
            rm_stack_round_make(round);
            until_ns = now_ns + ROUND_NS;
            wakes = 0;
        } else if (is_open) {
            rm_stack_round_drain(round);
        }
    }
}

static void *run_thread(void *context)
{
    struct rm_stacks *stacks = context;
    struct rm_stack_round *round = &stacks->round;
    rm_kept_isolate_thread();
    resmon_status status = rm_stack_round_open(round);
    bool is_open = status == RESMON_OK;
    if (is_open) {
        rm_stack_round_make(round);
    } else {
        rm_stack_round_set_kinds(round, RESMON_STACKS_ALL, status, resmon_last_error());
    }
    tell_begun(stacks);
    make_rounds(stacks, is_open);
    if (is_open) {
        rm_stack_round_drain(round); /* page faults: their rings go with the stop */
    }
    rm_stack_sampler_stop();
    if (is_open) {
        rm_stack_round_finish(round);
        rm_stack_round_close(round);
    }
    rm_stack_sampler_close();
    return NULL;
}

/* ---- start and stop --------------------------------------------------------------------- */

static void free_stacks(struct rm_stacks *stacks)
{
    rm_stack_writer_close(&stacks->round.writer);
    (void)pthread_mutex_destroy(&stacks->lock);
    (void)pthread_cond_destroy(&stacks->answered);
    rm_free(stacks);
}

static struct rm_stacks *make(const struct rm_block *block, const struct rm_options *options)
{
    struct rm_stacks *stacks = rm_alloc(1, sizeof *stacks);
    if (stacks == NULL) {
        return NULL;
    }
    stacks->round.wanted = options->stacks;
    stacks->round.page_bytes = (uint64_t)sysconf(_SC_PAGESIZE);
    stacks->round.terms.block = *block;
    if ((options->stacks & RESMON_STACKS_CPU) != 0) {
        stacks->round.terms.cpu_ns = RM_NS_PER_S / (int64_t)options->stack_hz;
    }
    if ((options->stacks & RESMON_STACKS_MEMORY) != 0) {
        stacks->round.terms.fault_period = options->fault_period;
    }
    stacks->round.terms.wants_signal =
        (options->stacks & (RESMON_STACKS_CPU | RESMON_STACKS_PEAK)) != 0;
    (void)getrusage(RUSAGE_SELF, &stacks->round.before);
    (void)pthread_mutex_init(&stacks->lock, NULL);
    (void)pthread_cond_init(&stacks->answered, NULL);
    return stacks;
}

static void set_first_kinds(struct rm_stacks *stacks)
{
    for (int32_t kind = 0; kind < RM_STACK_KINDS; kind++) {
        rm_stack_writer_set_kind(&stacks->round.writer, kind, RESMON_ESTATE, "");
    }
    rm_stack_round_set_kinds(&stacks->round, RESMON_STACKS_ALL, RESMON_OK, "");
    rm_stack_writer_set_period(&stacks->round.writer, RESMON_STACK_CPU,
                               (uint64_t)stacks->round.terms.cpu_ns);
    rm_stack_writer_set_period(&stacks->round.writer, RESMON_STACK_MEMORY,
                               stacks->round.terms.fault_period);
    rm_stack_writer_set_period(&stacks->round.writer, RESMON_STACK_FILE,
                               stacks->round.terms.fault_period);
}

static resmon_status start_thread(struct rm_stacks *stacks)
{
    const struct rm_thread_work work = {"rm-stack", RM_STACK_OF_PROGRAM, run_thread, stacks};
    resmon_status status = rm_thread_start(&stacks->thread, &work);
    if (status != RESMON_OK) {
        rm_stack_sampler_stop();
        rm_stack_sampler_close();
        return status;
    }
    int cancel_state;
    (void)pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_state);
    (void)pthread_mutex_lock(&stacks->lock);
    while (!stacks->has_begun) {
        (void)pthread_cond_wait(&stacks->answered, &stacks->lock);
    }
    (void)pthread_mutex_unlock(&stacks->lock);
    (void)pthread_setcancelstate(cancel_state, NULL);
    return RESMON_OK;
}

static void say_failure(struct rm_stacks *stacks, uint64_t bits, resmon_status status)
{
    char text[TEXT_BYTES];
    (void)rm_text_set(text, sizeof text, resmon_last_error());
    rm_stack_round_set_kinds(&stacks->round, bits, status, text);
    if (stacks->round.wanted ==
        RESMON_STACKS_PEAK) { /* which is no kind: its reason must stand somewhere */
        rm_stack_writer_set_kind(&stacks->round.writer, RESMON_STACK_CPU, status, text);
    }
}

/* Growth of memory needs no signal, if there is none to be had. */
static resmon_status open_sampler(struct rm_stacks *stacks)
{
    resmon_status status = rm_stack_sampler_open(&stacks->round.terms);
    if (status == RESMON_EBUSY && stacks->round.terms.wants_signal &&
        stacks->round.terms.fault_period > 0) {
        say_failure(stacks, RESMON_STACKS_CPU, status);
        stacks->round.wanted &= RESMON_STACKS_MEMORY;
        stacks->round.terms.wants_signal = false;
        stacks->round.terms.cpu_ns = 0;
        status = rm_stack_sampler_open(&stacks->round.terms);
    }
    return status;
}

resmon_status rm_stacks_start(const struct rm_block *block, const struct rm_options *options,
                              bool is_self, struct rm_stacks **ret_stacks)
{
    struct rm_stacks *stacks = make(block, options);
    if (stacks == NULL) {
        return rm_error(RESMON_ENOMEM, "out of memory for stacks");
    }
    resmon_status status = rm_stack_writer_open(&stacks->round.writer, block);
    if (status != RESMON_OK) {
        free_stacks(stacks);
        return status;
    }
    set_first_kinds(stacks);
    status = is_self ? open_sampler(stacks)
                     : rm_error(RESMON_ENOTSUP, "stacks are of this process only");
    if (status != RESMON_OK) {
        say_failure(stacks, RESMON_STACKS_ALL, status);
        free_stacks(stacks);
        return RESMON_OK;
    }
    status = start_thread(stacks);
    if (status != RESMON_OK) {
        free_stacks(stacks);
        return status;
    }
    *ret_stacks = stacks;
    return RESMON_OK;
}

void rm_stacks_stop(struct rm_stacks *stacks)
{
    if (stacks == NULL) {
        return;
    }
    int cancel_state;
    (void)pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_state);
    __atomic_store_n(&stacks->is_stopping, true, __ATOMIC_SEQ_CST);
    rm_handler_wake(stacks->number);
    (void)pthread_join(stacks->thread, NULL);
    (void)pthread_setcancelstate(cancel_state, NULL);
    free_stacks(stacks);
}
