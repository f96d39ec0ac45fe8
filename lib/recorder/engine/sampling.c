/* SPDX-License-Identifier: MIT */
#include "engine/sampling.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/status.h"
#include "base/text.h"
#include "base/thread.h"
#include "os/identity.h"
#include "os/kept.h"
#include "setup/facts.h"

/* ---- the last thread of a program ----------------------------------------------------------- */

#define LOOK_EVERY_NS (50L * 1000 * 1000)

static pthread_key_t key; /* its destructor runs in pthread_exit(), but not in exit() */
static bool has_key;

/* Compares the kernel's count of threads with ours.  The kernel also counts the main thread after
 * its exit.  It counts each thread of ours before its begin and until after its end, so that its
 * count is never too low.  A count of 0 is not known. */
static bool are_only_ours_left(void)
{
    uint64_t before, after;
    uint64_t ours = rm_thread_count(&before);
    uint64_t all = rm_identity_threads();
    (void)rm_thread_count(&after);
    return before == after && all > 0 && all <= ours + 1;
}

static void *wait_for_the_last(void *unused)
{
    (void)unused;
    const struct timespec pause = {.tv_nsec = LOOK_EVERY_NS};
    do {
        (void)nanosleep(&pause, NULL);
    } while (!are_only_ours_left());
    sigset_t none;
    (void)sigemptyset(&none);
    (void)pthread_sigmask(SIG_SETMASK, &none, NULL);
    exit(0);
}

/* Run on the main thread, which has the program's descriptors, for exit handlers. */
static void on_exit_of_main(void *unused)
{
    (void)unused;
    pthread_t thread;
    const struct rm_thread_work work = {"rm-last", RM_STACK_OF_PROGRAM, wait_for_the_last, NULL};
    if (rm_thread_start(&thread, &work) == RESMON_OK) {
        (void)pthread_detach(thread);
    }
}

static void make_key(void)
{
    has_key = pthread_key_create(&key, on_exit_of_main) == 0;
}

/* Called on any thread at the start of a monitor: if it is the main thread, its exit is detected.
 */
static void rm_last_thread_watch(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    (void)pthread_once(&once, make_key);
    if (has_key && rm_thread_id() == (uint32_t)getpid()) {
        (void)pthread_setspecific(key, &key);
    }
}

/* ---- on the thread ---------------------------------------------------------------------- */

/* Waits, with the lock held, for a request, the end, or the deadline.  A condition variable is
 * used, since programs close timer descriptors that they do not know. */
static void wait_for_work(struct rm_sampling *sampling)
{
    int64_t poll_ns = rm_collect_next_poll_ns(&sampling->sampler.collect);
    int64_t until_ns = poll_ns < sampling->deadline_ns ? poll_ns : sampling->deadline_ns;
    until_ns =
        sampling->sampler.next_events_ns < until_ns ? sampling->sampler.next_events_ns : until_ns;
    while (sampling->stage == RM_SAMPLING_RUNNING && sampling->requested == sampling->served &&
           rm_condition_wait(&sampling->work_ready, &sampling->lock, until_ns)) {
    }
}

/* Deadlines are multiples of the interval from the start; missed ones are counted, not repeated. */
static bool pass_deadlines(struct rm_sampling *sampling, int64_t now_ns)
{
    int64_t interval_ns = rm_cadence_interval_ns(&sampling->sampler.cadence);
    int64_t late_ns = now_ns - sampling->deadline_ns;
    int64_t passed = late_ns < 0 ? 0 : late_ns / interval_ns + 1;
    sampling->deadline_ns += passed * interval_ns;
    sampling->sampler.cost.late += passed > 1 ? (uint64_t)passed - 1 : 0;
    if (late_ns < -interval_ns) { /* the clock went back, in a process restored from a checkpoint */
        sampling->deadline_ns = now_ns + interval_ns;
    }
    return passed > 0;
}

static void complete(struct rm_sampling *sampling, uint64_t requested)
{
    (void)pthread_mutex_lock(&sampling->lock);
    sampling->served = requested;
    (void)pthread_mutex_unlock(&sampling->lock);
    rm_condition_signal(&sampling->work_done); /* the waiting thread finds the lock free */
}

/* Reads dozens of files, so it waits for the second sample: a short program does not pay for it,
 * and has no such facts. */
static void record_topology(struct rm_sampling *sampling)
{
    struct rm_sampler *sampler = &sampling->sampler;
    struct rm_topology topology;
    rm_topology_read(&topology, &sampler->collect.root, &sampler->collect.scratch);
    (void)pthread_mutex_lock(sampling->facts_lock);
    rm_facts_record_topology(&sampler->block, &topology);
    (void)pthread_mutex_unlock(sampling->facts_lock);
}

static void take_samples(struct rm_sampling *sampling)
{
    struct rm_sampler *sampler = &sampling->sampler;
    int64_t start_ns = sampler->block.header->start.ns;
    bool is_stopping = false, has_topology = false;
    sampling->deadline_ns = start_ns + sampler->options->interval_ns;
    int64_t first_ns = sampler->begin != NULL ? rm_clock_monotonic_ns() : start_ns;
    rm_sampler_take(sampler, first_ns, RM_SAMPLE_ALL);
    rm_sampler_take_events(sampler, first_ns);
    complete(sampling, 1);
    while (!is_stopping) {
        (void)pthread_mutex_lock(&sampling->lock);
        wait_for_work(sampling);
        uint64_t requested = sampling->requested;
        bool is_asked = requested != sampling->served;
        is_stopping = sampling->stage == RM_SAMPLING_STOPPING;
        (void)pthread_mutex_unlock(&sampling->lock);
        int64_t now_ns = rm_clock_monotonic_ns();
        bool is_due = pass_deadlines(sampling, now_ns);
        if (is_due || is_asked || is_stopping) {
            enum rm_sample_of of = is_stopping ? RM_SAMPLE_ALL
                                   : is_asked  ? RM_SAMPLE_ASKED
                                               : RM_SAMPLE_DUE;
            rm_sampler_take(sampler, now_ns, of);
        }
        if (is_due && !has_topology) {
            has_topology = true;
            record_topology(sampling);
        }
        rm_collect_poll(&sampler->collect, now_ns);
        rm_sampler_take_events(sampler, now_ns);
        if (is_asked) {
            complete(sampling, requested);
        }
    }
}

/* True: run; false: stopped before. */
static bool signal_open_and_wait(struct rm_sampling *sampling, resmon_status status)
{
    (void)pthread_mutex_lock(&sampling->lock);
    sampling->open_status = status;
    (void)rm_text_set(sampling->open_error, sizeof sampling->open_error, resmon_last_error());
    sampling->stage = RM_SAMPLING_OPEN;
    rm_condition_signal(&sampling->work_done);
    while (sampling->stage == RM_SAMPLING_OPEN) {
        (void)rm_condition_wait(&sampling->work_ready, &sampling->lock, RM_WAIT_FOR_EVER);
    }
    bool is_running = sampling->stage == RM_SAMPLING_RUNNING;
    (void)pthread_mutex_unlock(&sampling->lock);
    return is_running;
}

static void *run_thread(void *context)
{
    struct rm_sampling *sampling = context;
    rm_kept_isolate_thread();
    resmon_status status = rm_sampler_open(&sampling->sampler);
    if (signal_open_and_wait(sampling, status)) {
        take_samples(sampling);
    }
    rm_sampler_close_sources(&sampling->sampler);
    return NULL;
}

/* ---- on other threads ------------------------------------------------------------------- */

/* A thread cancelled in a wait would keep the lock. */
static int lock_against_cancel(struct rm_sampling *sampling)
{
    int state;
    (void)pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
    (void)pthread_mutex_lock(&sampling->lock);
    return state;
}

static void unlock_again(struct rm_sampling *sampling, int cancel_state)
{
    (void)pthread_mutex_unlock(&sampling->lock);
    (void)pthread_setcancelstate(cancel_state, NULL);
}

resmon_status rm_sampling_open(struct rm_sampling *sampling, const struct rm_sampling_terms *terms)
{
    memset(sampling, 0, sizeof *sampling); /* clang would build a literal on the stack: 18 KB */
    sampling->stage = RM_SAMPLING_OPENING;
    (void)pthread_mutex_init(&sampling->lock, NULL);
    rm_sampler_prepare(&sampling->sampler, terms->options);
    sampling->sampler.job_id = terms->job_id;
    sampling->sampler.begin = terms->begin;
    sampling->facts_lock = terms->facts_lock;
    rm_last_thread_watch();
    const struct rm_thread_work work = {"rm-sample", RM_STACK_SMALL, run_thread, sampling};
    resmon_status status = rm_thread_start(&sampling->thread, &work);
    if (status != RESMON_OK) {
        sampling->stage = RM_SAMPLING_NONE;
    }
    return status;
}

resmon_status rm_sampling_wait_open(struct rm_sampling *sampling)
{
    int cancel_state = lock_against_cancel(sampling);
    while (sampling->stage == RM_SAMPLING_OPENING) {
        (void)rm_condition_wait(&sampling->work_done, &sampling->lock, RM_WAIT_FOR_EVER);
    }
    unlock_again(sampling, cancel_state);
    return sampling->open_status == RESMON_OK
               ? RESMON_OK
               : rm_error(sampling->open_status, "%s", sampling->open_error);
}

/* The number of the requested sample. */
static uint64_t take_ticket(struct rm_sampling *sampling)
{
    rm_condition_signal(&sampling->work_ready);
    return ++sampling->requested;
}

static void wait_for_ticket(struct rm_sampling *sampling, uint64_t ticket)
{
    while (sampling->served < ticket) {
        (void)rm_condition_wait(&sampling->work_done, &sampling->lock, RM_WAIT_FOR_EVER);
    }
}

void rm_sampling_run(struct rm_sampling *sampling)
{
    int cancel_state = lock_against_cancel(sampling);
    sampling->stage = RM_SAMPLING_RUNNING;
    wait_for_ticket(sampling, take_ticket(sampling));
    unlock_again(sampling, cancel_state);
}

resmon_status rm_sampling_request(struct rm_sampling *sampling)
{
    int cancel_state = lock_against_cancel(sampling);
    bool is_running = sampling->stage == RM_SAMPLING_RUNNING;
    if (is_running) {
        wait_for_ticket(sampling, take_ticket(sampling));
    }
    unlock_again(sampling, cancel_state);
    return is_running ? RESMON_OK : rm_error(RESMON_ESTATE, "the monitor is not running");
}

static void ask_for_end(struct rm_sampling *sampling)
{
    sampling->requested += sampling->stage == RM_SAMPLING_RUNNING ? 1 : 0;
    if (sampling->stage != RM_SAMPLING_NONE) {
        sampling->stage = RM_SAMPLING_STOPPING;
        rm_condition_signal(&sampling->work_ready);
    }
}

void rm_sampling_request_end(struct rm_sampling *sampling)
{
    int cancel_state = lock_against_cancel(sampling);
    ask_for_end(sampling);
    unlock_again(sampling, cancel_state);
}

void rm_sampling_end(struct rm_sampling *sampling)
{
    int cancel_state = lock_against_cancel(sampling);
    ask_for_end(sampling);
    wait_for_ticket(sampling, sampling->requested);
    unlock_again(sampling, cancel_state);
}

void rm_sampling_stop(struct rm_sampling *sampling)
{
    rm_sampling_end(sampling);
    int cancel_state = lock_against_cancel(sampling);
    bool has_thread = sampling->stage != RM_SAMPLING_NONE;
    (void)pthread_mutex_unlock(&sampling->lock);
    if (has_thread) {
        (void)pthread_join(sampling->thread, NULL);
    }
    (void)pthread_mutex_lock(&sampling->lock);
    sampling->stage = RM_SAMPLING_NONE;
    unlock_again(sampling, cancel_state);
}

void rm_sampling_close(struct rm_sampling *sampling)
{
    rm_sampling_stop(sampling);
    rm_sampler_close(&sampling->sampler);
    (void)pthread_mutex_destroy(&sampling->lock);
}
