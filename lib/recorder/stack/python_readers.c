/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* pthread_setaffinity_np */
#include "stack/python_readers.h"

#include <pthread.h>
#include <sched.h>
#include <stddef.h>
#include <string.h>
#include <time.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/compiler.h"
#include "base/status.h"
#include "base/thread.h"
#include "os/file.h"
#include "stack/view.h"

/* Age of a sample of CPU time at which its thread may be elsewhere in the program. */
#define LATE_NS (4 * RM_NS_PER_MS)

/* Of the time from a sample to its reading, if nothing else comes between. */
#define PROMPT_NS (RM_NS_PER_MS / 2)

/* When two page faults in a row are of the same call, as of one that fills much memory: the next
 * ones have the same stack, and cost little this way. */
#define PAUSE_NS (2 * RM_NS_PER_MS)

/* A reading waits until its sample is unwound, some milliseconds.  Those of a thread are in one
 * shelf, so that few are looked through while a reader, and the thread that it holds up, wait. */
#define READINGS_EACH 64U

/* Processes whose numbers differ by a multiple take turns. */
#define TARGETS 256U

struct reader {
    struct rm_python_readers *readers;
    struct rm_perf_fresh fresh;
    pthread_t thread;
    bool is_bound;   /* to the CPU */
    uint64_t cpu_ns; /* atomic */
    struct rm_interpreter_reader own;
    struct rm_interpreter_target target;
    struct rm_python_reading reading, last_fault;
};

struct shelf {
    pthread_mutex_t lock;
    uint32_t next;
    struct rm_python_reading rows[READINGS_EACH]; /* a ring */
};

struct rm_python_readers {
    struct rm_perf_tree *tree;
    struct reader **all;
    size_t count;
    const struct rm_root *root;
    pthread_mutex_t lock;                          /* of the targets */
    struct rm_interpreter_target targets[TARGETS]; /* by pid */
    struct shelf *shelves;                         /* by thread */
    size_t shelf_count;
};

/* ---- processes -------------------------------------------------------------------------- */

void rm_python_readers_add(struct rm_python_readers *readers,
                           const struct rm_interpreter_target *target)
{
    struct rm_interpreter_target *known = &readers->targets[target->pid % TARGETS];
    if (known->pid == target->pid && known->python.runtime == target->python.runtime &&
        known->python.tasks.running == target->python.tasks.running) {
        return;
    }
    (void)pthread_mutex_lock(&readers->lock);
    *known = *target;
    (void)pthread_mutex_unlock(&readers->lock);
}

static bool copy_target(struct rm_python_readers *readers, uint32_t pid,
                        struct rm_interpreter_target *ret_target)
{
    (void)pthread_mutex_lock(&readers->lock);
    const struct rm_interpreter_target *known = &readers->targets[pid % TARGETS];
    bool is_known = known->pid == pid;
    if (is_known) {
        *ret_target = *known;
    }
    (void)pthread_mutex_unlock(&readers->lock);
    return is_known;
}

/* ---- readings --------------------------------------------------------------------------- */

static void copy_reading(struct rm_python_reading *target, const struct rm_python_reading *source)
{
    size_t frames = source->result == RM_PYTHON_READ ? source->walk.depth : 0;
    memcpy(target, source,
           offsetof(struct rm_python_reading, walk.frames) +
               frames * sizeof(struct rm_python_frame));
}

static bool is_better(enum rm_python_which which, int64_t t_ns, int64_t wanted_ns, int64_t best_ns)
{
    return which == RM_PYTHON_AT       ? t_ns == wanted_ns
           : which == RM_PYTHON_BEFORE ? t_ns < wanted_ns && t_ns > best_ns
                                       : t_ns > wanted_ns && (best_ns == 0 || t_ns < best_ns);
}

static struct shelf *shelf_of(struct rm_python_readers *readers, uint32_t thread)
{
    return &readers->shelves[thread % readers->shelf_count];
}

bool rm_python_readers_copy(struct rm_python_readers *readers, const struct rm_tree_record *record,
                            enum rm_python_which which, struct rm_python_reading *ret_reading)
{
    const struct rm_python_reading *best = NULL;
    struct shelf *shelf = shelf_of(readers, record->tid);
    (void)pthread_mutex_lock(&shelf->lock);
    for (uint32_t i = 0; i < READINGS_EACH; i++) {
        const struct rm_python_reading *reading = &shelf->rows[i];
        if (reading->thread == record->tid && reading->pid == record->pid &&
            is_better(which, reading->t_ns, record->t_ns, best != NULL ? best->t_ns : 0)) {
            best = reading;
        }
    }
    if (best != NULL) {
        copy_reading(ret_reading, best);
    }
    (void)pthread_mutex_unlock(&shelf->lock);
    return best != NULL;
}

static void keep(struct rm_python_readers *readers, const struct rm_python_reading *reading)
{
    struct shelf *shelf = shelf_of(readers, reading->thread);
    (void)pthread_mutex_lock(&shelf->lock);
    copy_reading(&shelf->rows[shelf->next++ % READINGS_EACH], reading);
    (void)pthread_mutex_unlock(&shelf->lock);
}

/* ---- one thread ------------------------------------------------------------------------- */

/* False: no Python is known there. */
static bool read_thread(struct reader *reader, const struct rm_tree_record *record)
{
    struct rm_python_reading *reading = &reader->reading;
    if (!copy_target(reader->readers, record->pid, &reader->target)) {
        return false;
    }
    reading->pid = record->pid;
    reading->thread = record->tid;
    reading->t_ns = record->t_ns;
    reading->stack = rm_view_stack(&record->sample);
    reading->is_prompt = reader->is_bound && rm_clock_monotonic_ns() - record->t_ns < PROMPT_NS;
    reading->result = rm_interpreter_walk(&reader->target, &reader->own, record->tid,
                                          reading->stack, &reading->walk);
    keep(reader->readers, reading);
    return true;
}

static bool is_same_call(const struct rm_python_reading *a, const struct rm_python_reading *b)
{
    return a->thread == b->thread && a->stack == b->stack && a->walk.address == b->walk.address &&
           a->walk.depth == b->walk.depth && a->walk.depth > 0 &&
           a->walk.frames[0].instruction == b->walk.frames[0].instruction;
}

/* Of faults, the latest is the one whose thread has just stopped.  True: a pause is due. */
static bool look(struct reader *reader)
{
    struct rm_tree_record record, fault;
    bool has_faults = false;
    while (rm_perf_fresh_next(&reader->fresh, &reader->fresh.cpu_time, &record)) {
        if (rm_clock_monotonic_ns() - record.t_ns < LATE_NS) {
            (void)read_thread(reader, &record);
        }
    }
    while (rm_perf_fresh_next(&reader->fresh, &reader->fresh.faults, &record)) {
        has_faults = true;
        fault = record;
    }
    if (!has_faults) {
        return false;
    }
    bool is_python = read_thread(reader, &fault);
    bool is_again = is_python && is_same_call(&reader->reading, &reader->last_fault);
    if (is_python) {
        copy_reading(&reader->last_fault, &reader->reading);
    }
    return is_again || !is_python;
}

static void *run(void *context)
{
    struct reader *reader = context;
    const struct timespec pause = {.tv_nsec = PAUSE_NS};
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET((size_t)reader->fresh.cpu, &set);
    reader->is_bound = pthread_setaffinity_np(pthread_self(), sizeof set, &set) == 0;
    rm_thread_run_soon();
    while (rm_perf_fresh_wait(&reader->fresh)) {
        bool is_pause_due = look(reader);
        rm_perf_fresh_nudge(&reader->fresh);
        RM_STORE(&reader->cpu_ns, (uint64_t)rm_clock_cpu_ns(CLOCK_THREAD_CPUTIME_ID));
        if (is_pause_due) {
            (void)nanosleep(&pause, NULL);
        }
    }
    return NULL;
}

/* ---- start and end ---------------------------------------------------------------------- */

static void free_reader(struct reader *reader)
{
    rm_scratch_free(&reader->own.scratch);
    rm_free(reader);
}

static resmon_status start_reader(struct rm_python_readers *readers, size_t cpu)
{
    struct reader *reader = rm_alloc(1, sizeof *reader);
    const struct rm_thread_work work = {"rm-python", RM_STACK_SMALL, run, reader};
    if (reader == NULL || rm_scratch_init(&reader->own.scratch) != RESMON_OK) {
        rm_free(reader);
        return rm_error(RESMON_ENOMEM, "out of memory for reading Python stacks");
    }
    reader->readers = readers;
    reader->own.root = readers->root;
    if (cpu >= CPU_SETSIZE || !rm_perf_tree_open_fresh(readers->tree, cpu, &reader->fresh)) {
        free_reader(reader);
        return RESMON_OK; /* no samples come from this CPU */
    }
    resmon_status status = rm_thread_start(&reader->thread, &work);
    if (status != RESMON_OK) {
        free_reader(reader);
        return status;
    }
    readers->all[readers->count++] = reader;
    return RESMON_OK;
}

resmon_status rm_python_readers_start(struct rm_perf_tree *tree, const struct rm_root *root,
                                      struct rm_python_readers **ret_readers)
{
    size_t cpus = rm_perf_tree_cpu_count(tree);
    struct rm_python_readers *readers = rm_alloc(1, sizeof *readers);
    if (readers == NULL) {
        return rm_error(RESMON_ENOMEM, "out of memory for reading Python stacks");
    }
    readers->tree = tree;
    readers->root = root;
    (void)pthread_mutex_init(&readers->lock, NULL);
    readers->shelves = rm_alloc(cpus + 1, sizeof *readers->shelves);
    readers->shelf_count = readers->shelves != NULL ? cpus + 1 : 0;
    for (size_t i = 0; i < readers->shelf_count; i++) {
        (void)pthread_mutex_init(&readers->shelves[i].lock, NULL);
    }
    readers->all = rm_alloc(cpus, sizeof(struct reader *));
    resmon_status status = readers->shelves == NULL || readers->all == NULL
                               ? rm_error(RESMON_ENOMEM, "out of memory for reading Python stacks")
                               : RESMON_OK;
    for (size_t i = 0; i < cpus && status == RESMON_OK; i++) {
        status = start_reader(readers, i);
    }
    if (status != RESMON_OK) {
        rm_python_readers_free(readers);
        return status;
    }
    *ret_readers = readers;
    return RESMON_OK;
}

void rm_python_readers_free(struct rm_python_readers *readers)
{
    if (readers == NULL) {
        return;
    }
    rm_perf_tree_stop_fresh(readers->tree);
    for (size_t i = 0; readers->all != NULL && i < readers->count; i++) {
        (void)pthread_join(readers->all[i]->thread, NULL);
        free_reader(readers->all[i]);
    }
    for (size_t i = 0; i < readers->shelf_count; i++) {
        (void)pthread_mutex_destroy(&readers->shelves[i].lock);
    }
    (void)pthread_mutex_destroy(&readers->lock);
    rm_free(readers->shelves);
    rm_free(readers->all);
    rm_free(readers);
}

uint64_t rm_python_readers_cpu_ns(const struct rm_python_readers *readers)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < readers->count; i++) {
        sum += RM_LOAD(&readers->all[i]->cpu_ns);
    }
    return sum;
}
