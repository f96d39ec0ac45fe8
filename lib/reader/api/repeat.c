/* SPDX-License-Identifier: MIT */
#define _DEFAULT_SOURCE /* getrusage */
#include "api/repeat.h"

#include <math.h>
#include <sys/resource.h>
#include <sys/time.h>

#include <resmon/watch.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/compiler.h"
#include "base/status.h"
#include "collect/capacity.h"
#include "os/file.h"
#include "os/host.h"

#define MOST_CALLS UINT64_C(1000000000)

static resmon_status call(const struct rm_repeat *how, uint64_t times)
{
    resmon_status status = RESMON_OK;
    for (uint64_t i = 0; i < times && status == RESMON_OK; i++) {
        status = how->function(how->context);
    }
    return status;
}

/* Finds a number of calls for which the cost of reading the clock and the counters is
 * negligible. */
static resmon_status calibrate(const struct rm_repeat *how, uint64_t *ret_calls)
{
    resmon_status status = RESMON_OK;
    *ret_calls = how->calls > 0 ? how->calls : 1;
    while (how->calls == 0 && status == RESMON_OK && *ret_calls < MOST_CALLS) {
        int64_t begin_ns = rm_clock_monotonic_ns();
        status = call(how, *ret_calls);
        int64_t took_ns = rm_clock_monotonic_ns() - begin_ns;
        if (took_ns >= RM_REPEAT_LEAST_NS) {
            break;
        }
        int64_t times = took_ns > 0 ? RM_REPEAT_LEAST_NS / took_ns + 1 : 100;
        *ret_calls *= (uint64_t)(times < 100 ? times : 100);
    }
    return status;
}

static double seconds_between(const struct timeval *begin, const struct timeval *end)
{
    return (double)(end->tv_sec - begin->tv_sec) + (double)(end->tv_usec - begin->tv_usec) * 1e-6;
}

/* The resources that all calls used. */
struct used {
    resmon_watched watched;
    struct rusage begin, end;
};

struct figure {
    double value;
    enum rm_figure_id id;
    bool is_counted;
};

static resmon_status put(struct rm_group *group, const struct figure *figures, size_t count)
{
    resmon_status status = RESMON_OK;
    for (size_t i = 0; i < count && status == RESMON_OK; i++) {
        status = rm_group_put(group, "", figures[i].id, figures[i].is_counted, figures[i].value);
    }
    return status;
}

static resmon_status put_used(struct rm_group *group, const struct used *used, double calls)
{
    const resmon_watched *watched = &used->watched;
    const struct rusage *begin = &used->begin, *end = &used->end;
    const struct figure figures[] = {
        {watched->wall_ns * 1e-9 / calls, RM_FIGURE_wall, false},
        {watched->cpu_ns * 1e-9 / calls, RM_FIGURE_cpu, false},
        {seconds_between(&begin->ru_utime, &end->ru_utime) / calls, RM_FIGURE_user, false},
        {seconds_between(&begin->ru_stime, &end->ru_stime) / calls, RM_FIGURE_system, false},
        {watched->rss_peak_bytes, RM_FIGURE_peak,
         watched->rss_provenance == RESMON_PROVENANCE_MEASURED},
        {watched->io_read_chars / calls, RM_FIGURE_read, true},
        {watched->io_write_chars / calls, RM_FIGURE_written, true},
        {(double)(end->ru_minflt - begin->ru_minflt) / calls, RM_FIGURE_minor_faults, false},
        {(double)(end->ru_majflt - begin->ru_majflt) / calls, RM_FIGURE_major_faults, false},
        {(double)(end->ru_nivcsw - begin->ru_nivcsw) / calls, RM_FIGURE_involuntary_switches,
         false},
    };
    return put(group, figures, RM_ARRAY_LEN(figures));
}

/* Facts that are not found stay unknown. */
static resmon_status note_machine(struct rm_group *group)
{
    struct rm_root root;
    struct rm_scratch scratch = {0};
    struct rm_cpu_model cpu = {.name = ""};
    struct rm_host *host = rm_alloc(1, sizeof *host);
    if (host == NULL) {
        return rm_error(RESMON_ENOMEM, "out of memory for a benchmark");
    }
    if (rm_root_open(&root, "/") == RESMON_OK) {
        if (rm_scratch_init(&scratch) == RESMON_OK) {
            rm_host_read(host, &root, &scratch, "proc/self");
            rm_cpu_model_read(&cpu, &root, &scratch);
        }
        rm_scratch_free(&scratch);
        rm_root_close(&root);
    }
    const struct rm_group_machine machine = {
        cpu.name, host->cpu_governor, host->kernel, host->host_name, RM_NAN, RM_NAN};
    resmon_status status = rm_group_note_machine(group, &machine);
    rm_free(host);
    return status;
}

static resmon_status run_once(struct rm_group *group, const struct rm_repeat *how, uint64_t calls)
{
    struct used used = {.watched = {.struct_size = sizeof used.watched}};
    uint64_t watch;
    const uint64_t meters = RESMON_METER_CPU | RESMON_METER_RSS | RESMON_METER_IO;
    (void)getrusage(RUSAGE_SELF, &used.begin);
    resmon_status status = resmon_watch_begin(meters, &watch);
    if (status != RESMON_OK) {
        return status;
    }
    status = call(how, calls);
    resmon_status seen = resmon_watch_end(watch, &used.watched);
    (void)getrusage(RUSAGE_SELF, &used.end);
    if (status != RESMON_OK || seen != RESMON_OK) {
        return status != RESMON_OK ? status : seen;
    }
    status = rm_group_add_empty(group, (struct rm_group_run){0, 0});
    return status == RESMON_OK ? put_used(group, &used, (double)calls * (double)how->batch)
                               : status;
}

resmon_status rm_repeat(struct rm_group *group, const struct rm_repeat *how)
{
    uint64_t calls = 1;
    resmon_status status = call(how, how->warmup);
    status = status == RESMON_OK ? calibrate(how, &calls) : status;
    for (uint64_t i = 0; i < how->runs && status == RESMON_OK; i++) {
        status = run_once(group, how, calls);
        if (i == 0 && status == RESMON_OK) {
            status = note_machine(group);
        }
    }
    return status;
}

resmon_status rm_repeat_add_usage(struct rm_group *group, const resmon_run_usage *usage,
                                  const resmon_run_end *end)
{
    const double wall_s = usage->wall_s > 0.0 ? usage->wall_s : RM_NAN;
    const struct figure figures[] = {
        {wall_s, RM_FIGURE_wall, false},
        {usage->user_s + usage->system_s, RM_FIGURE_cpu, false},
        {usage->user_s, RM_FIGURE_user, false},
        {usage->system_s, RM_FIGURE_system, false},
        {usage->rss_peak_bytes, RM_FIGURE_peak, true},
        {usage->read_bytes, RM_FIGURE_from_storage, false},
        {usage->write_bytes, RM_FIGURE_to_storage, false},
        {usage->minor_faults, RM_FIGURE_minor_faults, false},
        {usage->major_faults, RM_FIGURE_major_faults, false},
        {usage->voluntary_switches, RM_FIGURE_voluntary_switches, false},
        {usage->involuntary_switches, RM_FIGURE_involuntary_switches, false},
    };
    resmon_status status =
        rm_group_add_empty(group, (struct rm_group_run){end->exit_status, end->signal_number});
    if (status == RESMON_OK && group->run_count == 1) {
        group->realtime_ns = rm_clock_realtime_ns() - (isnan(wall_s) ? 0 : (int64_t)(wall_s * 1e9));
        status = note_machine(group);
    }
    return status == RESMON_OK ? put(group, figures, RM_ARRAY_LEN(figures)) : status;
}
