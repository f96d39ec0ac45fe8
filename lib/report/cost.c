/* SPDX-License-Identifier: MIT */
#include "report/cost.h"

#include <math.h>
#include <string.h>

#include "base/compiler.h"
#include "base/human.h"
#include "store/facts.h"

void rm_cost_threads(const resmon_run_info *info, struct rm_cost costs[RM_COST_THREADS])
{
    const struct rm_cost all[RM_COST_THREADS] = {
        {info->sampler_cpu_ns, "sampling"},
        {info->delivery_cpu_ns, "delivery"},
        {info->gpus_cpu_ns, "GPUs"},
        {info->stacks_cpu_ns, "stacks"},
        {info->handlers_ns, "handlers of stacks"},
    };
    memcpy(costs, all, sizeof all);
}

void rm_cost_dropped(const resmon_run_info *info, struct rm_cost costs[RM_COST_DROPPED])
{
    const struct rm_cost all[RM_COST_DROPPED] = {
        {info->dropped_tags, "tags overwritten by later ones (option tags)"},
        {info->dropped_threads, "threads without a slot for their scopes (option scope_threads)"},
        {info->dropped_paths, "scope instances without a free path (option scope_paths)"},
        {rm_run_scopes_past_bounds(info), "scope instances past a bound"},
        {info->stale_ends, "scopes ended twice, on another thread or too late"},
        {info->misordered_ends, "scopes closed by the end of an outer one or of their thread"},
        {info->dropped_events, "scope instances overwritten by later ones (option events)"},
        {info->dropped_lines, "places of RESMON_LINE() past the bound of a run"},
        {info->dropped_forks, "forked processes whose scopes are in no run"},
        {info->dropped_rows, "rows not delivered to sinks: they were too slow"},
    };
    memcpy(costs, all, sizeof all);
}

/* "120 ms of CPU time (1.2 % of one CPU): sampling 100 ms, delivery 20 ms" */
static void write_threads(struct rm_buffer *buffer, const struct resmon_run *run)
{
    const resmon_run_info *info = &run->info;
    struct rm_cost parts[RM_COST_THREADS];
    double sum_ns = (double)info->library_cpu_ns;
    double duration = (double)run->info.duration_ns;
    char text[RM_HUMAN_BYTES];
    rm_cost_threads(info, parts);
    rm_human_seconds(text, sum_ns * 1e-9);
    rm_buffer_printf(buffer, "  threads   %s of CPU time", text);
    if (duration > 0.0 && sum_ns < duration * 1e6) {
        char percent[RM_FACT_NUMBER_BYTES];
        rm_facts_print_number(round(100.0 * sum_ns / duration * 1000.0) / 1000.0, percent);
        rm_buffer_printf(buffer, " (%s %% of one CPU)", percent);
    }
    const char *before = ": ";
    for (size_t i = 0; i < RM_ARRAY_LEN(parts); i++) {
        if (parts[i].amount > 0) {
            rm_human_seconds(text, (double)parts[i].amount * 1e-9);
            rm_buffer_printf(buffer, "%s%s %s", before, parts[i].what, text);
            before = ", ";
        }
    }
    rm_buffer_puts(buffer, "\n");
}

/* What stands in the figures of the process's memory. */
static void write_own_rss(struct rm_buffer *buffer, const resmon_run_info *overhead)
{
    char rss[RM_HUMAN_BYTES], work[RM_HUMAN_BYTES];
    rm_human_bytes(rss, overhead->rss_bytes);
    rm_human_bytes(work, overhead->work_rss_bytes);
    if (isfinite(overhead->rss_bytes)) {
        rm_buffer_printf(buffer, "; %s of the process's RSS", rss);
    }
    if (isfinite(overhead->rss_bytes) && overhead->work_rss_bytes > 0.0) {
        rm_buffer_printf(buffer, ", and at most %s more in peaks", work);
    }
    rm_buffer_puts(buffer, "\n");
}

/* Where samples came less often than was asked for. */
static void write_pace(struct rm_buffer *buffer, const struct resmon_run *run)
{
    const struct rm_fact *bound = rm_run_fact(run, "settings", "max_overhead");
    const struct rm_fact *asked = rm_run_fact(run, "settings", "interval_ms");
    char interval[RM_HUMAN_BYTES], taken[RM_HUMAN_BYTES], percent[RM_HUMAN_BYTES];
    if (run->info.skipped_samples == 0 || run->info.samples < 2 || bound == NULL || asked == NULL) {
        return;
    }
    rm_human_seconds(interval, rm_fact_number(asked) * 1e-3);
    rm_human_seconds(taken, (double)run->info.duration_ns * 1e-9 / (double)(run->info.samples - 1));
    rm_human_percent(percent, 100.0 * rm_fact_number(bound));
    rm_buffer_printf(
        buffer,
        "  pace      requested every %s, taken every %s on average, to stay below %s of "
        "one CPU (max_overhead)\n",
        interval, taken, percent);
}

static void write_dropped(struct rm_buffer *buffer, const struct resmon_run *run)
{
    struct rm_cost rows[RM_COST_DROPPED];
    rm_cost_dropped(&run->info, rows);
    for (size_t i = 0; i < RM_ARRAY_LEN(rows); i++) {
        if (rows[i].amount > 0) {
            rm_buffer_printf(buffer, "  dropped   %llu %s\n", (unsigned long long)rows[i].amount,
                             rows[i].what);
        }
    }
}

void rm_report_cost(struct rm_buffer *buffer, const struct resmon_run *run)
{
    const resmon_run_info *overhead = &run->info;
    double samples = run->info.samples > 0 ? (double)run->info.samples : RM_NAN;
    char sample[RM_HUMAN_BYTES], worst[RM_HUMAN_BYTES], scopes[RM_HUMAN_BYTES];
    char memory[RM_HUMAN_BYTES];
    rm_human_seconds(sample, (double)overhead->sampler_cpu_ns * 1e-9 / samples);
    rm_human_seconds(worst, (double)overhead->sampler_wall_max_ns * 1e-9);
    rm_human_seconds(scopes, overhead->scopes_ns * 1e-9);
    rm_human_bytes(memory, (double)overhead->memory_bytes);
    rm_buffer_puts(buffer, "\nCost of observing\n");
    write_threads(buffer, run);
    rm_buffer_printf(buffer, "  sampling  %s of CPU time a sample; at most %s long; %llu late\n",
                     sample, worst, (unsigned long long)overhead->late_samples);
    write_pace(buffer, run);
    if (run->scope_count > 0) {
        rm_buffer_printf(buffer, "  scopes    about %s in all threads together\n", scopes);
    }
    rm_buffer_printf(buffer, "  memory    %s, fixed at start", memory);
    write_own_rss(buffer, overhead);
    write_dropped(buffer, run);
}
