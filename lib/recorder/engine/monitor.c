/* SPDX-License-Identifier: MIT */
#include "engine/monitor.h"

#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/compiler.h"
#include "base/fork.h"
#include "base/status.h"
#include "base/text.h"
#include "base/thread.h"
#include "engine/capture.h"
#include "engine/delivery.h"
#include "engine/memory.h"
#include "engine/recorder.h"
#include "engine/sampling.h"
#include "engine/stacks.h"
#include "job/detect.h"
#include "job/leader.h"
#include "os/clocksource.h"
#include "os/identity.h"
#include "os/proc_pid.h"
#include "scope/scope.h"
#include "scope/thread_counters.h"
#include "setup/facts.h"
#include "setup/options.h"
#include "store/end.h"
#include "store/run_records.h"

enum life { LIFE_NEW, LIFE_STARTING, LIFE_RUNNING, LIFE_STOPPED, LIFE_FAILED };

struct resmon_monitor {
    struct rm_options options;
    pid_t pid; /* creating process: in a forked child, the monitor is inert */
    uint32_t forks;
    int life;                         /* enum life, atomic: read by tags in signal handlers */
    struct rm_needs needs;            /* needs of its outputs */
    struct rm_begin begin;            /* begin of the process; at_ns 0: begin of the monitor */
    struct rm_block block;            /* block of the run */
    struct rm_block_memory memory;    /* memory of the block */
    struct rm_scope_session *session; /* NULL: this monitor has no scopes */
    struct rm_sampling sampling;
    struct rm_stacks *stacks; /* NULL: no stacks */
    struct rm_delivery delivery;
    struct resmon_job *job;     /* job of this process; NULL: none */
    struct rm_leader leader;    /* leader of the host */
    struct rm_identity writer;  /* this process, as the block's writer */
    pthread_mutex_t label_lock; /* guards the label, the end and new facts in the block */
    struct rm_own_memory own;   /* the monitor's part of the program's RSS */
    struct rm_capture capture;  /* makes runs */
    int observed_end;           /* a descriptor of the observed process; -1: none */
    bool yields_scopes;
};

static bool is_inherited(const resmon_monitor *monitor)
{
    return monitor->pid != getpid() || monitor->forks != rm_forks();
}

static resmon_status check_life(const resmon_monitor *monitor, enum life low, enum life high)
{
    if (is_inherited(monitor)) {
        return rm_error(RESMON_ESTATE,
                        "this monitor belongs to process %ld; a forked child cannot use it",
                        (long)monitor->pid);
    }
    int life = RM_LOAD_ACQUIRE(&monitor->life);
    if (life < (int)low || life > (int)high) {
        static const char *const names[] = {"not started", "starting", "running", "stopped",
                                            "unusable since its start failed"};
        return rm_error(RESMON_ESTATE, "the monitor is %s", names[life]);
    }
    return RESMON_OK;
}

resmon_status rm_monitor_new(const resmon_monitor_options *given, resmon_monitor **ret_monitor)
{
    resmon_monitor *monitor = rm_alloc(1, sizeof *monitor);
    if (monitor == NULL) {
        return rm_error(RESMON_ENOMEM, "out of memory for a monitor");
    }
    resmon_status status = rm_options_read(given, &monitor->options);
    if (status != RESMON_OK) {
        rm_free(monitor);
        return status;
    }
    rm_fork_watch();
    monitor->observed_end = -1;
    monitor->pid = getpid();
    monitor->forks = rm_forks();
    (void)pthread_mutex_init(&monitor->label_lock, NULL);
    rm_capture_open(&monitor->capture);
    *ret_monitor = monitor;
    return RESMON_OK;
}

resmon_status rm_monitor_need(resmon_monitor *monitor, const char *what, uint64_t stacks,
                              uint64_t events)
{
    return rm_needs_add(&monitor->needs, &monitor->options, what, stacks, events);
}

void rm_monitor_remarks(const resmon_monitor *monitor, char *text, size_t room)
{
    const struct rm_block_header *header = monitor->block.header; /* NULL: before the start */
    const uint64_t row_bytes = header != NULL ? header->sections[RM_SECTION_ROWS].record_bytes
                                              : rm_sampler_row_bytes(&monitor->options);
    rm_needs_remark(&monitor->needs, &monitor->options, row_bytes, text, room);
}

void rm_monitor_yield_scopes(resmon_monitor *monitor)
{
    monitor->yields_scopes = true;
}

resmon_status rm_monitor_check_file(const resmon_monitor *monitor, const char *path)
{
    const char *writer = rm_block_memory_is_file(&monitor->options, path)
                             ? "record"
                             : rm_delivery_writer(&monitor->delivery, path);
    return writer == NULL
               ? RESMON_OK
               : rm_error(RESMON_EBUSY, "%s is written by %s already: give each a file of its own",
                          path, writer);
}

resmon_status rm_monitor_add_sink(resmon_monitor *monitor, const resmon_sink_ops *ops,
                                  void *context)
{
    resmon_status status = check_life(monitor, LIFE_NEW, LIFE_NEW);
    return status == RESMON_OK ? rm_delivery_add(&monitor->delivery, ops, context) : status;
}

void rm_monitor_own_sink(resmon_monitor *monitor, const struct rm_own_sink *own)
{
    rm_delivery_own(&monitor->delivery, own);
}

size_t rm_monitor_sink_count(const resmon_monitor *monitor)
{
    return monitor->delivery.sink_count;
}

resmon_status rm_monitor_get_sink(resmon_monitor *monitor, size_t index, resmon_sink_info *ret_info)
{
    resmon_status status = check_life(monitor, LIFE_NEW, LIFE_FAILED);
    return status == RESMON_OK ? rm_delivery_get(&monitor->delivery, index, ret_info) : status;
}

/* ---- start ------------------------------------------------------------------------------ */

static resmon_status take_scopes(resmon_monitor *monitor)
{
    const struct rm_options *options = &monitor->options;
    /* Scopes are of this process, and not used if another process is observed. */
    if (!options->wants_scopes || !monitor->sampling.sampler.collect.is_self) {
        return RESMON_OK;
    }
    const struct rm_counter_wish wish = rm_counter_wish_of(&options->scope_counters);
    const struct rm_session_terms terms = {
        .meters = options->meters,
        .max_share = options->values.max_meter_share,
        .insists = options->needs_scopes,
        .yields = monitor->yields_scopes,
        .counters = &wish,
        .cost_ticks = rm_scope_measure_cost(monitor->block.header->sizes.events > 0),
    };
    resmon_status status = rm_session_start(&monitor->block, &terms, rm_block_memory_unmap,
                                            monitor->memory.mapping, &monitor->session);
    if (status == RESMON_EBUSY && !options->needs_scopes) {
        return RESMON_OK;
    }
    if (status == RESMON_OK && monitor->block.header->sizes.scope_energy != 0) {
        status = rm_energy_division_open(&monitor->sampling.sampler.division, monitor->session);
    }
    return status;
}

/* Sets what is known before the first capture. */
static void prepare_capture(resmon_monitor *monitor)
{
    struct rm_sampler *sampler = &monitor->sampling.sampler;
    monitor->own = (struct rm_own_memory){.mapping = monitor->memory.mapping,
                                          .header = monitor->block.header,
                                          .is_self = sampler->collect.is_self};
    monitor->capture.block = &monitor->block;
    monitor->capture.sampler = sampler;
    monitor->capture.session = monitor->session;
    monitor->capture.own = &monitor->own;
}

/* The parts of <resmon/sink.h> equal those of a capture. */
_Static_assert(RESMON_PART_SERIES == RM_PART_SERIES && RESMON_PART_SUMMARY == RM_PART_SUMMARY &&
                   RESMON_PART_SCOPES == RM_PART_SCOPES && RESMON_PART_TAGS == RM_PART_TAGS &&
                   RESMON_PART_EVENTS == RM_PART_EVENTS && RESMON_PART_STACKS == RM_PART_STACKS &&
                   RESMON_PART_ALL == RM_PART_ALL,
               "parts have other numbers");

static resmon_status capture_parts(void *monitor, unsigned parts, resmon_run **ret_run)
{
    return rm_monitor_capture(monitor, parts, ret_run);
}

/* Facts are only added: readers need no lock. */
static void note_fact(void *context, const char *key, const char *value)
{
    resmon_monitor *monitor = context;
    struct rm_fact fact;
    uint64_t position = 0;
    bool is_there = strlen(value) >= RM_FACT_VALUE_BYTES;
    (void)pthread_mutex_lock(&monitor->label_lock);
    while (!is_there && rm_facts_next(&monitor->block, &position, &fact)) {
        is_there = strcmp(fact.group, "run") == 0 && strcmp(fact.key, key) == 0;
    }
    if (!is_there) {
        rm_facts_add_text(&monitor->block, "run", key, value);
    }
    (void)pthread_mutex_unlock(&monitor->label_lock);
}

static void note_rise(void *monitor, uint64_t bytes)
{
    rm_own_memory_note_rise(&((resmon_monitor *)monitor)->own, bytes);
}

static resmon_status start_delivery(resmon_monitor *monitor)
{
    resmon_run *columns = NULL;
    if (monitor->delivery.sink_count == 0) {
        return RESMON_OK;
    }
    struct rm_decode how = {.parts = RM_PART_SUMMARY | RM_PART_SOURCES, .is_live = 1};
    resmon_status status = rm_run_decode(&monitor->block, &how, &columns);
    if (status != RESMON_OK) {
        return status;
    }
    const struct rm_lane_terms terms = {
        .columns = columns,
        .column_count = monitor->sampling.sampler.column_count,
        .interval_ns = monitor->options.interval_ns,
        .capture = capture_parts,
        .note = note_fact,
        .note_rise = note_rise,
        .context = monitor,
    };
    status = rm_delivery_start(&monitor->delivery, &terms);
    rm_run_free(columns);
    return status;
}

static bool is_in_job(const resmon_monitor *monitor)
{
    return monitor->job->info.system[0] != '\0';
}

/* One process of a job reports the values of its host, and all of the job's use there.  The choice
 * holds for the life of the monitor. */
static resmon_status enter_job(resmon_monitor *monitor)
{
    resmon_status status = rm_job_detect(&rm_job_own_environment, &monitor->job);
    if (status == RESMON_OK && is_in_job(monitor)) {
        rm_leader_take(&monitor->leader, monitor->job, NULL);
    }
    return status;
}

static resmon_status open_sampling(resmon_monitor *monitor)
{
    bool leads = is_in_job(monitor) && rm_leader_leads(&monitor->leader);
    const struct rm_sampling_terms terms = {
        .facts_lock = &monitor->label_lock,
        .options = &monitor->options,
        .job_id = leads ? monitor->job->info.id : NULL,
        .begin = monitor->begin.at_ns != 0 ? &monitor->begin : NULL,
    };
    resmon_status status = rm_sampling_open(&monitor->sampling, &terms);
    (void)rm_clocksource_choose(); /* in parallel to the other thread */
    monitor->writer = rm_identity_self();
    return status == RESMON_OK ? rm_sampling_wait_open(&monitor->sampling) : status;
}

static void record_job(resmon_monitor *monitor)
{
    struct rm_collect *collect = &monitor->sampling.sampler.collect;
    if (is_in_job(monitor)) {
        rm_facts_record_job(&monitor->block, monitor->job, &monitor->leader, collect);
        collect->leaves_host = !rm_leader_leads(&monitor->leader);
    }
}

static uint64_t others_cpu_ns(void *monitor_)
{
    resmon_monitor *monitor = monitor_;
    return rm_delivery_cpu_ns(&monitor->delivery) +
           (monitor->memory.recorder != NULL ? rm_recorder_cpu_ns(monitor->memory.recorder) : 0);
}

static resmon_status begin_record(resmon_monitor *monitor)
{
    struct rm_block_header *header = monitor->block.header;
    struct rm_sampler_output output = {
        .cpu_ns = others_cpu_ns, .cpu_context = monitor, .context = &monitor->delivery};
    if (rm_delivery_wants_rows(&monitor->delivery)) {
        output.row = rm_delivery_row;
        output.tag = rm_delivery_tag;
        output.dropped = rm_delivery_dropped;
    }
    rm_facts_record(&monitor->block, &monitor->options, &monitor->sampling.sampler.collect);
    rm_facts_add_text(&monitor->block, "settings", "record_file_system",
                      monitor->memory.record_system);
    record_job(monitor);
    const struct rm_identity *writer = &monitor->writer;
    rm_facts_record_observer(&monitor->block, writer);
    rm_facts_record_observed(&monitor->block, &monitor->sampling.sampler.collect);
    header->writer_pid = writer->pid;
    header->writer_start_ticks = writer->start_ticks;
    header->writer_boot_hash = writer->boot_hash;
    header->writer_stack = writer->stack;
    header->writer_image = writer->image;
    header->start = rm_clock_read_pair();
    header->start_realtime_ns = rm_clock_realtime_ns();
    if (monitor->begin.at_ns != 0) { /* ticks of another process are not known */
        header->start_realtime_ns -= header->start.ns - monitor->begin.at_ns;
        header->start.ns = monitor->begin.at_ns;
    }
    rm_facts_record_clock(&monitor->block);
    return rm_sampler_begin(&monitor->sampling.sampler, &monitor->block, &output);
}

/* NULL: this process is observed. */
static const struct rm_collect *others(const resmon_monitor *monitor)
{
    const struct rm_collect *collect = &monitor->sampling.sampler.collect;
    return collect->is_self ? NULL : collect;
}

static resmon_status start_all(resmon_monitor *monitor)
{
    rm_address_space_save();
    resmon_status status = enter_job(monitor);
    if (status == RESMON_OK) {
        status = open_sampling(monitor);
    }
    if (status == RESMON_OK && others(monitor) != NULL && !others(monitor)->is_group) {
        monitor->observed_end = rm_process_end_watch((uint32_t)others(monitor)->pid);
    }
    if (status == RESMON_OK) {
        status = rm_block_memory_make(&monitor->memory, &monitor->options,
                                      &monitor->sampling.sampler, &monitor->block);
    }
    if (status == RESMON_OK) {
        status = begin_record(monitor);
    }
    if (status == RESMON_OK) {
        status = take_scopes(monitor);
    }
    if (status == RESMON_OK) {
        prepare_capture(monitor);
        status = start_delivery(monitor);
    }
    if (status == RESMON_OK && monitor->block.header->sizes.stacks > 0) {
        struct rm_sampler *sampler = &monitor->sampling.sampler;
        status = rm_stacks_start(&monitor->block, &monitor->options, others(monitor),
                                 &sampler->stacks_cost, &monitor->stacks);
    }
    if (status == RESMON_OK) {
        rm_sampling_run(&monitor->sampling);
        RM_STORE_RELEASE(&monitor->block.header->phase, RM_PHASE_RUNNING);
        /* The last step, so that a failed start does not replace an existing recording. */
        status = rm_block_memory_publish(&monitor->memory, monitor->session);
        status = monitor->memory.is_of_run ? RESMON_OK : status; /* the parent command has ended */
    }
    return status;
}

static void stop_stacks(resmon_monitor *monitor)
{
    rm_stacks_stop(monitor->stacks);
    monitor->stacks = NULL;
}

resmon_status rm_monitor_start(resmon_monitor *monitor)
{
    resmon_status status = check_life(monitor, LIFE_NEW, LIFE_NEW);
    if (status != RESMON_OK) {
        return status;
    }
    rm_needs_settle(&monitor->needs, &monitor->options);
    RM_STORE_RELEASE(&monitor->life, LIFE_STARTING); /* sinks are called before the monitor runs */
    const uint64_t rss_before = rm_own_memory_rss();
    status = start_all(monitor);
    if (status != RESMON_OK) {
        stop_stacks(monitor);
        rm_sampling_stop(&monitor->sampling);
        if (monitor->session != NULL) {
            rm_session_stop(monitor->session);
        }
        const char *reason = resmon_last_error();
        char text[RM_ERROR_TEXT_BYTES];
        (void)rm_text_set(text, sizeof text, reason);
        (void)rm_delivery_stop(&monitor->delivery, NULL, monitor->options.values.stop_timeout_ms);
        (void)rm_error(status, "%s", text);
        rm_process_end_forget(monitor->observed_end);
        monitor->observed_end = -1;
    }
    if (status == RESMON_OK) {
        rm_own_memory_note_start(&monitor->own, rss_before);
    }
    RM_STORE_RELEASE(&monitor->life, status == RESMON_OK ? LIFE_RUNNING : LIFE_FAILED);
    return status;
}

/* ---- stop ------------------------------------------------------------------------------- */

static void stop_scopes(resmon_monitor *monitor)
{
    if (monitor->session != NULL) {
        rm_session_stop(monitor->session);
    }
}

/* The last sample is taken while a thread for the rest starts; but stacks end before scopes. */
void rm_monitor_end_with_program(resmon_monitor *monitor)
{
    if (RM_LOAD(&monitor->life) != LIFE_RUNNING) {
        return;
    }
    if (monitor->session != NULL) {
        rm_scope_end_with_program(&monitor->block);
    }
    if (monitor->stacks == NULL) {
        stop_scopes(monitor);
        rm_sampling_request_end(&monitor->sampling);
    }
}

#define END_TRIES 20 /* waiting for the process by its parent may take a moment */

/* Reads how an observed process ended that is not our child, unless its end was set. */
static void read_end(resmon_monitor *monitor)
{
    uint32_t status;
    struct rm_end_record known;
    const struct timespec wait = {.tv_nsec = RM_NS_PER_MS};
    struct pollfd ended = {.fd = monitor->observed_end, .events = POLLIN};
    rm_end_load(monitor->block.header, &known);
    bool is_known = known.reason != RESMON_END_UNKNOWN;
    for (int tries = 0; !is_known && tries < END_TRIES && poll(&ended, 1, 0) == 1; tries++) {
        if (rm_process_end_learn(ended.fd, (uint32_t)monitor->sampling.sampler.collect.pid,
                                 &status)) {
            const resmon_run_end end = rm_end_of_status((int)status);
            (void)rm_monitor_set_end(monitor, &end);
            break;
        }
        (void)nanosleep(&wait, NULL);
    }
    rm_process_end_forget(monitor->observed_end);
    monitor->observed_end = -1;
}

/* The sampling thread closes the sources in parallel to the steps below. */
static void finish(resmon_monitor *monitor)
{
    struct rm_block_header *header = monitor->block.header;
    stop_stacks(monitor); /* before the scopes that they refer to */
    stop_scopes(monitor);
    rm_sampling_end(&monitor->sampling);
    if (monitor->observed_end >= 0) {
        read_end(monitor);
    }
    rm_own_memory_note(&monitor->own);
    (void)pthread_mutex_lock(&monitor->label_lock);
    rm_facts_record_clock_end(&monitor->block);
    (void)pthread_mutex_unlock(&monitor->label_lock);
    header->stop_ns = rm_series_state(&monitor->block)->t_ns;
    RM_STORE_RELEASE(&header->phase, RM_PHASE_STOPPED);
}

/* Returns the remaining time.  The measured values are delivered before symbolization, which needs
 * memory and time in which the program may be killed. */
static uint64_t send_draft(resmon_monitor *monitor)
{
    resmon_run *run = NULL;
    uint64_t left_ms = monitor->options.values.stop_timeout_ms;
    const unsigned parts = (unsigned)rm_delivery_draft_parts(&monitor->delivery);
    bool has_names = (rm_delivery_parts(&monitor->delivery) & RESMON_PART_STACKS) != 0;
    if (monitor->block.header->sizes.stacks == 0 || !has_names || parts == 0 ||
        rm_monitor_capture(monitor, parts | RM_PART_STACKS, &run) != RESMON_OK) {
        return left_ms;
    }
    if (run->profile.place_count > 0) {
        left_ms = rm_delivery_draft(&monitor->delivery, run, left_ms);
    }
    rm_run_free(run);
    return left_ms;
}

struct ending {
    resmon_monitor *monitor;
    bool *has_begun;
};

static resmon_status send_all(void *ending_)
{
    const struct ending *ending = ending_;
    resmon_monitor *monitor = ending->monitor;
    resmon_run *run = NULL;
    *ending->has_begun = true;
    uint64_t left_ms = send_draft(monitor);
    const unsigned parts = (unsigned)rm_delivery_parts(&monitor->delivery);
    const unsigned names = (parts & RM_PART_STACKS) != 0 ? RM_PART_NAMES : 0;
    resmon_status status = rm_monitor_capture(monitor, parts | names, &run);
    resmon_status sent = rm_delivery_stop(&monitor->delivery, run, left_ms);
    rm_run_free(run);
    return status == RESMON_OK ? sent : status;
}

resmon_status rm_monitor_stop(resmon_monitor *monitor)
{
    resmon_status status = check_life(monitor, LIFE_RUNNING, LIFE_STOPPED);
    if (status == RESMON_OK && rm_delivery_is_this_thread(&monitor->delivery)) {
        status = rm_error(RESMON_ESTATE, "a sink cannot stop its own monitor");
    }
    if (status != RESMON_OK || RM_LOAD(&monitor->life) == LIFE_STOPPED) {
        return status;
    }
    finish(monitor);
    RM_STORE_RELEASE(&monitor->life, LIFE_STOPPED);
    const int64_t until_ns =
        rm_clock_monotonic_ns() + (int64_t)monitor->options.values.stop_timeout_ms * RM_NS_PER_MS;
    if (monitor->memory.recorder != NULL) {
        rm_recorder_end(monitor->memory.recorder); /* in parallel to the sinks */
    }
    if (monitor->delivery.sink_count > 0) {
        bool has_begun = false;
        struct ending ending = {monitor, &has_begun};
        status = rm_thread_call(send_all, &ending);
        if (!has_begun) { /* no stack for the thread: the sinks are ended nevertheless */
            (void)rm_delivery_stop(&monitor->delivery, NULL,
                                   monitor->options.values.stop_timeout_ms);
        }
    }
    if (monitor->memory.recorder != NULL) {
        resmon_status kept = rm_recorder_wait(monitor->memory.recorder, until_ns);
        status = status == RESMON_OK ? kept : status;
    }
    return status;
}

void rm_monitor_wait_closed(resmon_monitor *monitor)
{
    if (!is_inherited(monitor) && RM_LOAD(&monitor->life) == LIFE_STOPPED) {
        rm_sampling_stop(&monitor->sampling);
    }
}

void rm_monitor_free(resmon_monitor *monitor)
{
    if (monitor == NULL) {
        return;
    }
    bool inherited = is_inherited(monitor);
    if (!inherited && rm_delivery_is_this_thread(&monitor->delivery)) {
        rm_log(RESMON_LOG_WARNING, "a sink cannot free its own monitor; nothing was done");
        return;
    }
    if (!inherited && RM_LOAD(&monitor->life) == LIFE_RUNNING) {
        (void)rm_monitor_stop(monitor);
    }
    if (RM_LOAD(&monitor->life) != LIFE_NEW && !inherited) {
        rm_sampling_close(&monitor->sampling);
    }
    rm_delivery_close(&monitor->delivery, inherited);
    if (monitor->session != NULL && inherited) {
        rm_session_forget(monitor->session);
    } else if (monitor->session != NULL) {
        rm_session_unref(monitor->session); /* and the mapping, with its last reference */
    }
    if (!inherited) {
        (void)pthread_mutex_destroy(&monitor->label_lock);
    }
    rm_block_memory_free(&monitor->memory, monitor->session != NULL, inherited);
    rm_leader_free(&monitor->leader);
    rm_job_free(monitor->job);
    rm_options_free(&monitor->options);
    rm_capture_close(&monitor->capture, inherited);
    rm_free(monitor);
}

/* ---- while it runs ---------------------------------------------------------------------- */

/* Async-signal-safe: takes no lock, and writes an error text only on failure. */
resmon_status rm_monitor_tag(resmon_monitor *monitor, const char *label)
{
    if (is_inherited(monitor) || RM_LOAD_ACQUIRE(&monitor->life) != LIFE_RUNNING) {
        return RESMON_ESTATE;
    }
    rm_tags_add(&monitor->block, rm_clock_monotonic_ns() - monitor->block.header->start.ns, label);
    return RESMON_OK;
}

resmon_status rm_monitor_set_label(resmon_monitor *monitor, const char *label)
{
    resmon_status status = check_life(monitor, LIFE_RUNNING, LIFE_RUNNING);
    if (status != RESMON_OK) {
        return status;
    }
    struct rm_block_header *header = monitor->block.header;
    char clean[RM_LABEL_BYTES] = {0};
    (void)rm_text_set(clean, sizeof clean, label);
    (void)pthread_mutex_lock(&monitor->label_lock);
    uint64_t version = header->label_version + 1;
    RM_FENCE_BEFORE_REFILL();
    for (size_t i = 0; i < sizeof clean; i++) {
        RM_STORE(&header->labels[version & 1][i], clean[i]);
    }
    RM_STORE_RELEASE(&header->label_version, version);
    (void)pthread_mutex_unlock(&monitor->label_lock);
    return RESMON_OK;
}

resmon_status rm_monitor_set_end(resmon_monitor *monitor, const resmon_run_end *end)
{
    resmon_status status = check_life(monitor, LIFE_RUNNING, LIFE_RUNNING);
    if (status == RESMON_OK) {
        (void)pthread_mutex_lock(&monitor->label_lock);
        rm_end_store(monitor->block.header, end);
        (void)pthread_mutex_unlock(&monitor->label_lock);
    }
    return status;
}

resmon_status rm_monitor_join(resmon_monitor *monitor, struct resmon_run *part)
{
    resmon_status status = check_life(monitor, LIFE_RUNNING, LIFE_RUNNING);
    if (status == RESMON_OK && monitor->session != NULL) {
        status =
            rm_error(RESMON_EINVAL,
                     "a monitor that records scopes itself cannot join those of other processes");
    }
    if (status == RESMON_OK) {
        status = rm_capture_join(&monitor->capture, part);
    }
    return status;
}

resmon_status rm_monitor_set_begin(resmon_monitor *monitor, int64_t at_ns,
                                   const resmon_run_usage *usage)
{
    resmon_status status = check_life(monitor, LIFE_NEW, LIFE_NEW);
    int64_t pid = monitor->options.values.pid;
    if (status == RESMON_OK && (pid == 0 || pid == (int64_t)getpid())) {
        status =
            rm_error(RESMON_ENOTSUP,
                     "only a monitor of another process accepts the time when that process began");
    }
    if (status == RESMON_OK) {
        monitor->begin = (struct rm_begin){.at_ns = at_ns, .usage = *usage};
    }
    return status;
}

/* The process has ended, and nothing after it belongs to the run: the next sample, for which the
 * collectors read the usage, is the last one. */
resmon_status rm_monitor_set_usage(resmon_monitor *monitor, const resmon_run_usage *usage)
{
    resmon_status status = check_life(monitor, LIFE_RUNNING, LIFE_RUNNING);
    if (status == RESMON_OK) {
        (void)pthread_mutex_lock(&monitor->label_lock);
        bool is_first = rm_usage_store(monitor->block.header, usage);
        (void)pthread_mutex_unlock(&monitor->label_lock);
        if (!is_first) {
            return rm_error(RESMON_EBUSY, "the usage of the process is already set");
        }
        RM_STORE_RELEASE(&monitor->sampling.sampler.collect.usage, &monitor->block.header->usage);
        rm_sampling_end(&monitor->sampling);
    }
    return status;
}

void rm_monitor_note_exit(resmon_monitor *monitor, int exit_status)
{
    struct rm_end_record known;
    rm_end_load(monitor->block.header, &known);
    bool is_known = known.reason != RESMON_END_UNKNOWN;
    if (exit_status != 0 && (!is_known || known.reason == RESMON_END_FAILED)) {
        (void)rm_monitor_set_end(
            monitor, &(resmon_run_end){.reason = RESMON_END_FAILED,
                                       .exit_status =
                                           known.exit_status != 0 ? known.exit_status : exit_status,
                                       .signal_number = is_known ? known.signal_number : 0,
                                       .text = is_known ? known.text : ""});
    }
}

resmon_status rm_monitor_check_running(const resmon_monitor *monitor)
{
    return check_life(monitor, LIFE_RUNNING, LIFE_RUNNING);
}

bool rm_monitor_is_this_thread(const resmon_monitor *monitor)
{
    return rm_delivery_is_this_thread(&monitor->delivery);
}

void rm_monitor_note_signal(resmon_monitor *monitor, int number)
{
    if (RM_LOAD(&monitor->life) == LIFE_RUNNING) {
        rm_end_note_signal(monitor->block.header, number);
    }
}

resmon_status rm_monitor_sample(resmon_monitor *monitor)
{
    resmon_status status = check_life(monitor, LIFE_RUNNING, LIFE_RUNNING);
    return status == RESMON_OK ? rm_sampling_request(&monitor->sampling) : status;
}

resmon_status rm_monitor_capture(resmon_monitor *monitor, unsigned parts, resmon_run **ret_run)
{
    resmon_status status = check_life(monitor, LIFE_RUNNING, LIFE_STOPPED);
    return status == RESMON_OK ? rm_capture_run(&monitor->capture, parts, ret_run) : status;
}
