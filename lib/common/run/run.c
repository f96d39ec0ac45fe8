/* SPDX-License-Identifier: MIT */
#include "run/run.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/compiler.h"
#include "base/status.h"
#include "base/text.h"
#include "metric/metric.h"

const char *const rm_series_names[RM_SERIES_KINDS] = {"last", "min", "max", "mean"};

struct resmon_run *rm_run_ref(const struct resmon_run *run)
{
    union {
        const struct resmon_run *read;
        struct resmon_run *held;
    } both = {.read = run}; /* the reference count is not part of the constant value */
    if (run != NULL) {
        (void)__atomic_add_fetch(&both.held->references, 1, __ATOMIC_RELAXED);
    }
    return both.held;
}

void rm_run_free(struct resmon_run *run)
{
    if (run == NULL || __atomic_sub_fetch(&run->references, 1, __ATOMIC_ACQ_REL) > 0) {
        return;
    }
    /* All memory of a run is in its arena. */
    rm_arena_free(&run->strings);
    rm_arena_free(&run->working);
    rm_free(run);
}

resmon_status rm_run_out_of_memory(void)
{
    return rm_error(RESMON_ENOMEM, "out of memory for a run");
}

resmon_status rm_run_check_memory(const struct resmon_run *run)
{
    return rm_run_is_broken(run) ? rm_run_out_of_memory() : RESMON_OK;
}

void rm_run_sum_costs(resmon_run_info *info)
{
    info->library_cpu_ns = info->sampler_cpu_ns + info->delivery_cpu_ns + info->gpus_cpu_ns +
                           info->stacks_cpu_ns + info->handlers_ns;
}

void rm_run_add_costs(resmon_run_info *info, const resmon_run_info *part)
{
    if (!isnan(part->scopes_ns)) {
        info->scopes_ns =
            isnan(info->scopes_ns) ? part->scopes_ns : info->scopes_ns + part->scopes_ns;
    }
    info->dropped_threads += part->dropped_threads;
    info->dropped_scopes += part->dropped_scopes;
    info->dropped_paths += part->dropped_paths;
    info->stale_ends += part->stale_ends;
    info->misordered_ends += part->misordered_ends;
    info->dropped_forks += part->dropped_forks;
}

int64_t rm_run_realtime_ns(const struct resmon_run *run, int64_t t_ns)
{
    int64_t start_ns = run->info.start_realtime_ns;
    if (t_ns > 0 && start_ns > INT64_MAX - t_ns) {
        return INT64_MAX;
    }
    return t_ns < 0 && start_ns < INT64_MIN - t_ns ? INT64_MIN : start_ns + t_ns;
}

static int compare_events(const void *left, const void *right)
{
    const struct rm_run_event *a = left, *b = right;
    if (a->thread != b->thread) {
        return a->thread < b->thread ? -1 : 1;
    }
    if (a->start_ns != b->start_ns) {
        return a->start_ns < b->start_ns ? -1 : 1;
    }
    return (a->depth > b->depth) - (a->depth < b->depth);
}

void rm_run_sort_events(struct resmon_run *run)
{
    qsort(run->events, run->event_count, sizeof *run->events, compare_events);
}

const struct rm_fact *rm_run_fact(const struct resmon_run *run, const char *group, const char *key)
{
    for (size_t i = 0; i < run->fact_count; i++) {
        if (strcmp(run->facts[i].group, group) == 0 && strcmp(run->facts[i].key, key) == 0) {
            return &run->facts[i];
        }
    }
    return NULL;
}

const char *rm_run_fact_text(const struct resmon_run *run, const char *group, const char *key)
{
    const struct rm_fact *fact = rm_run_fact(run, group, key);
    return fact != NULL ? fact->value : "";
}

double rm_run_fact_number(const struct resmon_run *run, const char *group, const char *key)
{
    const struct rm_fact *fact = rm_run_fact(run, group, key);
    return fact != NULL && fact->kind == RM_FACT_NUMBER ? rm_fact_number(fact) : RM_NAN;
}

int64_t rm_run_pid(const struct resmon_run *run)
{
    double pid = rm_run_fact_number(run, "run", "pid");
    return pid >= 1.0 && pid <= (double)INT32_MAX ? (int64_t)pid : 0;
}

const char *rm_run_title(const struct resmon_run *run)
{
    bool is_of_machines = run->node_count > 0 && run->rank_count == 0; /* "program" is this tool */
    const char *names[] = {rm_run_fact_text(run, "run", "name"),
                           is_of_machines ? rm_run_fact_text(run, "job", "name") : "",
                           is_of_machines ? rm_run_fact_text(run, "job", "id") : "",
                           rm_run_fact_text(run, "run", "program"),
                           rm_text_base_name(rm_run_fact_text(run, "run", "executable"))};
    for (size_t i = 0; i < RM_ARRAY_LEN(names); i++) {
        if (names[i][0] != '\0') {
            return names[i];
        }
    }
    return "run";
}

const char *rm_run_node_name(const struct resmon_run *run)
{
    const char *name = rm_run_fact_text(run, "job", "node_name");
    return name[0] != '\0' ? name : rm_run_fact_text(run, "machine", "host_name");
}

bool rm_run_is_of_job(const struct resmon_run *run)
{
    return rm_run_fact_text(run, "run", RM_FACT_OBSERVED_JOB)[0] != '\0';
}

bool rm_run_is_of_group(const struct resmon_run *run)
{
    return rm_run_fact_text(run, "run", "cgroup")[0] != '\0' || rm_run_is_of_job(run);
}

bool rm_run_reports_host(const struct resmon_run *run)
{
    return rm_run_fact_number(run, "job", "reports_host") != 0.0; /* NaN: not recorded */
}

void rm_run_index_columns(struct resmon_run *run)
{
    run->metric_starts =
        rm_arena_alloc(&run->strings, run->column_count, sizeof *run->metric_starts);
    run->metric_start_count = 0;
    for (uint32_t i = 0; i < run->column_count && run->metric_starts != NULL; i++) {
        if (i == 0 || strcmp(run->columns[i].metric, run->columns[i - 1].metric) != 0) {
            run->metric_starts[run->metric_start_count++] = i;
        }
    }
}

static bool is_of_instance(const resmon_column *column, const char *instance)
{
    return instance == NULL || strcmp(column->instance, instance) == 0;
}

int64_t rm_run_find_column(const struct resmon_run *run, const char *metric, const char *instance)
{
    bool has_index = run->metric_start_count > 0;
    size_t starts = has_index ? run->metric_start_count : run->column_count;
    for (size_t s = 0; s < starts; s++) {
        size_t first = has_index ? run->metric_starts[s] : s, end = first + 1;
        const char *own = run->columns[first].metric;
        if (own != metric && strcmp(own, metric) != 0) {
            continue;
        }
        if (has_index) {
            end = s + 1 < starts ? run->metric_starts[s + 1] : run->column_count;
        }
        for (size_t i = first; i < end; i++) {
            if (is_of_instance(&run->columns[i], instance)) {
                return (int64_t)i;
            }
        }
    }
    return -1;
}

int64_t rm_run_column_of(const struct resmon_run *run, uint32_t metric, const char *instance)
{
    const struct rm_metric *row = rm_metric_of(metric);
    return row != NULL ? rm_run_find_column(run, rm_metric_name(row), instance) : -1;
}

/* Whether a column is that of a node: "NODE", or "INSTANCE[NODE]". */
static bool is_on_node(const resmon_column *column, const char *instance, const char *node)
{
    size_t length = strlen(instance), name = strlen(node);
    const char *own = column->instance;
    if (length == 0) {
        return strcmp(own, node) == 0;
    }
    return strncmp(own, instance, length) == 0 && own[length] == '[' &&
           strncmp(own + length + 1, node, name) == 0 && strcmp(own + length + 1 + name, "]") == 0;
}

/* The columns of single nodes follow the column of all nodes, in the nodes' order. A node may have
 * no column. */
int64_t rm_run_node_column(const struct resmon_run *run, int64_t all, size_t node)
{
    size_t first = (size_t)all + 1;
    for (size_t at = all >= 0 ? first + node + 1 : 0; at > first; at--) {
        const resmon_column *column = at <= run->column_count ? &run->columns[at - 1] : NULL;
        if (column != NULL &&
            is_on_node(column, run->columns[all].instance, run->nodes[node].name) &&
            strcmp(column->metric, run->columns[all].metric) == 0) {
            return (int64_t)at - 1;
        }
    }
    return -1;
}

const resmon_column *rm_run_statistics_of(const struct resmon_run *run, uint32_t metric,
                                          const char *instance)
{
    int64_t column = rm_run_column_of(run, metric, instance);
    return column >= 0 && run->columns[column].n > 0 ? &run->columns[column] : NULL;
}

double rm_run_last_of(const struct resmon_run *run, uint32_t metric, const char *instance)
{
    const resmon_column *stats = rm_run_statistics_of(run, metric, instance);
    return stats != NULL ? stats->last : RM_NAN;
}

double rm_run_growth_of(const struct resmon_run *run, uint32_t metric, const char *instance)
{
    const resmon_column *stats = rm_run_statistics_of(run, metric, instance);
    bool has_grown = stats != NULL && (stats->n > 1 || stats->duration_s > 0.0);
    return has_grown ? stats->last : RM_NAN;
}

const resmon_column *rm_run_node_statistics(const struct resmon_run *run, uint32_t metric,
                                            size_t node)
{
    int64_t column = rm_run_node_column(run, rm_run_column_of(run, metric, ""), node);
    return column >= 0 && run->columns[column].n > 0 ? &run->columns[column] : NULL;
}

double rm_run_life_rss(const struct resmon_run *run)
{
    const resmon_column *peak = rm_run_statistics_of(run, RM_PROC_MEM_PEAK_RSS, NULL);
    return peak != NULL ? peak->max : RM_NAN;
}

/* ---- how it ended ----------------------------------------------------------------------- */

/* A process that observes others and stops does not know whether they have ended. */
static bool is_of_others(const struct resmon_run *run)
{
    return rm_run_fact_text(run, "run", RM_FACT_OBSERVED)[0] != '\0' || rm_run_is_of_group(run) ||
           (run->node_count > 0 && run->rank_count == 0);
}

resmon_run_end rm_run_end(const struct resmon_run *run)
{
    resmon_run_end end = run->end;
    if (strcmp(run->info.state, "running") == 0) {
        return (resmon_run_end){.reason = RESMON_END_RUNNING, .text = ""};
    }
    if (end.reason == RESMON_END_RUNNING) {
        end.reason = RESMON_END_UNKNOWN; /* a document written before the end, read after the end */
    }
    if (end.reason == RESMON_END_UNKNOWN && strcmp(run->info.state, "stopped") == 0 &&
        !is_of_others(run)) {
        end.reason = RESMON_END_FINISHED;
    }
    end.text = end.text != NULL ? end.text : "";
    return end;
}

bool rm_end_is_out_of_memory(const resmon_run_end *end)
{
    return end->reason == RESMON_END_KILLED && strcmp(end->text, RM_END_OUT_OF_MEMORY) == 0;
}

void rm_rank_describe(const struct resmon_run *run, size_t index, char text[RM_RANK_NAME_BYTES])
{
    const resmon_run_rank *rank = &run->ranks[index];
    bool has_rank = rank->rank >= 0;
    (void)snprintf(text, RM_RANK_NAME_BYTES, "%s %" PRId64 " on %.64s",
                   has_rank ? "rank" : "process", has_rank ? rank->rank : rank->pid,
                   run->nodes[rank->node].name);
}
