/* SPDX-License-Identifier: MIT */
/* The run as a whole and its sources, for format/prometheus.c. */
#include <string.h>

#include "base/compiler.h"
#include "format/prometheus_writer.h"

static double duration_of(const struct resmon_run *run)
{
    return (double)run->info.duration_ns / 1e9;
}

static double start_of(const struct resmon_run *run)
{
    return (double)run->info.start_realtime_ns / 1e9;
}

static double samples_of(const struct resmon_run *run)
{
    return (double)run->info.samples;
}

static double late_of(const struct resmon_run *run)
{
    return (double)run->info.late_samples;
}

static double sampler_cpu_of(const struct resmon_run *run)
{
    return (double)run->info.sampler_cpu_ns / 1e9;
}

static double sampler_wall_of(const struct resmon_run *run)
{
    return (double)run->info.sampler_wall_ns / 1e9;
}

static double scopes_overhead_of(const struct resmon_run *run)
{
    return run->info.scopes_ns / 1e9;
}

static double memory_of(const struct resmon_run *run)
{
    return (double)run->info.memory_bytes;
}

static const struct {
    struct rm_exposed_family family;
    double (*value)(const struct resmon_run *run);
} run_figures[] = {
    {{"resmon_run_duration_seconds", "from the start of the run to its last sample", NULL,
      RM_FAMILY_GAUGE},
     duration_of},
    {{"resmon_run_start_time_seconds", "start of the run, since 1970", NULL, RM_FAMILY_GAUGE},
     start_of},
    {{"resmon_samples", "samples taken", NULL, RM_FAMILY_COUNTER}, samples_of},
    {{"resmon_late_samples", "deadlines that had passed when the sampler woke", NULL,
      RM_FAMILY_COUNTER},
     late_of},
    {{"resmon_sampler_cpu_seconds", "CPU time of the sampling thread", NULL, RM_FAMILY_COUNTER},
     sampler_cpu_of},
    {{"resmon_sampler_wall_seconds", "time spent taking samples", NULL, RM_FAMILY_COUNTER},
     sampler_wall_of},
    {{"resmon_scopes_overhead_seconds", "estimated time that scopes added to the program", NULL,
      RM_FAMILY_GAUGE},
     scopes_overhead_of},
    {{"resmon_memory_bytes", "memory that the run is kept in", NULL, RM_FAMILY_GAUGE}, memory_of},
};

static void put_figures(struct rm_prometheus_writer *writer)
{
    static const struct rm_exposed_family build = {
        "resmon_build", "version of libresmon that recorded the run", NULL, RM_FAMILY_INFO};
    (void)rm_prometheus_clear(writer);
    for (size_t i = 0; i < RM_ARRAY_LEN(run_figures); i++) {
        rm_exposition_family(&writer->exposition, &run_figures[i].family);
        rm_prometheus_put(writer, run_figures[i].value(writer->run));
    }
    const struct rm_fact *version = rm_run_fact(writer->run, "run", "library");
    if (version != NULL) {
        rm_label_add(rm_prometheus_clear(writer), "version", version->value);
        rm_exposition_family(&writer->exposition, &build);
        rm_prometheus_put(writer, 1.0);
    }
}

static void put_dropped(struct rm_prometheus_writer *writer)
{
    static const struct rm_exposed_family family = {
        "resmon_dropped", "what did not fit into a bound of the recording", NULL,
        RM_FAMILY_COUNTER};
    const resmon_run_info *info = &writer->run->info;
    const struct {
        const char *what;
        uint64_t count;
    } counts[] = {
        {"rows", info->dropped_rows},       {"tags", info->dropped_tags},
        {"threads", info->dropped_threads}, {"scopes", rm_run_scopes_past_bounds(info)},
        {"paths", info->dropped_paths},     {"lines", info->dropped_lines},
        {"forks", info->dropped_forks},
    };
    rm_exposition_family(&writer->exposition, &family);
    for (size_t i = 0; i < RM_ARRAY_LEN(counts); i++) {
        rm_label_add(rm_prometheus_clear(writer), "what", counts[i].what);
        rm_prometheus_put(writer, (double)counts[i].count);
    }
}

static bool is_first_source(const struct resmon_run *run, size_t index)
{
    for (size_t i = 0; i < index; i++) {
        if (strcmp(run->sources[i].name, run->sources[index].name) == 0) {
            return false;
        }
    }
    return strlen(run->sources[index].name) < RM_LABEL_VALUE_BYTES;
}

static double up_of(const resmon_run_source *source)
{
    return source->status == RESMON_OK ? 1.0 : 0.0;
}

static double failures_of(const resmon_run_source *source)
{
    return (double)source->failures;
}

static const struct {
    struct rm_exposed_family family;
    double (*value)(const resmon_run_source *source);
} source_figures[] = {
    {{"resmon_source_up", "whether the source of numbers can be read", NULL, RM_FAMILY_GAUGE},
     up_of},
    {{"resmon_source_failures", "readings of the source that failed", NULL, RM_FAMILY_COUNTER},
     failures_of},
};

static void put_sources(struct rm_prometheus_writer *writer)
{
    for (size_t f = 0; f < RM_ARRAY_LEN(source_figures); f++) {
        rm_exposition_family(&writer->exposition, &source_figures[f].family);
        for (size_t i = 0; i < writer->run->source_count; i++) {
            if (is_first_source(writer->run, i)) {
                const resmon_run_source *source = &writer->run->sources[i];
                rm_label_add(rm_prometheus_clear(writer), "source", source->name);
                rm_prometheus_put(writer, source_figures[f].value(source));
            }
        }
    }
}

void rm_prometheus_put_run(struct rm_prometheus_writer *writer)
{
    put_figures(writer);
    put_dropped(writer);
    put_sources(writer);
}
