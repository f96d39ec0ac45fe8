/* SPDX-License-Identifier: MIT */
#include "engine/monitor.h"

#include <pthread.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/compiler.h"
#include "base/log.h"
#include "base/status.h"
#include "base/text.h"
#include "engine/delivery.h"
#include "engine/facts.h"
#include "engine/options.h"
#include "engine/recording.h"
#include "engine/sampling.h"
#include "engine/stacks.h"
#include "job/path_pattern.h"
#include "scope/session.h"
#include "scope/site.h"
#include "stack/naming.h"
#include "store/line_record.h"
#include "store/run_profile.h"
#include "store/tags.h"
#include "sys/clocksource.h"
#include "sys/identity.h"
#include "sys/mapping.h"

enum life { LIFE_NEW, LIFE_STARTING, LIFE_RUNNING, LIFE_STOPPED, LIFE_FAILED };

struct resmon_monitor {
    struct rm_options options;
    pid_t pid; /* of the process that made it: in a fork's child it is inert */
    uint32_t forks;
    int life;                         /* enum life, atomic: tags look at it from signal handlers */
    struct rm_mapping *mapping;       /* of the block; a scope session may own it by now */
    struct rm_scope_session *session; /* NULL: this monitor has no scopes */
    struct rm_block block;
    struct rm_sampling sampling;
    struct rm_stacks *stacks; /* NULL: none are taken */
    struct rm_delivery delivery;
    struct rm_leader leader;    /* of the host, in a job */
    pthread_mutex_t label_lock; /* guards the label in the block */
    pthread_mutex_t naming_lock;
    struct rm_naming *naming; /* under that; NULL: nothing was named yet */
    bool yields_scopes;
};

#define FACT_BYTES 16384
#define SITES      1024
#define STACKS     8192

static bool is_inherited(const resmon_monitor *monitor)
{
    return monitor->pid != getpid() || monitor->forks != rm_scope_forks();
}

static resmon_status check_life(const resmon_monitor *monitor, enum life low, enum life high)
{
    if (is_inherited(monitor)) {
        return rm_error(RESMON_ESTATE, "this monitor belongs to process %ld, which forked",
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
    rm_scope_prepare_for_fork();
    monitor->pid = getpid();
    monitor->forks = rm_scope_forks();
    (void)pthread_mutex_init(&monitor->label_lock, NULL);
    (void)pthread_mutex_init(&monitor->naming_lock, NULL);
    *ret_monitor = monitor;
    return RESMON_OK;
}

void rm_monitor_yield_scopes(resmon_monitor *monitor)
{
    monitor->yields_scopes = true;
}

bool rm_monitor_is_ours(const resmon_monitor *monitor)
{
    return !is_inherited(monitor);
}

resmon_status rm_monitor_add_sink(resmon_monitor *monitor, const resmon_sink_ops *ops,
                                  void *context)
{
    resmon_status status = check_life(monitor, LIFE_NEW, LIFE_NEW);
    return status == RESMON_OK ? rm_delivery_add(&monitor->delivery, ops, context) : status;
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

static void free_mapping(void *context)
{
    rm_mapping_free(context);
    rm_free(context);
}

static resmon_status map_block(resmon_monitor *monitor, const struct rm_block_sizes *sizes)
{
    uint64_t bytes;
    resmon_status status = rm_block_measure(sizes, &bytes);
    if (status != RESMON_OK) {
        return status;
    }
    struct rm_mapping *mapping = rm_alloc(1, sizeof *mapping);
    if (mapping == NULL) {
        return rm_error(RESMON_ENOMEM, "out of memory for a run");
    }
    if (monitor->options.record != NULL) {
        char path[RM_PATH_BYTES];
        status = rm_path_expand(monitor->options.record, path);
        if (status == RESMON_OK) {
            status = rm_recording_check_free(path);
        }
        if (status == RESMON_OK) {
            status = rm_mapping_file(mapping, path, bytes);
        }
    } else {
        status = rm_mapping_anonymous(mapping, bytes);
    }
    if (status != RESMON_OK) {
        rm_free(mapping);
        return status;
    }
    rm_block_format(&monitor->block, mapping->memory, sizes);
    monitor->mapping = mapping;
    return RESMON_OK;
}

/* Numbers of sites are the process's: room for those of before, and for a name per path. */
static uint64_t site_room(const struct rm_options *options)
{
    uint64_t fresh = options->paths > SITES ? options->paths : SITES;
    uint64_t room = rm_site_count() + fresh;
    return room < RM_MAX_SITES ? room : RM_MAX_SITES;
}

static struct rm_counter_wish wish_of(const struct rm_options *options)
{
    const struct rm_counters_wanted *wanted = &options->scope_counters;
    return (struct rm_counter_wish){(wanted->groups & RM_COUNTERS_DEFAULT) != 0, wanted->events,
                                    wanted->event_count};
}

/* What scopes take; nothing but what a block must have where there are none. */
static void set_scope_sizes(const struct rm_options *options, bool is_self,
                            struct rm_block_sizes *sizes)
{
    const struct rm_counter_wish wish = wish_of(options);
    sizes->sites = sizes->nodes = 2;
    sizes->threads = sizes->depth = 1;
    if (!options->wants_scopes) {
        return;
    }
    sizes->sites = site_room(options);
    sizes->nodes = options->paths;
    sizes->threads = options->threads;
    sizes->depth = options->depth;
    if (is_self) {
        sizes->events = options->events;
        sizes->scope_energy = (options->domains & RESMON_DOMAIN_ENERGY) != 0;
        sizes->lines = RM_LINES;
        sizes->scope_counters = rm_counter_plan_room(&wish);
    }
}

static resmon_status make_block(resmon_monitor *monitor)
{
    const struct rm_options *options = &monitor->options;
    const struct rm_sampler *sampler = &monitor->sampling.sampler;
    bool is_self = sampler->collect.is_self;
    struct rm_block_sizes sizes = {
        .columns = sampler->column_count,
        .rows = options->rows,
        .sources = sampler->source_count > 0 ? sampler->source_count : 1,
        .tags = options->tags,
        .fact_bytes = FACT_BYTES,
        .stacks = options->stacks != 0 ? STACKS : 0,
    };
    set_scope_sizes(options, is_self, &sizes);
    return map_block(monitor, &sizes);
}

static resmon_status take_scopes(resmon_monitor *monitor)
{
    const struct rm_options *options = &monitor->options;
    /* Scopes are of this process: a monitor of another has no use for them. */
    if (!options->wants_scopes || !monitor->sampling.sampler.collect.is_self) {
        return RESMON_OK;
    }
    const struct rm_counter_wish wish = wish_of(options);
    const struct rm_session_terms terms = {
        .meters = options->meters,
        .max_share = options->max_meter_share,
        .insists = options->needs_scopes,
        .yields = monitor->yields_scopes,
        .counters = &wish,
    };
    resmon_status status = rm_session_start(&monitor->block, &terms, free_mapping, monitor->mapping,
                                            &monitor->session);
    if (status == RESMON_EBUSY && !options->needs_scopes) {
        return RESMON_OK;
    }
    if (status == RESMON_OK && monitor->block.header->sizes.scope_energy != 0) {
        status = rm_energy_division_open(&monitor->sampling.sampler.division, monitor->session);
    }
    return status;
}

static resmon_status capture_all(void *monitor, resmon_run **ret_run)
{
    return rm_monitor_capture(monitor, RM_PART_ALL, ret_run);
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
        .capture = capture_all,
        .context = monitor,
    };
    status = rm_delivery_start(&monitor->delivery, &terms);
    rm_run_free(columns);
    return status;
}

/* One process of a job speaks for its host: that is settled here, for as long as the monitor is. */
static resmon_status record_job(resmon_monitor *monitor)
{
    struct resmon_job *job = NULL;
    resmon_status status = rm_job_detect(&rm_job_own_environment, &job);
    if (status == RESMON_OK && job->info.system[0] != '\0') {
        rm_leader_take(&monitor->leader, job, NULL);
        rm_facts_record_job(&monitor->block, &job->info, &monitor->leader);
        monitor->sampling.sampler.collect.leaves_host = !rm_leader_leads(&monitor->leader);
    }
    rm_job_free(job);
    return status;
}

static resmon_status begin_record(resmon_monitor *monitor)
{
    struct rm_block_header *header = monitor->block.header;
    struct rm_sampler_output output = {0};
    if (rm_delivery_wants_rows(&monitor->delivery)) {
        output = (struct rm_sampler_output){rm_delivery_row, rm_delivery_tag, rm_delivery_dropped,
                                            &monitor->delivery};
    }
    rm_facts_record(&monitor->block, &monitor->options, &monitor->sampling.sampler.collect);
    resmon_status status = record_job(monitor);
    if (status != RESMON_OK) {
        return status;
    }
    struct rm_identity writer = rm_identity_self();
    header->writer_pid = writer.pid;
    header->writer_start_ticks = writer.start_ticks;
    header->writer_boot_hash = writer.boot_hash;
    header->start = rm_clock_read_pair();
    header->start_realtime_ns = rm_clock_realtime_ns();
    return rm_sampler_begin(&monitor->sampling.sampler, &monitor->block, &output);
}

static resmon_status start_all(resmon_monitor *monitor)
{
    (void)rm_clocksource_choose();
    resmon_status status = rm_sampling_open(&monitor->sampling, &monitor->options);
    if (status == RESMON_OK) {
        status = make_block(monitor);
    }
    if (status == RESMON_OK) {
        status = begin_record(monitor);
    }
    if (status == RESMON_OK) {
        status = take_scopes(monitor);
    }
    if (status == RESMON_OK) {
        status = start_delivery(monitor);
    }
    if (status == RESMON_OK && monitor->block.header->sizes.stacks > 0) {
        status = rm_stacks_start(&monitor->block, &monitor->options,
                                 monitor->sampling.sampler.collect.is_self, &monitor->stacks);
    }
    if (status == RESMON_OK) {
        rm_sampling_run(&monitor->sampling);
        RM_STORE_RELEASE(&monitor->block.header->phase, RM_PHASE_RUNNING);
        /* Last: a start that fails leaves the recording before it in its place. */
        status = rm_mapping_publish(monitor->mapping);
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
    RM_STORE_RELEASE(&monitor->life, LIFE_STARTING); /* sinks get their turn before it runs */
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
        (void)rm_delivery_stop(&monitor->delivery, NULL, monitor->options.stop_timeout_ms);
        (void)rm_error(status, "%s", text);
    }
    RM_STORE_RELEASE(&monitor->life, status == RESMON_OK ? LIFE_RUNNING : LIFE_FAILED);
    return status;
}

/* ---- stop ------------------------------------------------------------------------------- */

static void finish(resmon_monitor *monitor)
{
    struct rm_block_header *header = monitor->block.header;
    stop_stacks(monitor); /* before the scopes that they are of */
    if (monitor->session != NULL) {
        rm_session_stop(monitor->session);
    }
    rm_sampling_stop(&monitor->sampling);
    header->stop_ns = rm_series_state(&monitor->block)->t_ns;
    RM_STORE_RELEASE(&header->phase, RM_PHASE_STOPPED);
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
    if (monitor->delivery.sink_count > 0) {
        resmon_run *run = NULL;
        status = rm_monitor_capture(monitor, RM_PART_ALL, &run);
        resmon_status sent =
            rm_delivery_stop(&monitor->delivery, run, monitor->options.stop_timeout_ms);
        status = status == RESMON_OK ? sent : status;
        rm_run_free(run);
    }
    return status;
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
    } else if (monitor->mapping != NULL) {
        free_mapping(monitor->mapping);
    }
    if (!inherited) {
        (void)pthread_mutex_destroy(&monitor->label_lock);
        (void)pthread_mutex_destroy(&monitor->naming_lock);
        rm_naming_free(monitor->naming);
    }
    rm_leader_free(&monitor->leader);
    rm_options_free(&monitor->options);
    rm_free(monitor);
}

/* ---- while it runs ---------------------------------------------------------------------- */

/* Async-signal-safe: no error text unless something is wrong, no lock. */
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

resmon_status rm_monitor_sample(resmon_monitor *monitor)
{
    resmon_status status = check_life(monitor, LIFE_RUNNING, LIFE_RUNNING);
    return status == RESMON_OK ? rm_sampling_request(&monitor->sampling) : status;
}

/* Who waits for these: our own sampling thread, and a thread at the first visit of a call path. */
static void lock_block(resmon_monitor *monitor)
{
    (void)pthread_mutex_lock(&monitor->sampling.sampler.store_lock);
    if (monitor->session != NULL) {
        rm_session_lock(monitor->session);
    }
}

static void unlock_block(resmon_monitor *monitor)
{
    if (monitor->session != NULL) {
        rm_session_unlock(monitor->session);
    }
    (void)pthread_mutex_unlock(&monitor->sampling.sampler.store_lock);
}

/* Who waits for the lock: another capture. */
static resmon_status add_stacks(resmon_monitor *monitor, resmon_run *run)
{
    resmon_status status = rm_run_decode_stacks(&monitor->block, run);
    if (status != RESMON_OK || run->profile.place_count == 0) {
        return status;
    }
    (void)pthread_mutex_lock(&monitor->naming_lock);
    if (monitor->naming == NULL) {
        status = rm_naming_new(NULL, &monitor->naming);
    }
    if (status == RESMON_OK) {
        status = rm_naming_fill(monitor->naming, run);
    }
    (void)pthread_mutex_unlock(&monitor->naming_lock);
    return status;
}

resmon_status rm_monitor_capture(resmon_monitor *monitor, unsigned parts, resmon_run **ret_run)
{
    resmon_status status = check_life(monitor, LIFE_RUNNING, LIFE_STOPPED);
    if (status != RESMON_OK) {
        return status;
    }
    resmon_run *run = NULL;
    lock_block(monitor);
    struct rm_run_extent extent = rm_run_measure(&monitor->block);
    unlock_block(monitor);
    status = rm_run_prepare(&monitor->block, extent, parts, &run);
    if (status != RESMON_OK) {
        return status;
    }
    struct rm_decode how = {
        .parts = parts,
        .is_live = RM_LOAD(&monitor->life) == LIFE_RUNNING,
        .now = rm_clock_read_pair(),
    };
    lock_block(monitor);
    status = rm_run_fill(&monitor->block, &how, run);
    unlock_block(monitor);
    if (status == RESMON_OK) {
        status = rm_run_finish(&monitor->block, run);
    }
    if (status == RESMON_OK && (parts & RM_PART_STACKS) != 0) {
        status = add_stacks(monitor, run);
    }
    if (status != RESMON_OK) {
        rm_run_free(run);
        return status;
    }
    *ret_run = run;
    return RESMON_OK;
}
