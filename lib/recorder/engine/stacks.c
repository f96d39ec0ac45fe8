/* SPDX-License-Identifier: MIT */
#include "engine/stacks.h"

#include <pthread.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/compiler.h"
#include "base/status.h"
#include "base/text.h"
#include "base/thread.h"
#include "engine/sampler.h"
#include "os/kept.h"
#include "stack/handler.h"
#include "stack/outside.h"
#include "stack/round.h"
#include "store/run_records.h"

#define ROUND_NS   (20 * RM_NS_PER_MS)
#define SHORT_NS   (4 * RM_NS_PER_MS) /* during page faults, while their scopes are still open */
#define MOST_WAKES 24U                /* between two rounds, by new threads and major faults */
#define TEXT_BYTES 160

struct rm_stacks {
    struct rm_stack_round round; /* used by the thread only, once it runs */
    bool has_each;               /* per-process rows are wanted */
    bool is_outside;             /* Stacks of other processes: */
    struct rm_outside_terms outside;
    pthread_t thread;
    struct rm_stacks_cost *cost;
    bool is_stopping;               /* atomic */
    struct rm_condition is_stopped; /* signaled where no signal wakes the thread */
    pthread_mutex_t lock;           /* guards the members below */
    pthread_cond_t work_done;
    bool has_begun;
    uint32_t number; /* kernel id of the thread */
};

/* ---- the thread ------------------------------------------------------------------------- */

static void signal_begun(struct rm_stacks *stacks)
{
    (void)pthread_mutex_lock(&stacks->lock);
    stacks->has_begun = true;
    stacks->number = rm_thread_id();
    (void)pthread_cond_signal(&stacks->work_done);
    (void)pthread_mutex_unlock(&stacks->lock);
}

/* CPU time of handlers is in the program's clocks only; `others_ns`: of other threads of ours. */
static void publish_cost(struct rm_stacks *stacks, uint64_t others_ns)
{
    struct rm_clock_pair start = stacks->round.terms.block.header->start;
    double ns_per_tick = rm_clock_ns_per_tick(start, rm_clock_read_pair());
    RM_STORE(&stacks->cost->thread_ns,
             (uint64_t)rm_clock_cpu_ns(CLOCK_THREAD_CPUTIME_ID) + others_ns);
    RM_STORE(&stacks->cost->handlers_ns, (uint64_t)((double)rm_handler_ticks() * ns_per_tick));
}

/* Makes rounds until stopped. */
static void make_rounds(struct rm_stacks *stacks, bool is_open)
{
    struct rm_stack_round *round = &stacks->round;
    int64_t until_ns = rm_clock_monotonic_ns() + ROUND_NS;
    uint32_t wakes = 0; /* since the last round */
    while (!__atomic_load_n(&stacks->is_stopping, __ATOMIC_SEQ_CST)) {
        rm_stack_sampler_wait(round->has_faults ? SHORT_NS : ROUND_NS,
                              wakes++ < MOST_WAKES && rm_stack_threads_may_sample_new(round));
        int64_t now_ns = rm_clock_monotonic_ns();
        if (is_open && now_ns >= until_ns) {
            rm_stack_round_make(round);
            until_ns = now_ns + ROUND_NS;
            wakes = 0;
            publish_cost(stacks, 0);
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
    signal_begun(stacks);
    make_rounds(stacks, is_open);
    if (is_open) {
        rm_stack_round_drain(round); /* page faults: their rings are closed at the stop */
    }
    rm_stack_sampler_stop();
    if (is_open) {
        rm_stack_round_finish(round);
        rm_stack_round_close(round);
    }
    rm_stack_sampler_close();
    publish_cost(stacks, 0);
    return NULL;
}

static void say_failure(struct rm_stacks *stacks, uint64_t bits, resmon_status status)
{
    char text[TEXT_BYTES];
    (void)rm_text_set(text, sizeof text, resmon_last_error());
    rm_stack_round_set_kinds(&stacks->round, bits, status, text);
    if (stacks->round.wanted ==
        RESMON_STACKS_PEAK) { /* peaks have no kind: the reason is with the kind CPU */
        rm_stack_writer_set_kind(&stacks->round.writer, RESMON_STACK_CPU, status, text);
    }
}

/* ---- the thread, for other processes ----------------------------------------------------- */

static bool is_stopping(const struct rm_stacks *stacks)
{
    return __atomic_load_n(&stacks->is_stopping, __ATOMIC_SEQ_CST);
}

/* Ends when all processes have ended. */
static void watch_outside(struct rm_stacks *stacks, struct rm_outside *outside)
{
    struct rm_block_header *header = stacks->round.terms.block.header;
    uint32_t mark = rm_condition_mark(&stacks->is_stopped);
    while (!is_stopping(stacks)) {
        if (!rm_outside_wait(outside, ROUND_NS)) {
            rm_condition_wait_past(&stacks->is_stopped, mark,
                                   rm_clock_monotonic_ns() + 10 * ROUND_NS);
        }
        rm_outside_drain(outside);
        RM_STORE(&header->own_stacks_rss, rm_outside_bytes(outside));
        publish_cost(stacks, rm_outside_cpu_ns(outside));
        mark = rm_condition_mark(&stacks->is_stopped);
    }
}

static void *run_outside(void *context)
{
    struct rm_stacks *stacks = context;
    struct rm_outside *outside = NULL;
    rm_kept_isolate_thread();
    rm_thread_run_soon();
    resmon_status status = rm_outside_open(&stacks->outside, &stacks->round.writer, &outside);
    if (status != RESMON_OK) {
        say_failure(stacks, RESMON_STACKS_ALL, status);
        if (stacks->has_each) {
            rm_facts_add_text(&stacks->round.terms.block, "settings", RM_FACT_NO_EACH,
                              resmon_last_error());
        }
    } else if (stacks->round.wanted == RESMON_STACKS_PEAK) {
        say_failure(
            stacks, RESMON_STACKS_PEAK,
            rm_error(RESMON_ENOTSUP, "stacks at a peak can be taken of the own process only"));
    } else {
        rm_outside_write_kinds(outside);
    }
    signal_begun(stacks);
    if (status == RESMON_OK) {
        watch_outside(stacks, outside);
        rm_outside_finish(outside);
    }
    uint64_t others_ns = status == RESMON_OK ? rm_outside_cpu_ns(outside) : 0;
    rm_outside_close(outside);
    publish_cost(stacks, others_ns);
    return NULL;
}

/* ---- start and stop --------------------------------------------------------------------- */

static void free_stacks(struct rm_stacks *stacks)
{
    rm_stack_writer_close(&stacks->round.writer);
    (void)pthread_mutex_destroy(&stacks->lock);
    (void)pthread_cond_destroy(&stacks->work_done);
    rm_free(stacks);
}

static struct rm_stacks *make(const struct rm_block *block, const struct rm_options *options)
{
    struct rm_stacks *stacks = rm_alloc(1, sizeof *stacks);
    if (stacks == NULL) {
        return NULL;
    }
    stacks->round.wanted = options->values.stacks;
    stacks->round.page_bytes = (uint64_t)sysconf(_SC_PAGESIZE);
    stacks->round.terms.block = *block;
    if ((options->values.stacks & RESMON_STACKS_CPU) != 0) {
        stacks->round.terms.cpu_ns = RM_NS_PER_S / (int64_t)options->values.stack_hz;
    }
    if ((options->values.stacks & RESMON_STACKS_MEMORY) != 0) {
        stacks->round.terms.fault_period = options->values.fault_period;
    }
    stacks->round.terms.wants_signal =
        (options->values.stacks & (RESMON_STACKS_CPU | RESMON_STACKS_PEAK)) != 0 ||
        block->header->sizes.stack_texts > 0;
    (void)getrusage(RUSAGE_SELF, &stacks->round.before);
    (void)pthread_mutex_init(&stacks->lock, NULL);
    (void)pthread_cond_init(&stacks->work_done, NULL);
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
    rm_stack_writer_set_period(&stacks->round.writer, RESMON_STACK_RESIDENT,
                               stacks->round.terms.fault_period);
}

static resmon_status start_thread(struct rm_stacks *stacks, void *(*run)(void *context))
{
    const struct rm_thread_work work = {"rm-stack", RM_STACK_LIBRARIES, run, stacks};
    resmon_status status = rm_thread_start(&stacks->thread, &work);
    if (status != RESMON_OK) {
        return status;
    }
    int cancel_state;
    (void)pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_state);
    (void)pthread_mutex_lock(&stacks->lock);
    while (!stacks->has_begun) {
        (void)pthread_cond_wait(&stacks->work_done, &stacks->lock);
    }
    (void)pthread_mutex_unlock(&stacks->lock);
    (void)pthread_setcancelstate(cancel_state, NULL);
    return RESMON_OK;
}

/* Peaks of memory need no signal. */
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

/* A failure to take stacks is not a failure of the monitor; the run has the reason. */
static resmon_status start_inside(struct rm_stacks *stacks)
{
    resmon_status status = open_sampler(stacks);
    if (status != RESMON_OK) {
        say_failure(stacks, RESMON_STACKS_ALL, status);
        return RESMON_OK;
    }
    status = start_thread(stacks, run_thread);
    if (status != RESMON_OK) {
        rm_stack_sampler_stop();
        rm_stack_sampler_close();
    }
    return status;
}

static resmon_status start_outside(struct rm_stacks *stacks, const struct rm_collect *others)
{
    const struct rm_stack_terms *terms = &stacks->round.terms;
    stacks->outside = (struct rm_outside_terms){
        .pid = (uint32_t)others->pid,
        .is_group = others->is_group,
        .group = others->group,
        .events = {.cpu_ns = terms->cpu_ns,
                   .fault_period = terms->fault_period,
                   .is_prompt = stacks->has_each},
        .has_each = stacks->has_each,
    };
    return start_thread(stacks, run_outside);
}

resmon_status rm_stacks_start(const struct rm_block *block, const struct rm_options *options,
                              const struct rm_collect *others, struct rm_stacks_cost *cost,
                              struct rm_stacks **ret_stacks)
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
    stacks->cost = cost;
    stacks->is_outside = others != NULL;
    stacks->has_each = block->header->sizes.processes > 0;
    set_first_kinds(stacks);
    status = others != NULL ? start_outside(stacks, others) : start_inside(stacks);
    if (stacks->has_begun) {
        *ret_stacks = stacks;
    } else {
        free_stacks(stacks);
    }
    return status;
}

void rm_stacks_stop(struct rm_stacks *stacks)
{
    if (stacks == NULL) {
        return;
    }
    int cancel_state;
    (void)pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_state);
    __atomic_store_n(&stacks->is_stopping, true, __ATOMIC_SEQ_CST);
    rm_condition_signal(&stacks->is_stopped);
    if (!stacks->is_outside) {
        rm_handler_wake(stacks->number);
    }
    (void)pthread_join(stacks->thread, NULL);
    (void)pthread_setcancelstate(cancel_state, NULL);
    free_stacks(stacks);
}
