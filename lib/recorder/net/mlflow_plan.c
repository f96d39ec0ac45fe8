/* SPDX-License-Identifier: MIT */
#include "net/mlflow_plan.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/status.h"
#include "base/text.h"
#include "metric/view.h"
#include "net/mlflow_summary.h"

/* ---- names ---------------------------------------------------------------------------------- */

#define OTHER_ROOM 19 /* of a key: for "system/resmon/run/" */

static char allowed(char byte)
{
    static const char others[] = "_.- :";
    bool is_letter = (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z');
    bool is_digit = byte >= '0' && byte <= '9';
    return is_letter || is_digit || strchr(others, byte) != NULL ? byte : '_';
}

/* A part that means a directory to the server, or nothing, has no place in a name. */
static bool is_step(const char *part, size_t length)
{
    return length == 0 || (length <= 2 && strspn(part, ".") >= length);
}

/* A cut may have left a step: "a/..b" as "a/..". */
static size_t without_last_step(const char *name, size_t length)
{
    size_t begin = length;
    while (begin > 0 && name[begin - 1] != '/') {
        begin--;
    }
    if (!is_step(name + begin, length - begin)) {
        return length;
    }
    return begin > 0 ? begin - 1 : 0;
}

void rm_mlflow_clean_name(char *target, size_t room, const char *name)
{
    size_t out = 0;
    for (const char *at = name; *at != '\0';) {
        size_t length = strcspn(at, "/");
        if (!is_step(at, length) && out + 2 < room) {
            if (out > 0) {
                target[out++] = '/';
            }
            for (size_t i = 0; i < length && out + 1 < room; i++) {
                target[out++] = allowed(at[i]);
            }
        }
        at += length + (at[length] == '/' ? 1 : 0);
    }
    target[out] = '\0';
    out = without_last_step(target, out);
    if (out == 0) {
        target[out++] = '_';
    }
    target[out] = '\0';
}

void rm_mlflow_column_name(char name[RM_MLFLOW_LONGEST_KEY], const resmon_column *column)
{
    char text[RM_MLFLOW_LONGEST_KEY];
    (void)snprintf(text, sizeof text, "%s%s%.150s", column->metric,
                   column->instance[0] != '\0' ? "_" : "", column->instance);
    rm_mlflow_clean_name(name, RM_MLFLOW_LONGEST_KEY - OTHER_ROOM, text);
}

/* ---- series --------------------------------------------------------------------------------- */

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

/* Adds the series of a plan. */
static resmon_status rm_mlflow_series_add(struct rm_mlflow_plan *plan)
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

/* ---- plan ----------------------------------------------------------------------------------- */

struct rm_mlflow_place rm_mlflow_place_of(const struct rm_mlflow_config *config,
                                          const struct resmon_run *run)
{
    struct rm_mlflow_place place = {.node_index = config->node_index,
                                    .is_first = true,
                                    .is_reporter = rm_run_reports_host(run)};
    double index = rm_run_fact_number(run, "job", "node_index");
    double rank = rm_run_fact_number(run, "job", "rank");
    if (place.node_index < 0) {
        place.node_index = index >= 0.0 && index < 1e9 ? (int64_t)index : 0;
    }
    (void)rm_text_set(place.node_name, sizeof place.node_name, rm_run_node_name(run));
    rm_mlflow_clean_name(place.job, sizeof place.job, rm_run_fact_text(run, "job", "key"));
    if (rm_run_fact_text(run, "job", "key")[0] == '\0') {
        place.job[0] = '\0';
    }
    if (config->node_index < 0 && !(index >= 0.0) && rank >= 0.0) {
        place.node_index = (int64_t)fmin(rank, 1e9); /* steps of different nodes must differ */
    }
    bool is_shared = place.job[0] != '\0' || config->run_id[0] != '\0';
    if (is_shared && rank >= 0.0) {
        place.is_first = rank == 0.0;
    } else if (place.job[0] != '\0') {
        place.is_first = place.node_index == 0 && place.is_reporter;
    }
    return place;
}

void rm_mlflow_artifact_path(const struct rm_mlflow_config *config, int64_t node_index,
                             char path[RM_MLFLOW_ARTIFACT_BYTES])
{
    if (node_index == 0) {
        (void)snprintf(path, RM_MLFLOW_ARTIFACT_BYTES, "resmon/%srun.json", config->monitor);
    } else {
        (void)snprintf(path, RM_MLFLOW_ARTIFACT_BYTES, "resmon/%snode_%" PRId64 ".json",
                       config->monitor, node_index);
    }
}

resmon_status rm_mlflow_plan_init(struct rm_mlflow_plan *plan,
                                  const struct rm_mlflow_config *config,
                                  const struct resmon_run *run, int64_t after_ns)
{
    memset(plan, 0, sizeof *plan); /* large: no copy of it on the stack */
    plan->config = config;
    plan->run = run;
    plan->last_stage = RM_MLFLOW_STAGE_END - 1;
    plan->place = rm_mlflow_place_of(config, run);
    rm_mlflow_artifact_path(config, plan->place.node_index, plan->artifact);
    (void)snprintf(plan->page_path, sizeof plan->page_path, "resmon/%sreport.html",
                   config->monitor);
    plan->row_end = run->row_count;
    while (plan->first_row < run->row_count && run->t_last[plan->first_row] <= after_ns) {
        plan->first_row++;
    }
    resmon_status status = rm_mlflow_summary_add(plan);
    if (status == RESMON_OK && (config->flags & RESMON_MLFLOW_SERIES) != 0) {
        status = rm_mlflow_series_add(plan);
    }
    if (status != RESMON_OK) {
        rm_mlflow_plan_free(plan);
    }
    return status;
}

void rm_mlflow_plan_free(struct rm_mlflow_plan *plan)
{
    rm_arena_free(&plan->arena);
}

/* ---- what is there already ---------------------------------------------------------------- */

int64_t rm_mlflow_end_ms(const struct resmon_run *run)
{
    return rm_run_realtime_ns(run, run->info.duration_ns) / RM_NS_PER_MS;
}

void rm_mlflow_point_key(const struct rm_mlflow_plan *plan, const struct rm_mlflow_point *point,
                         char key[RM_MLFLOW_LONGEST_KEY + 1])
{
    bool is_of_model = (plan->config->flags & RESMON_MLFLOW_MODEL_METRICS) != 0;
    (void)snprintf(key, RM_MLFLOW_LONGEST_KEY + 1, "%s%s%s", is_of_model ? "" : RM_MLFLOW_SYSTEM,
                   plan->config->monitor, point->key);
}

void rm_mlflow_plan_skip_summary(struct rm_mlflow_plan *plan)
{
    for (size_t i = 0; i < plan->point_count; i++) {
        plan->points[i].is_known = true;
    }
}

/* Steps and times of a series rise: what is not behind its last point was sent with it or before.
 */
static void skip_series(struct rm_mlflow_plan *plan, const char *key, double step, double time_ms)
{
    size_t length = strlen(key);
    for (size_t i = 0; i < plan->series_count; i++) {
        struct rm_mlflow_series *series = &plan->series[i];
        size_t before = strlen(RM_MLFLOW_POINT_HEAD);
        if (series->head_length > before + length && series->head[before + length] == '"' &&
            memcmp(series->head + before, key, length) == 0) {
            series->known_step = step;
            series->known_ms = time_ms;
        }
    }
}

const struct rm_mlflow_point *rm_mlflow_plan_skip(struct rm_mlflow_plan *plan,
                                                  const struct rm_json *known)
{
    const struct rm_mlflow_point *behind = NULL;
    bool is_merged = plan->run->node_count > 0;
    for (const struct rm_json *at = rm_json_first(known); at != NULL; at = rm_json_next(at)) {
        const char *key = rm_json_text(rm_json_get(at, "key"));
        double step = rm_json_number(rm_json_get(at, "step"));
        double time_ms = rm_json_number(rm_json_get(at, "timestamp"));
        if (key == NULL) {
            continue;
        }
        skip_series(plan, key, step, time_ms);
        for (size_t i = 0; i < plan->point_count; i++) {
            char own[RM_MLFLOW_LONGEST_KEY + 1];
            struct rm_mlflow_point *point = &plan->points[i];
            rm_mlflow_point_key(plan, point, own);
            if (strcmp(own, key) != 0) {
                continue;
            }
            /* Of a merged run the nodes are steps, sent in their order; the last is told. */
            bool is_there = is_merged ? (double)point->step <= step : (double)point->step == step;
            bool is_of_run = (double)rm_mlflow_end_ms(plan->run) == time_ms;
            point->is_known = point->is_known || (is_there && is_of_run);
            behind = i + 1 == plan->point_count && step > (double)point->step ? point : behind;
        }
    }
    return behind;
}
