/* SPDX-License-Identifier: MIT */
#include "view/seff.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/compiler.h"
#include "merge/job_use.h"
#include "metric/metric.h"

#define GIGABYTE 1073741824.0

static void put_text(struct rm_buffer *buffer, const char *label, const char *text)
{
    if (text[0] != '\0') {
        rm_buffer_printf(buffer, "%s: %s\n", label, text);
    }
}

/* "1-02:03:04", as Slurm has times. */
static void put_time(struct rm_buffer *buffer, double seconds)
{
    uint64_t whole = seconds < 1e15 ? (uint64_t)llround(seconds) : 0;
    if (whole >= 86400) {
        rm_buffer_printf(buffer, "%" PRIu64 "-", whole / 86400);
    }
    rm_buffer_printf(buffer, "%02" PRIu64 ":%02" PRIu64 ":%02" PRIu64, whole / 3600 % 24,
                     whole / 60 % 60, whole % 60);
}

/* With a point in every locale. */
static void put_fixed(struct rm_buffer *buffer, double value)
{
    uint64_t hundredths = value >= 0.0 && value < 1e15 ? (uint64_t)llround(value * 100.0) : 0;
    rm_buffer_printf(buffer, "%" PRIu64 ".%02" PRIu64, hundredths / 100, hundredths % 100);
}

static void put_gigabytes(struct rm_buffer *buffer, double bytes)
{
    put_fixed(buffer, bytes / GIGABYTE);
    rm_buffer_puts(buffer, " GB");
}

/* Whether the kernel killed a process of the job for lack of memory. */
static bool is_out_of_memory(const struct resmon_run *run)
{
    const resmon_column *kills = rm_run_statistics_of(run, RM_CG_MEM_EVENTS_OOM_KILL, "");
    return rm_end_is_out_of_memory(&run->end) || (kills != NULL && kills->last > 0.0);
}

/* Within the minute in which Slurm ends a job that is over its time. */
static bool is_over_time(const struct resmon_run *run)
{
    double limit_s = rm_run_fact_number(run, "job", "time_limit_s");
    return (double)run->info.duration_ns * 1e-9 > limit_s - 60.0;
}

/* Signals do not say who sent them. */
static const char *state_of_killed(const struct resmon_run *run)
{
    return is_out_of_memory(run) ? "OUT_OF_MEMORY" : is_over_time(run) ? "TIMEOUT" : "CANCELLED";
}

/* The words of sacct. */
static void put_state(struct rm_buffer *buffer, const struct resmon_run *run)
{
    static const char *const states[] = {
        [RESMON_END_RUNNING] = "RUNNING",
        [RESMON_END_FINISHED] = "COMPLETED",
        [RESMON_END_FAILED] = "FAILED",
        [RESMON_END_INTERRUPTED] = "CANCELLED",
    };
    const int32_t reason = rm_run_end(run).reason;
    bool is_known = reason >= 0 && (size_t)reason < RM_ARRAY_LEN(states);
    const char *state = reason == RESMON_END_KILLED               ? state_of_killed(run)
                        : is_known && states[reason] != NULL      ? states[reason]
                        : is_out_of_memory(run)                   ? "OUT_OF_MEMORY"
                        : strcmp(run->info.state, "stopped") != 0 ? "NODE_FAIL"
                                                                  : "UNKNOWN";
    rm_buffer_printf(buffer, "State: %s (exit code %d)\n", state, run->end.exit_status);
}

static void put_cpu(struct rm_buffer *buffer, const struct rm_job_use *use)
{
    if (isnan(use->cpu_s)) {
        return;
    }
    rm_buffer_puts(buffer, "CPU Utilized: ");
    put_time(buffer, use->cpu_s);
    rm_buffer_puts(buffer, "\n");
    if (use->cpu_capacity_s > 0.0) {
        rm_buffer_puts(buffer, "CPU Efficiency: ");
        put_fixed(buffer, 100.0 * use->cpu_s / use->cpu_capacity_s);
        rm_buffer_puts(buffer, "% of ");
        put_time(buffer, use->cpu_capacity_s);
        rm_buffer_puts(buffer, " core-walltime\n");
    }
}

static void put_memory(struct rm_buffer *buffer, const struct rm_job_use *use)
{
    if (use->used_bytes > 0.0) {
        rm_buffer_puts(buffer, "Memory Utilized: ");
        put_gigabytes(buffer, use->used_bytes);
        rm_buffer_puts(buffer, "\n");
    }
    if (use->used_bytes > 0.0 && use->bytes > 0.0) {
        rm_buffer_puts(buffer, "Memory Efficiency: ");
        put_fixed(buffer, 100.0 * use->used_bytes / use->bytes);
        rm_buffer_puts(buffer, "% of ");
        put_gigabytes(buffer, use->bytes);
        rm_buffer_puts(buffer, "\n");
    }
}

void rm_seff_write(struct rm_buffer *buffer, const struct resmon_run *run)
{
    const struct rm_job_use use = rm_job_use_of(run);
    put_text(buffer, "Job ID", rm_run_fact_text(run, "job", "id"));
    put_text(buffer, "Cluster", rm_run_fact_text(run, "job", "cluster"));
    put_state(buffer, run);
    rm_buffer_printf(buffer, "Nodes: %zu\n", run->node_count);
    if (use.cpus > 0.0) {
        rm_buffer_printf(buffer, "Cores per node: %.0f\n",
                         floor(use.cpus / (double)run->node_count));
    }
    put_cpu(buffer, &use);
    rm_buffer_puts(buffer, "Job Wall-clock time: ");
    put_time(buffer, use.seconds);
    rm_buffer_puts(buffer, "\n");
    put_memory(buffer, &use);
}
