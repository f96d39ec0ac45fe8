/* SPDX-License-Identifier: MIT */
#include "net/mlflow_plan.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/text.h"
#include "net/mlflow_series.h"
#include "net/mlflow_summary.h"

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
