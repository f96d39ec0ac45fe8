/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* adjtimex */
#include "setup/facts.h"

#include <stdio.h>
#include <string.h>
#include <sys/timex.h>
#include <unistd.h>

#include <resmon/version.h>

#include "base/compiler.h"
#include "base/text.h"
#include "job/detect.h"
#include "job/hosts.h"
#include "os/clocksource.h"
#include "scope/meter.h"
#include "scope/peak.h"
#include "store/run_records.h"

static void record_run(struct rm_block *block, const struct rm_options *options,
                       const struct rm_collect *collect, const struct rm_host *host)
{
    rm_facts_add_text(block, "run", "name", options->values.name);
    rm_facts_add_text(block, "run", "library", resmon_version());
    rm_facts_add_number(block, "run", "pid", collect->is_group ? RM_NAN : (double)collect->pid);
    bool is_cgroup = collect->is_group && collect->group.entries == NULL;
    rm_facts_add_text(block, "run", "cgroup", is_cgroup ? collect->group_name : NULL);
    rm_facts_add_text(block, "run", RM_FACT_OBSERVED_JOB, options->values.job);
    rm_facts_add_number(block, "run", "observer_pid", (double)getpid());
    rm_facts_add_text(block, "run", "program", host->program);
    rm_facts_add_text(block, "run", "executable", host->executable);
    rm_facts_add_text(block, "run", "command_line", host->command_line);
    rm_facts_add_text(block, "run", "scope_clock", rm_clocksource_choose());
}

/*
 * Since Linux 6.2 the RSS counters are per CPU and folded into the sum in batches of
 * max(32, 2 * CPUs) pages (lib/percpu_counter.c); what statm and VmHWM show may miss that much per
 * CPU for each of file, anonymous and shared pages.
 */
static double rss_error_bound(const struct rm_collect *collect)
{
    double cpus = collect->capacity.host_cpus;
    double batch = fmax(32.0, 2.0 * cpus);
    return 3.0 * cpus * batch * collect->page_bytes;
}

static const char *virtualization(const struct rm_cpu_model *cpu)
{
    return !cpu->is_virtual             ? NULL
           : cpu->hypervisor[0] != '\0' ? cpu->hypervisor
                                        : "an unknown hypervisor";
}

static void record_machine(struct rm_block *block, const struct rm_collect *collect,
                           const struct rm_host *host)
{
    const struct rm_capacity *capacity = &collect->capacity;
    rm_facts_add_text(block, "machine", "host_name", host->host_name);
    rm_facts_add_text(block, "machine", "os", host->os);
    rm_facts_add_text(block, "machine", "kernel", host->kernel);
    rm_facts_add_text(block, "machine", "architecture", host->architecture);
    rm_facts_add_text(block, "machine", "cpu_model", collect->cpu.name);
    rm_facts_add_text(block, "machine", "cpu_features",
                      collect->cpu.features[0] != '\0' ? collect->cpu.features : NULL);
    rm_facts_add_text(block, "machine", "virtualization", virtualization(&collect->cpu));
    rm_facts_add_text(block, "machine", "cpu_governor",
                      host->cpu_governor[0] != '\0' ? host->cpu_governor : NULL);
    rm_facts_add_text(block, "machine", "boot_id", host->boot_id);
    rm_facts_add_number(block, "machine", "cpus", capacity->host_cpus);
    rm_facts_add_number(block, "machine", "cpus_cgroup", capacity->cgroup_cpus);
    rm_facts_add_number(block, "machine", "cpus_affinity", capacity->affinity_cpus);
    rm_facts_add_number(block, "machine", "memory_bytes", capacity->host_bytes);
    rm_facts_add_number(block, "machine", "memory_cgroup_bytes", capacity->cgroup_bytes);
    rm_facts_add_number(block, "machine", "memory_affinity_bytes", capacity->affinity_bytes);
    rm_facts_add_number(block, "machine", "swap_bytes", capacity->swap_bytes);
    rm_facts_add_number(block, "machine", "page_bytes", collect->page_bytes);
    rm_facts_add_number(block, "machine", "rss_error_bound_bytes", rss_error_bound(collect));
}

static void record_caches(struct rm_block *block, const struct rm_topology *topology)
{
    for (size_t i = 0; i < topology->cache_count; i++) {
        const struct rm_cpu_cache *cache = &topology->caches[i];
        char key[32];
        (void)snprintf(key, sizeof key, "cache_%s_bytes", cache->name);
        rm_facts_add_number(block, "machine", key, cache->bytes);
        (void)snprintf(key, sizeof key, "cache_%s_cpus", cache->name);
        rm_facts_add_number(block, "machine", key, cache->cpu_number);
    }
}

static void record_numa(struct rm_block *block, const struct rm_topology *topology)
{
    rm_facts_add_number(block, "machine", "numa_nodes",
                        topology->numa_count > 0 ? (double)topology->numa_count : RM_NAN);
    if (topology->numa_count < 2) { /* its CPUs and memory are the machine's */
        return;
    }
    for (size_t i = 0; i < RM_MOST_NUMA_NODES && i < topology->numa_count; i++) {
        const struct rm_numa_node *node = &topology->numa[i];
        char key[40];
        (void)snprintf(key, sizeof key, "numa_%u_cpus", node->number);
        rm_facts_add_text(block, "machine", key, node->cpus[0] != '\0' ? node->cpus : NULL);
        (void)snprintf(key, sizeof key, "numa_%u_memory_bytes", node->number);
        rm_facts_add_number(block, "machine", key, node->memory_bytes);
    }
}

void rm_facts_record_topology(struct rm_block *block, const struct rm_topology *topology)
{
    rm_facts_add_number(block, "machine", "sockets", topology->sockets);
    rm_facts_add_number(block, "machine", "cores", topology->cores);
    rm_facts_add_number(block, "machine", "threads_per_core", topology->threads_per_core);
    rm_facts_add_number(block, "machine", "cpu_min_hz", topology->min_hz);
    rm_facts_add_number(block, "machine", "cpu_max_hz", topology->max_hz);
    record_caches(block, topology);
    record_numa(block, topology);
}

/* "2 x NVIDIA H100 80GB HBM3", as far as they are of the same model. */
static void record_gpus(struct rm_block *block, const struct rm_collect_gpus *gpus)
{
    const struct rm_gpu_info *first = NULL;
    size_t count = 0;
    size_t alike = 0;
    for (size_t i = 0; i < gpus->count; i++) {
        const struct rm_gpu_info *info = &gpus->infos[i];
        char key[32];
        (void)snprintf(key, sizeof key, "gpu_%s_uuid", info->instance);
        rm_facts_add_text(block, "machine", key, info->uuid);
        if (!info->is_slice) {
            first = first != NULL ? first : info;
            alike += strcmp(first->name, info->name) == 0 ? 1 : 0;
            count++;
        }
    }
    if (count > 0) {
        char model[160];
        (void)snprintf(model, sizeof model, "%zu x %s%s", alike, first->name,
                       alike < count ? ", and others" : "");
        rm_facts_add_number(block, "machine", "gpus", (double)count);
        rm_facts_add_text(block, "machine", "gpu_model", model);
        rm_facts_add_text(block, "machine", "gpu_driver", gpus->driver);
    }
}

/* "wall+cpu" */
static void record_meters(struct rm_block *block, uint64_t meters)
{
    char text[64] = "";
    size_t length = 0;
    const struct rm_option *option = rm_option_find(&rm_monitor_options, "scopes");
    for (size_t i = 0; i < option->name_count; i++) {
        const struct rm_option_name *name = &option->names[i];
        bool is_one = name->use == RM_NAME_JOINED && (name->bits & (name->bits - 1)) == 0;
        if (is_one && (meters & name->bits) != 0) {
            length += rm_text_set(text + length, sizeof text - length, length > 0 ? "+" : "");
            length += rm_text_set(text + length, sizeof text - length, name->name);
        }
    }
    rm_facts_add_text(block, "settings", "scopes", text);
    if ((meters & RESMON_METER_RSS) != 0) {
        rm_peak_open();
        rm_facts_add_text(block, "settings", "rss_peak_method", rm_peak_method());
    }
}

static void record_settings(struct rm_block *block, const struct rm_options *options, bool is_self)
{
    rm_facts_add_number(block, "settings", "interval_ms", (double)options->values.interval_ms);
    rm_facts_add_number(block, "settings", "rows", (double)options->values.rows);
    rm_facts_add_number(block, "settings", "domains", (double)options->values.domains);
    rm_facts_add_number(block, "settings", "flags", (double)options->values.flags);
    rm_facts_add_number(block, "settings", "max_overhead", options->values.max_overhead);
    rm_facts_add_number(block, "settings", "max_meter_share", options->values.max_meter_share);
    if (options->wants_scopes && is_self) {
        record_meters(block, options->meters);
        rm_facts_add_number(block, "settings", "events", (double)options->values.events);
    }
    if (options->values.fs_root != NULL) {
        rm_facts_add_text(block, "settings", "fs_root", options->values.fs_root);
    }
    if (options->values.record != NULL) {
        rm_facts_add_text(block, "settings", "record", options->values.record);
    }
}

static const char *idle_policy(const struct rm_options *options)
{
    return (options->values.flags & RESMON_FLAG_IDLE_NONE) != 0        ? "none"
           : (options->values.flags & RESMON_FLAG_IDLE_ALLOCATED) != 0 ? "allocated"
                                                                       : "proportional";
}

/* The last of equal names counts. */
static void record_labels(struct rm_block *block, const resmon_monitor_options *values)
{
    for (size_t i = 0; i < values->label_count; i++) {
        const resmon_label *label = &values->labels[i];
        bool is_last = true;
        for (size_t k = i + 1; k < values->label_count; k++) {
            is_last = is_last && strcmp(values->labels[k].name, label->name) != 0;
        }
        if (is_last) {
            rm_facts_add_text(block, RM_FACT_LABELS, label->name, label->value);
        }
    }
}

/* The carbon intensity at the begin of the run. */
static void record_energy(struct rm_block *block, const struct rm_options *options)
{
    const struct rm_terms_of_place *place = &options->place;
    const struct rm_intensity *intensity = &place->intensity;
    if ((options->values.domains & RESMON_DOMAIN_ENERGY) == 0) {
        return;
    }
    rm_facts_add_text(block, "energy", "idle_policy", idle_policy(options));
    rm_facts_add_number(block, "energy", "g_per_kwh", intensity->g_per_kwh);
    rm_facts_add_number(block, "energy", "pue", place->pue);
    rm_facts_add_number(block, "energy", "wue", place->wue);
    rm_facts_add_number(block, "energy", "basis", intensity->basis);
    rm_facts_add_number(block, "energy", "year", intensity->year > 0 ? intensity->year : RM_NAN);
    rm_facts_add_text(block, "energy", "place", intensity->place);
    rm_facts_add_text(block, "energy", "country",
                      intensity->iso3[0] != '\0' ? intensity->iso3 : NULL);
    rm_facts_add_text(block, "energy", "country_name",
                      intensity->country[0] != '\0' ? intensity->country : NULL);
    rm_facts_add_text(block, "energy", "cloud_provider", intensity->provider);
    rm_facts_add_text(block, "energy", "source",
                      intensity->source[0] != '\0' ? intensity->source : NULL);
    rm_facts_add_text(block, "energy", "remark",
                      options->place_remark[0] != '\0' ? options->place_remark : NULL);
}

void rm_facts_record_observer(struct rm_block *block, const struct rm_identity *self)
{
    char text[RM_IDENTITY_TEXT_BYTES];
    if (self->pid != 0) {
        rm_identity_print(self, text);
        rm_facts_add_text(block, "run", RM_FACT_OBSERVER, text);
    }
}

void rm_facts_record_observed(struct rm_block *block, const struct rm_collect *collect)
{
    char text[RM_IDENTITY_TEXT_BYTES];
    if (collect->is_self || collect->is_group || !collect->root.is_live || collect->proc_pid <= 0) {
        return;
    }
    const struct rm_identity observed = rm_identity_of((uint64_t)collect->proc_pid);
    if (observed.pid != 0) {
        rm_identity_print(&observed, text);
        rm_facts_add_text(block, "run", RM_FACT_OBSERVED, text);
    }
}

/* A list that is too long is not kept at all. */
static void record_hosts(struct rm_block *block, const struct rm_hosts *hosts)
{
    struct rm_buffer buffer;
    rm_buffer_init(&buffer, RM_FACT_VALUE_BYTES - 1);
    rm_hostlist_fold(hosts, &buffer);
    if (buffer.status == RESMON_OK && hosts->count > 0) {
        rm_facts_add_text(block, "job", RM_FACT_JOB_HOSTS, buffer.text);
    }
    rm_buffer_free(&buffer);
}

/* Identified by its memory cgroup, which batch systems limit first. */
static void record_group(struct rm_block *block, const struct rm_collect *collect)
{
    const struct rm_cgroup_place *place = &collect->job_group.places[RM_CGROUP_MEMORY];
    char path[RM_CGROUP_PATH_BYTES + 1];
    if (collect->has_job_group && place->version != 0) {
        (void)snprintf(path, sizeof path, "/%s", place->path);
        rm_facts_add_text(block, "job", "cgroup", path);
    }
}

/* The limit that the batch system states, else the limit that it set in the cgroup. */
static double memory_of_job(const resmon_job_info *info, const struct rm_collect *collect)
{
    return info->node_memory_bytes >= 0 ? (double)info->node_memory_bytes : collect->job_bytes;
}

/* Writes known facts only.  The job is that of the observing process. */
void rm_facts_record_job(struct rm_block *block, const struct resmon_job *job,
                         const struct rm_leader *leader, const struct rm_collect *collect)
{
    const resmon_job_info *info = &job->info;
    const struct {
        const char *key, *value;
    } texts[] = {
        {"system", info->system},       {"launcher", info->launcher}, {"id", info->id},
        {"step", info->step},           {"array_id", info->array_id}, {"name", info->name},
        {"queue", info->queue},         {"cluster", info->cluster},   {"key", info->key},
        {"node_name", info->node_name}, {"remark", info->remark},     {"user", info->user},
    };
    const struct {
        const char *key;
        int64_t value;
    } numbers[] = {
        {"array_index", info->array_index},
        {"restarts", info->restarts},
        {"node_index", info->node_index},
        {"node_count", info->node_count},
        {"rank", info->rank},
        {"rank_count", info->rank_count},
        {"local_rank", info->local_rank},
        {"local_rank_count", info->local_rank_count},
        {"node_cpus", info->node_cpus},
        {"time_limit_s", info->time_limit_s},
    };
    for (size_t i = 0; i < RM_ARRAY_LEN(texts); i++) {
        rm_facts_add_text(block, "job", texts[i].key,
                          texts[i].value[0] != '\0' ? texts[i].value : NULL);
    }
    for (size_t i = 0; i < RM_ARRAY_LEN(numbers); i++) {
        rm_facts_add_number(block, "job", numbers[i].key,
                            numbers[i].value >= 0 ? (double)numbers[i].value : RM_NAN);
    }
    rm_facts_add_number(block, "job", "node_memory_bytes", memory_of_job(info, collect));
    rm_facts_add_number(block, "job", "reports_host", rm_leader_leads(leader) ? 1.0 : 0.0);
    rm_facts_add_text(block, "job", "reports_host_reason",
                      leader->reason[0] != '\0' ? leader->reason : NULL);
    record_group(block, collect);
    record_hosts(block, &job->hosts);
}

/* The error bound of the wall clock in ns, as the kernel and NTP estimate it; NaN: not known.  For
 * a clock that is not synchronized, the kernel returns 16 s. */
static double wall_clock_error_ns(void)
{
    struct timex clock = {.modes = 0};
    return adjtimex(&clock) >= 0 && clock.maxerror >= 0 ? (double)clock.maxerror * 1e3 : RM_NAN;
}

void rm_facts_record_clock(struct rm_block *block)
{
    rm_facts_add_number(block, "run", RM_FACT_CLOCK_ERROR, wall_clock_error_ns());
}

/* CLOCK_MONOTONIC is not affected when the time of day is set. */
void rm_facts_record_clock_end(struct rm_block *block)
{
    const struct rm_block_header *header = block->header;
    int64_t lasted_ns = rm_clock_monotonic_ns() - header->start.ns;
    int64_t by_day_ns = rm_clock_realtime_ns() - header->start_realtime_ns;
    rm_facts_add_number(block, "run", RM_FACT_END_CLOCK_ERROR, wall_clock_error_ns());
    rm_facts_add_number(block, "run", RM_FACT_CLOCK_STEP, (double)(by_day_ns - lasted_ns));
}

void rm_facts_record(struct rm_block *block, const struct rm_options *options,
                     const struct rm_collect *collect)
{
    struct rm_host host = collect->host;
    if (collect->is_group) {
        rm_host_set_command(&host, collect->group_name);
    }
    if (options->values.command != NULL) {
        rm_host_set_command(&host, options->values.command);
    }
    record_run(block, options, collect, &host);
    record_machine(block, collect, &host);
    record_gpus(block, &collect->gpus);
    record_settings(block, options, collect->is_self);
    record_labels(block, &options->values);
    record_energy(block, options);
}
