/* SPDX-License-Identifier: MIT */
/*
 * Runs whose times and counts cannot be added (documents and recordings that somebody made), as CSV
 * and for MLflow: no sum may come round to the other side.
 */
#include "test.h"

#include <stdbool.h>
#include <unistd.h>

#include "base/alloc.h"
#include "format/csv.h"
#include "net/mlflow_body.h"
#include "unit/made_run.h"

#define PATH "test_hostile_times.csv"

static struct resmon_run *far_run(void)
{
    struct resmon_run *run = made_run("stopped", 3);
    assert_non_null(run);
    run->info.start_realtime_ns = INT64_MAX - 5;
    run->info.duration_ns = INT64_MAX / 2;
    for (size_t i = 0; i < run->row_count; i++) {
        run->t_first[i] = run->t_last[i] = INT64_MAX - 10 + (int64_t)i;
        run->row_samples[i] = (uint64_t)INT64_MAX;
    }
    return run;
}

TEST(csv)
{
    static char text[65536];
    struct resmon_run *run = far_run();
    assert_ok(rm_csv_save(run, PATH));
    FILE *file = fopen(PATH, "r");
    assert_non_null(file);
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    (void)fclose(file);
    assert_non_null(strstr(text, "\n9223372036.854775797,9223372036.854775807,"));
    assert_int_equal(unlink(PATH), 0);
    assert_int_equal(unlink("test_hostile_times-columns.csv"), 0);
    rm_run_free(run);
}

#ifdef RM_HAVE_CJSON

TEST(mlflow)
{
    struct resmon_run *run = far_run();
    struct rm_mlflow_config *config = rm_alloc(1, sizeof *config);
    struct rm_mlflow_plan *plan = rm_alloc(1, sizeof *plan);
    struct rm_mlflow_cursor cursor = {0};
    struct rm_buffer body;
    bool has_item = true;
    assert_true(config != NULL && plan != NULL);
    config->node_index = -1;
    config->flags = RESMON_MLFLOW_SERIES | RESMON_MLFLOW_NO_ARTIFACT;
    rm_buffer_init(&body, (size_t)1 << 24);
    assert_ok(rm_mlflow_plan_init(plan, config, run, -1));
    plan->is_made = true;
    while (has_item) {
        struct rm_mlflow_item item;
        assert_ok(rm_mlflow_items_next(plan, &cursor, 1000, &body, &item, &has_item));
        if (has_item) {
            assert_null(strstr(item.body, "\"timestamp\":-"));
            assert_null(strstr(item.body, "\"step\":-"));
            assert_null(strstr(item.body, "\"end_time\":-"));
        }
    }
    rm_mlflow_plan_free(plan);
    rm_buffer_free(&body);
    rm_free(plan);
    rm_free(config);
    rm_run_free(run);
}

/* Scopes without a time do not hide those that have one. */
TEST(scopes_without_a_time)
{
    struct resmon_run *run = made_run("stopped", 300);
    struct rm_mlflow_config *config = rm_alloc(1, sizeof *config);
    struct rm_mlflow_plan *plan = rm_alloc(1, sizeof *plan);
    assert_true(run != NULL && config != NULL && plan != NULL);
    for (size_t i = 0; i < run->scope_count; i++) {
        run->scopes[i].wall_ns = i % 3 == 0 ? 1e9 : (double)NAN;
    }
    assert_ok(rm_mlflow_plan_init(plan, config, run, -1));
    size_t walls = 0;
    for (size_t i = 0; i < plan->point_count; i++) {
        bool is_of_scope = strncmp(plan->points[i].key, "resmon/scope/", 13) == 0;
        walls += is_of_scope && strstr(plan->points[i].key, "/wall_seconds") != NULL ? 1 : 0;
    }
    assert_int_equal(walls, 100);
    rm_mlflow_plan_free(plan);
    rm_free(plan);
    rm_free(config);
    rm_run_free(run);
}

#endif
