/* SPDX-License-Identifier: MIT */
#include "run/headline.h"

#include <math.h>
#include <string.h>

#include "run/energy.h"

/* ---- the figures asked for first -------------------------------------------------------- */

/* The value of the first metric of the row that was measured. */
static double value_of(const struct resmon_run *run, const char *figure)
{
    struct rm_view_row row;
    for (size_t at = 0; rm_view_next(RM_VIEW_HEADLINE, figure, &at, &row);) {
        const resmon_column *stats = rm_run_statistics_of(run, row.metric->id, NULL);
        double value = row.series != RESMON_SERIES_MAX ? rm_run_growth_of(run, row.metric->id, NULL)
                       : stats != NULL                 ? stats->max
                                                       : RM_NAN;
        if (!isnan(value)) {
            return value;
        }
    }
    return RM_NAN;
}

/* The kernel's high-water mark covers the life of the process. It is valid for the run only if it
 * has risen during the run. */
static void settle_peak(const struct resmon_run *run, resmon_headline *headline)
{
    const resmon_column *mark = rm_run_statistics_of(run, RM_PROC_MEM_PEAK_RSS, NULL);
    const resmon_column *sampled = rm_run_statistics_of(run, RM_PROC_MEM_RSS, NULL);
    double peak = sampled != NULL ? sampled->max : RM_NAN;
    bool is_exact = mark != NULL && mark->max > mark->first;
    if (is_exact) {
        peak = fmax(mark->max, peak);
    }
    for (size_t i = 0; !is_exact && i < run->scope_count; i++) {
        peak = fmax(peak, run->scopes[i].rss_peak_bytes);
    }
    headline->rss_peak_bytes = peak;
    headline->rss_peak_provenance = isnan(peak) ? RESMON_PROVENANCE_NONE
                                    : is_exact  ? RESMON_PROVENANCE_MEASURED
                                                : RESMON_PROVENANCE_SAMPLED;
}

/* I/O that was readable at first is no total if an exec of another user's program made it
 * unreadable. */
static void leave_out_partial_io(const struct resmon_run *run, resmon_headline *headline)
{
    for (size_t i = 0; i < run->source_count; i++) {
        if (strcmp(run->sources[i].name, "proc_io") == 0 &&
            run->sources[i].status == RESMON_EACCES) {
            headline->read_bytes = headline->write_bytes = RM_NAN;
            headline->read_chars = headline->write_chars = RM_NAN;
        }
    }
}

/* Takes the kernel's account at the end, of the process and of the children that it waited for. */
static void take_usage(const struct resmon_run *run, resmon_headline *headline)
{
    const resmon_run_usage *usage = &run->usage;
    if (isnan(headline->read_chars)) {
        headline->read_bytes = usage->read_bytes;
        headline->write_bytes = usage->write_bytes;
    }
    if (usage->wall_s > 0.0) {
        headline->wall_s = usage->wall_s;
        if (rm_run_statistics_of(run, RM_TREE_CPU_TIME, NULL) == NULL) {
            headline->cpu_s = usage->user_s + usage->system_s; /* the account also covers an exec */
        }
    }
    if (isnan(headline->cpu_s)) {
        headline->cpu_s = usage->user_s + usage->system_s;
    }
    /* The launcher's CPU time before the command began is subtracted: the total does not include
     * it. */
    double before_s = fmax(0.0, usage->user_s + usage->system_s - headline->cpu_s);
    headline->cpu_system_s = fmax(0.0, usage->system_s - before_s);
    headline->cpu_user_s = usage->user_s - fmax(0.0, before_s - usage->system_s);
    if (!isnan(usage->rss_peak_bytes)) {
        headline->rss_peak_bytes = usage->rss_peak_bytes;
        headline->rss_peak_provenance = RESMON_PROVENANCE_MEASURED;
    }
    /* A process whose scopes meter peaks resets the high-water mark from which the account is made.
     */
    for (size_t i = 0; i < run->process_count; i++) {
        headline->rss_peak_bytes = fmax(headline->rss_peak_bytes, run->processes[i].rss_peak_bytes);
    }
}

/* For a merged run: the largest value of its ranks, with the lowest certainty of all ranks. */
static void take_ranks(const struct resmon_run *run, resmon_headline *headline)
{
    headline->rss_peak_bytes = RM_NAN;
    headline->rss_peak_provenance = RESMON_PROVENANCE_NONE;
    for (size_t i = 0; i < run->rank_count; i++) {
        const resmon_run_rank *rank = &run->ranks[i];
        headline->rss_peak_bytes = fmax(headline->rss_peak_bytes, rank->rss_peak_bytes);
        if (rank->rss_peak_provenance > headline->rss_peak_provenance) {
            headline->rss_peak_provenance = rank->rss_peak_provenance;
        }
    }
}

/* For a merged run of machines alone: the CPU time of their control groups, as far as it is known.
 */
static double cpu_of_nodes(const struct resmon_run *run)
{
    double sum_s = RM_NAN;
    for (size_t i = 0; i < run->node_count; i++) {
        const double cpu_s = run->nodes[i].cpu_s;
        sum_s = isnan(sum_s) ? cpu_s : sum_s + (isnan(cpu_s) ? 0.0 : cpu_s);
    }
    return sum_s;
}

static void forget_growth(resmon_headline *headline)
{
    double *const grown[] = {&headline->wall_s,       &headline->cpu_s,      &headline->cpu_user_s,
                             &headline->cpu_system_s, &headline->read_bytes, &headline->write_bytes,
                             &headline->read_chars,   &headline->write_chars};
    for (size_t i = 0; i < RM_ARRAY_LEN(grown); i++) {
        *grown[i] = RM_NAN;
    }
}

resmon_headline rm_run_headline(const struct resmon_run *run)
{
    const resmon_energy energy = rm_run_energy(run);
    resmon_headline headline = {
        .wall_s = (double)run->info.duration_ns / 1e9,
        .cpu_s = value_of(run, "cpu_s"),
        .cpu_user_s = value_of(run, "cpu_user_s"),
        .cpu_system_s = value_of(run, "cpu_system_s"),
        .tree_rss_max_bytes = value_of(run, "tree_rss_max_bytes"),
        .read_bytes = value_of(run, "read_bytes"),
        .write_bytes = value_of(run, "write_bytes"),
        .read_chars = value_of(run, "read_chars"),
        .write_chars = value_of(run, "write_chars"),
        .energy_j = energy.tree_j,
        .gco2eq = energy.tree_gco2eq,
        .energy_provenance = energy.provenance,
    };
    settle_peak(run, &headline);
    if (rm_run_has_one_sample(run)) {
        forget_growth(&headline);
    }
    leave_out_partial_io(run, &headline);
    if (rm_run_has_usage(run)) {
        take_usage(run, &headline);
    }
    if (run->rank_count > 0) {
        take_ranks(run, &headline);
    }
    if (isnan(headline.cpu_s)) {
        headline.cpu_s = cpu_of_nodes(run);
    }
    return headline;
}

double rm_run_memory_at_once(const struct resmon_run *run, const resmon_headline *headline)
{
    const resmon_column *processes = rm_run_statistics_of(run, RM_TREE_PROCESSES, NULL);
    bool has_several = run->rank_count > 0 || (processes != NULL && processes->max > 1.0);
    return has_several && headline->tree_rss_max_bytes > headline->rss_peak_bytes
               ? headline->tree_rss_max_bytes
               : RM_NAN;
}

/* ---- figures of a job on one node ------------------------------------------------------- */

struct rm_view_row rm_node_summary_row(size_t index)
{
    struct rm_view_row row = {0};
    size_t at = 0;
    while (rm_view_next(RM_VIEW_NODE, NULL, &at, &row) && index > 0) {
        index--;
    }
    return row;
}

const char *rm_node_summary_key(size_t index)
{
    return rm_node_summary_row(index).label;
}

/* The owner of the values: a run, or a node of a merged run. */
struct owner {
    const struct resmon_run *run;
    bool is_node;
    size_t node;
};

static const resmon_column *statistics_of(const struct owner *owner, uint32_t metric)
{
    return owner->is_node ? rm_run_node_statistics(owner->run, metric, owner->node)
                          : rm_run_statistics_of(owner->run, metric, NULL);
}

/* Mean number of online CPUs times how long they were watched. */
static double cpu_hours(const struct owner *owner, const resmon_column *online)
{
    int64_t duration_ns = owner->is_node ? owner->run->nodes[owner->node].host_duration_ns
                                         : owner->run->info.duration_ns;
    return online->mean * (double)duration_ns / 1e9 / 3600.0;
}

static double node_value_of(const struct owner *owner, size_t index)
{
    const struct rm_view_row row = rm_node_summary_row(index);
    const resmon_column *stats = statistics_of(owner, row.metric->id);
    if (stats == NULL) {
        return RM_NAN;
    }
    switch (row.series) {
    case RESMON_SERIES_MEAN:
        return stats->mean;
    case RESMON_SERIES_MAX:
        return stats->max;
    case RESMON_SERIES_LAST:
        return stats->last / row.divisor;
    case RESMON_VIEW_CPU_HOURS:
        return cpu_hours(owner, stats);
    case RESMON_VIEW_UNUSED_CPU_HOURS: {
        const resmon_column *busy = statistics_of(owner, RM_NODE_CPU_CORE_AVG);
        return busy != NULL ? cpu_hours(owner, stats) * (100.0 - busy->mean) / 100.0 : RM_NAN;
    }
    default:
        return stats->duration_s > 0.0
                   ? 100.0 * stats->over_s[row.series - RESMON_VIEW_OVER_20] / stats->duration_s
                   : RM_NAN;
    }
}

double rm_node_summary_value(const struct resmon_run *run, size_t index)
{
    const struct owner owner = {.run = run};
    return node_value_of(&owner, index);
}

double rm_node_summary_value_of(const struct resmon_run *run, size_t index, size_t node)
{
    const struct owner owner = {.run = run, .is_node = true, .node = node};
    return node_value_of(&owner, index);
}
