/* SPDX-License-Identifier: MIT */
#include "net/mlflow_series.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/status.h"
#include "metric/view.h"
#include "net/mlflow_names.h"

/* `key` behind the name of the node; more than there is room for are left out. */
static resmon_status add_one_series(struct rm_mlflow_plan *plan, const char *key, size_t column,
                                    int32_t kind, double divisor)
{
    struct rm_mlflow_series *series = &plan->series[plan->series_count];
    char head[RM_MLFLOW_LONGEST_KEY + 64];
    if (plan->series_count == RM_MLFLOW_SERIES_KEYS) {
        return RESMON_OK;
    }
    series->head_length = (size_t)snprintf(
        head, sizeof head,
        RM_MLFLOW_POINT_HEAD RM_MLFLOW_SYSTEM "%s%s\",\"value\":", plan->config->monitor, key);
    series->head = rm_arena_alloc(&plan->arena, series->head_length, 1);
    if (series->head == NULL) {
        return rm_error(RESMON_ENOMEM, "out of memory for MLflow");
    }
    memcpy(series->head, head, series->head_length);
    series->values =
        rm_run_series(plan->run, column, rm_run_series_meant(&plan->run->columns[column], kind));
    series->divisor = divisor;
    series->known_step = -1.0;
    plan->series_count++;
    return RESMON_OK;
}

/* The machine's memory is a fact of the run, also where the machine was not sampled. */
static double whole_of(const struct resmon_run *run, const struct rm_metric *whole,
                       const char *instance)
{
    return whole->id == RM_NODE_MEM_TOTAL ? rm_run_fact_number(run, "machine", "memory_bytes")
                                          : rm_run_last_of(run, whole->id, instance);
}

/* NaN, or not above 0: there is nothing to show. */
static double divisor_of(const struct resmon_run *run, const struct rm_view_row *row,
                         const char *instance)
{
    return row->of != NULL ? whole_of(run, row->of, instance) / 100.0 : row->divisor;
}

/* `node` -1: of the run as a whole. */
static int64_t column_of(const struct resmon_run *run, uint32_t metric, int64_t node)
{
    int64_t column = rm_run_column_of(run, metric, NULL);
    return node >= 0 ? rm_run_node_column(run, column, (size_t)node) : column;
}

static resmon_status add_node_series(struct rm_mlflow_plan *plan, const char *name, int64_t node)
{
    resmon_status status = RESMON_OK;
    struct rm_view_row row;
    for (size_t at = 0; status == RESMON_OK && rm_view_next(RM_VIEW_MLFLOW, "node", &at, &row);) {
        int64_t column = column_of(plan->run, row.metric->id, node);
        double divisor = divisor_of(plan->run, &row, NULL);
        char key[RM_MLFLOW_LONGEST_KEY];
        if (column >= 0 && divisor > 0.0) {
            (void)snprintf(key, sizeof key, "%s/%s", name, row.label);
            status = add_one_series(plan, key, (size_t)column, row.series, divisor);
        }
    }
    return status;
}

/* Of all nodes, and of the first ones, as far as there is room. */
static resmon_status add_merged_series(struct rm_mlflow_plan *plan)
{
    char name[32] = "job";
    resmon_status status = add_node_series(plan, name, -1);
    for (size_t i = 0; i < plan->run->node_count && status == RESMON_OK &&
                       plan->series_count < RM_MLFLOW_SERIES_KEYS;
         i++) {
        (void)snprintf(name, sizeof name, "node_%zu", i);
        status = add_node_series(plan, name, (int64_t)i);
    }
    return status;
}

static resmon_status add_gpu_series(struct rm_mlflow_plan *plan, const char *node,
                                    const char *instance)
{
    resmon_status status = RESMON_OK;
    struct rm_view_row row;
    for (size_t at = 0; status == RESMON_OK && rm_view_next(RM_VIEW_MLFLOW, "gpu", &at, &row);) {
        int64_t column = rm_run_column_of(plan->run, row.metric->id, instance);
        double divisor = divisor_of(plan->run, &row, instance);
        char key[RM_MLFLOW_LONGEST_KEY];
        if (column >= 0 && plan->run->columns[column].n > 0 && divisor > 0.0) {
            (void)snprintf(key, sizeof key, "%s/gpu_%s_%s", node, instance, row.label);
            status = add_one_series(plan, key, (size_t)column, row.series, divisor);
        }
    }
    return status;
}

static resmon_status add_other_series(struct rm_mlflow_plan *plan, const char *node)
{
    const struct resmon_run *run = plan->run;
    resmon_status status = RESMON_OK;
    struct rm_view_row row;
    for (size_t at = 0; rm_view_next(RM_VIEW_MLFLOW, RM_VIEW_OTHER, &at, &row);) {
        for (size_t i = 0; i < run->column_count && status == RESMON_OK; i++) {
            char name[RM_MLFLOW_LONGEST_KEY], key[RM_MLFLOW_LONGEST_KEY];
            if (strcmp(run->columns[i].metric, rm_metric_name(row.metric)) == 0) {
                rm_mlflow_column_name(name, &run->columns[i]);
                (void)snprintf(key, sizeof key, "%.120s/%.128s", node, name);
                status = add_one_series(plan, key, i, row.series, row.divisor);
            }
        }
    }
    return status;
}

/* Slices ("2:0") have no name in MLflow. */
static bool is_whole_gpu(const resmon_column *column)
{
    return strcmp(column->metric, rm_metric_name(rm_metric_of(RM_GPU_UTIL))) == 0 &&
           strspn(column->instance, "0123456789") == strlen(column->instance);
}

resmon_status rm_mlflow_series_add(struct rm_mlflow_plan *plan)
{
    char node[128];
    const struct resmon_run *run = plan->run;
    if (run->node_count > 0) {
        return add_merged_series(plan);
    }
    if (plan->config->node_id[0] != '\0') {
        rm_mlflow_clean_name(node, sizeof node, plan->config->node_id);
    } else {
        (void)snprintf(node, sizeof node, "node_%" PRId64, plan->place.node_index);
    }
    resmon_status status = add_node_series(plan, node, -1);
    for (size_t i = 0; i < run->column_count && status == RESMON_OK; i++) {
        if (is_whole_gpu(&run->columns[i])) {
            status = add_gpu_series(plan, node, run->columns[i].instance);
        }
    }
    return status == RESMON_OK ? add_other_series(plan, node) : status;
}
