/* SPDX-License-Identifier: MIT */
#include "engine/sampler.h"

#include <stddef.h>
#include <string.h>

#include "base/alloc.h"
#include "base/status.h"
#include "base/text.h"
#include "collect/collect.h"
#include "job/environment.h"
#include "job/job_cgroup.h"
#include "scope/peak.h"
#include "store/run_records.h"

/* ---- sources ---------------------------------------------------------------------------- */

static size_t instances_of(const struct rm_sampler_source *source)
{
    return source->collector->instances != NULL ? source->collector->instances(source->state) : 1;
}

static void switch_off(struct rm_sampler_source *source)
{
    if (source->state != NULL) {
        if (source->collector->close != NULL) {
            source->collector->close(source->state);
        }
        rm_free(source->state);
        source->state = NULL;
        /* so that other sources do not become rarer because of it */
        source->schedule.cost_ns = 0.0;
    }
}

static void set_reason(struct rm_source_record *record, resmon_status status, const char *reason)
{
    record->status = status;
    (void)rm_text_set(record->reason, sizeof record->reason, reason);
}

/* If the process has ended, a remark on values that were read is kept. */
static void set_failure(struct rm_source_record *record, resmon_status status, const char *reason)
{
    if (status == RESMON_ESRCH && record->provenance == RESMON_PROVENANCE_SAMPLED) {
        record->status = status;
    } else {
        set_reason(record, status, reason);
    }
}

static int64_t least_interval(const struct rm_sampler *sampler,
                              const struct rm_collector *collector)
{
    bool is_asked_for = sampler->options->given.interval_ms != 0;
    return is_asked_for || collector->own_interval_ns < collector->min_interval_ns
               ? collector->min_interval_ns
               : collector->own_interval_ns;
}

static void open_source(struct rm_sampler *sampler, struct rm_sampler_source *source)
{
    struct rm_collect *collect = &sampler->collect;
    struct rm_source_record *record = &source->record;
    (void)rm_text_set(record->name, sizeof record->name, source->collector->name);
    source->schedule =
        rm_schedule_new(least_interval(sampler, source->collector), sampler->options->interval_ns);
    source->schedule.comes_early = source->collector->comes_early;
    record->every = source->schedule.every;
    size_t bytes = source->collector->state_bytes;
    source->state = rm_alloc(1, bytes > 0 ? bytes : 1);
    if (source->state == NULL) {
        set_reason(record, RESMON_ENOMEM, "out of memory");
        return;
    }
    collect->provenance = RESMON_PROVENANCE_MEASURED;
    collect->remark[0] = '\0';
    resmon_status status = rm_collect_open(collect, source->collector, source->state);
    if (status != RESMON_OK) {
        set_reason(record, status, resmon_last_error());
        switch_off(source);
        return;
    }
    set_reason(record, RESMON_OK, collect->remark);
    record->provenance = collect->provenance;
    source->first = sampler->column_count;
    source->columns = instances_of(source) * source->collector->metric_count;
    sampler->column_count += source->columns;
}

static bool is_wanted(const struct rm_options *options, const struct rm_collector *collector)
{
    uint64_t groups = options->counters.groups;
    uint64_t domains = options->values.domains | (groups != 0 ? RM_DOMAIN_COUNTERS : 0);
    uint64_t flags = options->values.flags | RM_FLAG_COUNTERS(groups);
    return (domains & collector->domain) != 0 &&
           (collector->needs_flag == 0 || (flags & collector->needs_flag) != 0);
}

size_t rm_sampler_row_bytes(const struct rm_options *options)
{
    size_t columns = 0;
    for (size_t i = 0; i < rm_collector_count; i++) {
        columns += is_wanted(options, rm_collectors[i]) ? rm_collectors[i]->metric_count : 0;
    }
    return sizeof(struct rm_row) + columns * sizeof(struct rm_cell);
}

static resmon_status open_sources(struct rm_sampler *sampler)
{
    const struct rm_collector *order[RM_MOST_COLLECTORS];
    resmon_status status = rm_collect_order(rm_collectors, rm_collector_count, order);
    for (size_t i = 0; i < rm_collector_count && status == RESMON_OK; i++) {
        if (is_wanted(sampler->options, order[i])) {
            struct rm_sampler_source *source = &sampler->sources[sampler->source_count++];
            source->collector = order[i];
            open_source(sampler, source);
        }
    }
    return status;
}

static bool read_gpus(void *gpus, unsigned parts, int64_t since_ns,
                      struct rm_gpu_reading *ret_readings, int64_t *ret_cpu_ns)
{
    return rm_gpus_read(gpus, parts, since_ns, ret_readings, ret_cpu_ns);
}

static resmon_status show_gpus(struct rm_sampler *sampler)
{
    struct rm_collect_gpus *gpus = &sampler->collect.gpus;
    gpus->status = sampler->gpus_status;
    (void)rm_text_set(gpus->why, sizeof gpus->why, sampler->gpus_why);
    if (sampler->gpus == NULL) {
        return RESMON_OK;
    }
    gpus->count = rm_gpus_count(sampler->gpus);
    gpus->infos = rm_gpus_infos(sampler->gpus);
    gpus->driver = rm_gpus_driver(sampler->gpus);
    gpus->read = read_gpus;
    gpus->context = sampler->gpus;
    gpus->has_host_pids = rm_collect_has_host_pids(&sampler->collect);
    sampler->gpu_readings = rm_alloc(gpus->count, sizeof *sampler->gpu_readings);
    gpus->readings = sampler->gpu_readings;
    return gpus->readings != NULL ? RESMON_OK
                                  : rm_error(RESMON_ENOMEM, "out of memory for a monitor");
}

/* NVML would read this machine's GPUs, not those of the root. */
static bool wants_gpus(const struct rm_options *options)
{
    bool is_live = options->values.fs_root == NULL || options->values.fs_root[0] == '\0' ||
                   strcmp(options->values.fs_root, "/") == 0;
    return is_live && (options->values.domains & (RESMON_DOMAIN_GPU | RESMON_DOMAIN_ENERGY)) != 0;
}

void rm_sampler_prepare(struct rm_sampler *sampler, const struct rm_options *options)
{
    memset(sampler, 0, sizeof *sampler); /* clang would build a value of this size on the stack */
    sampler->options = options;
    sampler->rss_column = -1;
    sampler->gpus_status = RESMON_ENODEV;
    sampler->cadence = rm_cadence_new(options->interval_ns, options->values.max_overhead);
    (void)pthread_mutex_init(&sampler->store_lock, NULL);
    (void)rm_text_set(sampler->gpus_why, sizeof sampler->gpus_why,
                      "the GPUs of this machine are not those of the files");
    if (wants_gpus(options)) {
        sampler->gpus_status = rm_gpus_start(&sampler->gpus);
        (void)rm_text_set(sampler->gpus_why, sizeof sampler->gpus_why,
                          sampler->gpus_status != RESMON_OK ? resmon_last_error() : "");
    }
}

/* Finds the cgroups of the job that this process reports; an explicitly observed cgroup is kept. */
static void find_job_group(struct rm_sampler *sampler)
{
    struct rm_collect *collect = &sampler->collect;
    struct rm_cgroup group;
    if (sampler->job_id != NULL && collect->has_cgroup &&
        rm_job_cgroup_around(&collect->cgroup, sampler->job_id, &group)) {
        collect->job_bytes = rm_cgroup_tightest_limit(&group.places[RM_CGROUP_MEMORY],
                                                      &collect->root, &collect->scratch);
        collect->job_group = group;
        collect->has_job_group = !collect->is_group;
    }
}

static resmon_status init_job(struct rm_sampler *sampler)
{
    const resmon_monitor_options *values = &sampler->options->values;
    char path[RM_FILE_PATH_BYTES];
    resmon_status status = rm_job_cgroup(values->fs_root, values->job, path);
    if (status == RESMON_OK) {
        return rm_collect_init_group(&sampler->collect, values->fs_root, path, values->flags);
    }
    if (status != RESMON_ENOENT) {
        return status;
    }
    rm_job_entries(values->job, sampler->job_entries);
    return rm_collect_init_job(&sampler->collect, values->fs_root, values->job,
                               sampler->job_entries, values->flags);
}

/* What is observed. */
static resmon_status init_collect(struct rm_sampler *sampler)
{
    const resmon_monitor_options *values = &sampler->options->values;
    if (values->job != NULL) {
        return init_job(sampler);
    }
    return values->cgroup != NULL
               ? rm_collect_init_group(&sampler->collect, values->fs_root, values->cgroup,
                                       values->flags)
               : rm_collect_init(&sampler->collect, values->fs_root, values->pid, values->flags);
}

resmon_status rm_sampler_open(struct rm_sampler *sampler)
{
    const struct rm_options *options = sampler->options;
    resmon_status status = init_collect(sampler);
    if (status != RESMON_OK) {
        return status;
    }
    find_job_group(sampler);
    sampler->collect.begin = sampler->begin;
    sampler->collect.folded_peak = &rm_peak_folded;
    sampler->collect.counters_wanted = &options->counters;
    status = show_gpus(sampler);
    if (status != RESMON_OK) {
        return status;
    }
    if ((options->values.domains & RESMON_DOMAIN_ENERGY) != 0) {
        sampler->collect.energy_path = options->energy_root;
        sampler->collect.cpu_watts = options->place.cpu_watts;
        sampler->collect.ram_watts = options->place.ram_watts;
    }
    sampler->sources = rm_alloc(rm_collector_count, sizeof *sampler->sources);
    if (sampler->sources == NULL) {
        return rm_error(RESMON_ENOMEM, "out of memory for a monitor");
    }
    sampler->collect.now_ns = rm_clock_monotonic_ns();
    return open_sources(sampler);
}

/* ---- the record ------------------------------------------------------------------------- */

static struct rm_source_record *record_of(const struct rm_sampler *sampler, size_t index)
{
    return rm_block_record(&sampler->block, RM_SECTION_SOURCES, index);
}

static void describe_columns(struct rm_sampler *sampler, size_t index)
{
    const struct rm_sampler_source *source = &sampler->sources[index];
    struct rm_column *columns = rm_block_record(&sampler->block, RM_SECTION_COLUMNS, 0);
    for (size_t c = 0; c < source->columns; c++) {
        size_t instance = c / source->collector->metric_count;
        const struct rm_metric *metric =
            rm_metric_of(source->collector->metrics[c % source->collector->metric_count]);
        struct rm_column *column = &columns[source->first + c];
        column->metric = metric->id;
        column->source = (uint32_t)index;
        column->kind = metric->kind & RM_KIND_MASK;
        column->is_interval = (metric->kind & RM_INTERVAL) != 0 ? 1 : 0;
        column->wrap = source->collector->wrap;
        column->most_rate = source->collector->most_rate;
        if (source->collector->instance_name != NULL) {
            (void)rm_text_set(column->instance, sizeof column->instance,
                              source->collector->instance_name(source->state, instance));
        }
        if (metric->id == RM_PROC_MEM_RSS) {
            sampler->rss_column = (int64_t)(source->first + c);
        }
    }
}

resmon_status rm_sampler_begin(struct rm_sampler *sampler, const struct rm_block *block,
                               const struct rm_sampler_output *output)
{
    sampler->block = *block;
    sampler->output = *output;
    sampler->values = rm_alloc(sampler->column_count + 1, sizeof *sampler->values);
    sampler->notes = rm_alloc(sampler->column_count + 1, sizeof *sampler->notes);
    if (sampler->values == NULL || sampler->notes == NULL) {
        return rm_error(RESMON_ENOMEM, "out of memory for a sample");
    }
    if (output->row != NULL) {
        sampler->delivered = rm_alloc(sampler->column_count + 1, sizeof *sampler->delivered);
        if (sampler->delivered == NULL) {
            return rm_error(RESMON_ENOMEM, "out of memory for a sample");
        }
    }
    for (size_t i = 0; i < sampler->source_count; i++) {
        *record_of(sampler, i) = sampler->sources[i].record;
        if (sampler->sources[i].state != NULL) {
            describe_columns(sampler, i);
        }
    }
    rm_series_begin(&sampler->block);
    return RESMON_OK;
}

/* ---- one sample ------------------------------------------------------------------------- */

/* The pid may be another process's by now, and some sources read by path. */
static void switch_off_process(struct rm_sampler *sampler)
{
    for (size_t i = 0; i < sampler->source_count; i++) {
        struct rm_sampler_source *source = &sampler->sources[i];
        bool is_of_process =
            (source->collector->domain & (RESMON_DOMAIN_PROCESS | RESMON_DOMAIN_TREE)) != 0;
        if (is_of_process && source->state != NULL) {
            set_failure(&source->record, RESMON_ESRCH, "the process has ended");
            switch_off(source);
        }
    }
}

/* A failure of a source is in the run, and the source is tried again, ever less often. */
static void note_failure(struct rm_sampler *sampler, size_t index, resmon_status status)
{
    struct rm_source_record *record = &sampler->sources[index].record;
    record->failures++;
    set_failure(record, status, resmon_last_error());
    if (status == RESMON_ESRCH) {
        switch_off_process(sampler);
    }
}

static void read_source(struct rm_sampler *sampler, size_t index, uint64_t sample,
                        int64_t *clock_ns)
{
    struct rm_sampler_source *source = &sampler->sources[index];
    struct rm_source_record *record = &source->record;
    sampler->collect.remark[0] = '\0';
    sampler->collect.takes_remark_back = false;
    sampler->collect.provenance = record->provenance;
    sampler->collect.waited_ns = sampler->collect.elsewhere_ns = 0;
    resmon_status status =
        source->collector->read(&sampler->collect, source->state, &sampler->values[source->first]);
    record->provenance = sampler->collect.provenance;
    int64_t now_ns = rm_clock_monotonic_ns();
    int64_t cost_ns = now_ns - *clock_ns;
    *clock_ns = now_ns;
    record->reads++;
    record->cost_ns += (uint64_t)cost_ns;
    record->cost_max_ns =
        (uint64_t)cost_ns > record->cost_max_ns ? (uint64_t)cost_ns : record->cost_max_ns;
    source->took_ns = cost_ns - sampler->collect.waited_ns;
    source->elsewhere_ns = sampler->collect.elsewhere_ns;
    rm_schedule_note(&source->schedule, sample, status != RESMON_OK);
    if (status != RESMON_OK) {
        source->took_ns = source->elsewhere_ns = 0; /* not the cost of a reading */
        for (size_t c = 0; c < source->columns; c++) {
            sampler->values[source->first + c] = RM_NAN;
        }
        note_failure(sampler, index, status);
    } else {
        record->status = RESMON_OK; /* the source works again: the reason is kept */
        if (sampler->collect.remark[0] != '\0' || sampler->collect.takes_remark_back) {
            set_reason(record, RESMON_OK, sampler->collect.remark);
        }
    }
}

static bool is_read(const struct rm_sampler_source *source, uint64_t sample, enum rm_sample_of of)
{
    if (source->state == NULL) {
        return false;
    }
    const struct rm_collector *collector = source->collector;
    bool is_any_time = collector->min_interval_ns == 0 || collector->comes_when_asked;
    return of == RM_SAMPLE_ALL || (of == RM_SAMPLE_ASKED && is_any_time) ||
           rm_schedule_is_due(&source->schedule, sample);
}

void rm_sampler_take_events(struct rm_sampler *sampler, int64_t now_ns)
{
    sampler->next_events_ns = INT64_MAX;
    for (size_t i = 0; i < sampler->source_count; i++) {
        const struct rm_sampler_source *source = &sampler->sources[i];
        if (source->state != NULL && source->collector->take_events != NULL) {
            int64_t in_ns = source->collector->take_events(source->state);
            int64_t at_ns = in_ns < INT64_MAX - now_ns ? now_ns + in_ns : INT64_MAX;
            sampler->next_events_ns =
                at_ns < sampler->next_events_ns ? at_ns : sampler->next_events_ns;
        }
    }
}

static void read_sources(struct rm_sampler *sampler, enum rm_sample_of of)
{
    uint64_t sample = rm_series_state(&sampler->block)->samples;
    int64_t clock_ns = rm_clock_monotonic_ns();
    for (size_t c = 0; c < sampler->column_count; c++) {
        sampler->values[c] = RM_NAN;
    }
    for (size_t i = 0; i < sampler->source_count; i++) {
        struct rm_sampler_source *source = &sampler->sources[i];
        source->took_ns = source->elsewhere_ns = 0;
        if (is_read(source, sample, of)) {
            read_source(sampler, i, sample, &clock_ns);
        }
        source->record.every = source->schedule.every;
    }
}

/* Called with the store lock, which readers take. */
static void publish_sources(struct rm_sampler *sampler)
{
    for (size_t i = 0; i < sampler->source_count; i++) {
        *record_of(sampler, i) = sampler->sources[i].record;
    }
}

static void send(struct rm_sampler *sampler, int64_t t_ns)
{
    if (sampler->output.row == NULL) {
        return;
    }
    uint64_t count = rm_tags_count(&sampler->block);
    uint64_t oldest = rm_tags_oldest(&sampler->block);
    sampler->tags_sent = sampler->tags_sent > oldest ? sampler->tags_sent : oldest;
    while (sampler->tags_sent < count) {
        struct rm_tag tag;
        bool is_there = rm_tags_get(&sampler->block, sampler->tags_sent, &tag);
        if (!is_there && sampler->tags_sent >= rm_tags_oldest(&sampler->block)) {
            break; /* a writer is active: done with the next sample */
        }
        sampler->tags_sent++;
        if (is_there) {
            sampler->output.tag(sampler->output.context, tag.t_ns, tag.label);
        }
    }
    sampler->output.row(sampler->output.context, t_ns, sampler->delivered);
    sampler->cost.undelivered = sampler->output.dropped(sampler->output.context);
}

/* ---- its cost --------------------------------------------------------------------------- */

/* Readings are timed by the wall clock, which is cheaper than reading CPU time around each.  Their
 * sum is scaled down to the CPU time of the thread.  CPU time of another thread is added as that
 * thread reports it. */
static void note_cost(struct rm_sampler *sampler, int64_t cpu_ns)
{
    double took_ns = 0.0;
    for (size_t i = 0; i < sampler->source_count; i++) {
        took_ns += (double)sampler->sources[i].took_ns;
    }
    double scale = took_ns > (double)cpu_ns ? (double)cpu_ns / took_ns : 1.0;
    for (size_t i = 0; i < sampler->source_count; i++) {
        struct rm_sampler_source *source = &sampler->sources[i];
        if (source->took_ns + source->elsewhere_ns > 0 && source->state != NULL) {
            rm_schedule_note_cost(&source->schedule,
                                  (double)source->took_ns * scale + (double)source->elsewhere_ns);
        }
    }
    rm_cadence_note(&sampler->cadence, cpu_ns - (int64_t)(took_ns * scale));
}

static void count_others(struct rm_sampler *sampler)
{
    struct rm_sampler_cost *cost = &sampler->cost;
    if (sampler->output.cpu_ns != NULL) {
        cost->delivery_ns = sampler->output.cpu_ns(sampler->output.cpu_context);
    }
    cost->gpus_ns = rm_gpus_cpu_ns(sampler->gpus);
    cost->stacks_ns = RM_LOAD(&sampler->stacks_cost.thread_ns);
    cost->handlers_ns = RM_LOAD(&sampler->stacks_cost.handlers_ns);
}

/* All CPU time of the thread since the last account, including waking and waiting.  Samples that
 * the program requests do not reduce the sampling rate. */
static void account(struct rm_sampler *sampler, int64_t now_ns, bool is_due)
{
    const struct rm_schedules schedules = {&sampler->sources[0].schedule, sampler->source_count,
                                           sizeof *sampler->sources};
    int64_t thread_ns = rm_clock_cpu_ns(CLOCK_THREAD_CPUTIME_ID);
    int64_t cpu_ns = thread_ns - sampler->cpu_mark_ns;
    sampler->cpu_mark_ns = thread_ns;
    sampler->cost.cpu_ns += (uint64_t)cpu_ns;
    count_others(sampler);
    int64_t others_ns = (int64_t)sampler->cost.delivery_ns;
    if (sampler->taken_ns != 0) {
        rm_cadence_note_others(&sampler->cadence, others_ns - sampler->others_ns,
                               now_ns - sampler->taken_ns);
    }
    sampler->others_ns = others_ns;
    sampler->taken_ns = now_ns;
    if (is_due) {
        sampler->cost.skipped += sampler->cadence.every - 1;
        note_cost(sampler, cpu_ns);
        rm_cadence_balance(&sampler->cadence, &schedules,
                           rm_series_state(&sampler->block)->samples);
    }
}

static void add_sample(struct rm_sampler *sampler, int64_t at_ns, const double *values)
{
    const int64_t t_ns = at_ns - sampler->block.header->start.ns;
    struct rm_sample sample = {
        .t_ns = t_ns,
        .clock = rm_clock_read_pair(),
        .values = values,
        .ret_values = sampler->delivered,
        .notes = sampler->notes,
    };
    (void)pthread_mutex_lock(&sampler->store_lock);
    publish_sources(sampler);
    rm_series_add(&sampler->block, &sample, &sampler->cost);
    (void)pthread_mutex_unlock(&sampler->store_lock);
}

/* Counters whose value at the begin is in the usage; the value is the sum of the members. */
static const struct {
    uint32_t metric;
    size_t members[2];
} of_usage[] = {
#define RM_USAGE(member) offsetof(resmon_run_usage, member)
    {RM_PROC_CPU_USER, {RM_USAGE(user_s)}},
    {RM_PROC_CPU_SYSTEM, {RM_USAGE(system_s)}},
    {RM_PROC_CPU_TIME, {RM_USAGE(user_s), RM_USAGE(system_s)}},
    {RM_TREE_CPU_TIME, {RM_USAGE(user_s), RM_USAGE(system_s)}},
    {RM_PROC_FAULT_MINOR, {RM_USAGE(minor_faults)}},
    {RM_PROC_FAULT_MAJOR, {RM_USAGE(major_faults)}},
    {RM_PROC_CTX_VOLUNTARY, {RM_USAGE(voluntary_switches)}},
    {RM_PROC_CTX_INVOLUNTARY, {RM_USAGE(involuntary_switches)}},
    {RM_PROC_IO_READ_CHARS, {0}},
    {RM_PROC_IO_WRITE_CHARS, {0}},
    {RM_PROC_IO_READ_COUNT, {0}},
    {RM_PROC_IO_WRITE_COUNT, {0}},
    {RM_PROC_IO_READ_BYTES, {0}},
    {RM_PROC_IO_WRITE_BYTES, {0}},
    {RM_PROC_IO_CANCELLED_WRITE_BYTES, {0}},
    {RM_TREE_IO_READ_CHARS, {0}},
    {RM_TREE_IO_WRITE_CHARS, {0}},
    {RM_TREE_IO_READ_COUNT, {0}},
    {RM_TREE_IO_WRITE_COUNT, {0}},
    {RM_TREE_IO_READ_BYTES, {0}},
    {RM_TREE_IO_WRITE_BYTES, {0}},
#undef RM_USAGE
};

/* NaN: not known. */
static double value_at_begin(const resmon_run_usage *usage, uint32_t metric)
{
    double sum = RM_NAN;
    for (size_t i = 0; i < RM_ARRAY_LEN(of_usage) && isnan(sum); i++) {
        if (of_usage[i].metric == metric) {
            sum = 0.0;
            for (size_t m = 0; m < 2 && of_usage[i].members[m] != 0; m++) {
                double value;
                memcpy(&value, (const char *)usage + of_usage[i].members[m], sizeof value);
                sum += value;
            }
        }
    }
    return sum;
}

/* Adds a sample at the begin of the run, with the counters whose value at the begin is known.  The
 * first sample then lacks these counters, since a rate over a millisecond is meaningless. */
static void add_begin(struct rm_sampler *sampler)
{
    const struct rm_column *columns = rm_block_record(&sampler->block, RM_SECTION_COLUMNS, 0);
    const struct rm_begin *begin = sampler->begin;
    double *values = rm_alloc(sampler->column_count + 1, sizeof *values);
    if (values == NULL) {
        return;
    }
    for (size_t c = 0; c < sampler->column_count; c++) {
        double value = value_at_begin(&begin->usage, columns[c].metric);
        bool is_known = !isnan(sampler->values[c]) && !isnan(value);
        /* which may be rounded to ticks */
        values[c] = is_known ? fmin(value, sampler->values[c]) : RM_NAN;
        sampler->values[c] = is_known ? RM_NAN : sampler->values[c];
    }
    add_sample(sampler, begin->at_ns, values);
    send(sampler, 0);
    rm_free(values);
}

void rm_sampler_take(struct rm_sampler *sampler, int64_t now_ns, enum rm_sample_of of)
{
    int64_t wall_before = rm_clock_monotonic_ns();
    int64_t t_ns = now_ns - sampler->block.header->start.ns;
    uint64_t resets_before = rm_peak_resets();
    rm_collect_begin(&sampler->collect, now_ns);
    read_sources(sampler, of);
    if (sampler->rss_column >= 0 && sampler->collect.is_self &&
        !isnan(sampler->values[sampler->rss_column])) {
        rm_peak_observe((uint64_t)sampler->values[sampler->rss_column], resets_before);
    }
    if (sampler->begin != NULL && rm_series_state(&sampler->block)->samples == 0) {
        add_begin(sampler);
    }
    add_sample(sampler, now_ns, sampler->values);
    rm_energy_division_take(&sampler->division, &sampler->collect.found.shared,
                            sampler->options->values.max_overhead, of == RM_SAMPLE_ALL);
    send(sampler, t_ns);
    /* The cost of this sample is in the next account. */
    uint64_t wall_ns = (uint64_t)(rm_clock_monotonic_ns() - wall_before);
    sampler->cost.wall_ns += wall_ns;
    sampler->cost.wall_max_ns =
        wall_ns > sampler->cost.wall_max_ns ? wall_ns : sampler->cost.wall_max_ns;
    account(sampler, now_ns, of == RM_SAMPLE_DUE);
}

void rm_sampler_close_sources(struct rm_sampler *sampler)
{
    for (size_t i = 0; i < sampler->source_count; i++) {
        switch_off(&sampler->sources[i]);
    }
    rm_collect_free(&sampler->collect);
}

void rm_sampler_close(struct rm_sampler *sampler)
{
    (void)pthread_mutex_destroy(&sampler->store_lock);
    rm_energy_division_close(&sampler->division);
    rm_gpus_stop(sampler->gpus);
    sampler->gpus = NULL;
    rm_free(sampler->gpu_readings);
    rm_free(sampler->sources);
    rm_free(sampler->values);
    rm_free(sampler->notes);
    rm_free(sampler->delivered);
}
