/* SPDX-License-Identifier: MIT */
/*
 * A new metric, with a row of metrics.def and a collector and nothing else, is in all that shows a
 * run: the example of docs/contributing, a gauge, and node_extra.c, a counter with instances.  One
 * with a row of views.def is shown where that says.
 */
#include "report_in_full.h"
#include "runs.h"

#include <sys/stat.h>
#include <unistd.h>

#include "base/buffer.h"
#include "metric/view.h"
#include "net/mlflow_body.h"
#include "net/mlflow_config.h"
#include "run/run.h"

static resmon_run *run;

/* Two samples of a machine that has these two files, and nothing else. */
FIXTURE(record)
{
    static const char *const directories[] = {"proc", "proc/sys", "proc/sys/fs"};
    for (size_t i = 0; i < sizeof directories / sizeof *directories; i++) {
        assert_int_equal(mkdir(path_of(directories[i]), 0700), 0);
    }
    put_text(path_of("proc/sys/fs/file-nr"), "1000\t0\t9223372036854775807\n");
    put_text(path_of("proc/extra"), "100 7\n");
    resmon_monitor *monitor = start_with(
        &(resmon_monitor_options){.fs_root = test_directory, .domains = RESMON_DOMAIN_DISK});
    put_text(path_of("proc/sys/fs/file-nr"), "2000\t0\t9223372036854775807\n");
    put_text(path_of("proc/extra"), "150 7\n");
    run = finish(monitor);
    return 0;
}

FIXTURE(clean_up)
{
    resmon_run_free(run);
    return 0;
}

static const resmon_column *column_of(const struct resmon_run *of, const char *metric,
                                      const char *instance)
{
    int64_t column = rm_run_find_column(of, metric, instance);
    assert_true(column >= 0);
    return &of->columns[column];
}

TEST(columns)
{
    assert_int_equal(column_of(run, "node.files", "")->n, 2);
    assert_true(column_of(run, "node.files", "")->max == 2000.0);
    assert_true(column_of(run, "node.extra.time", "a")->last == 50.0);
    assert_true(column_of(run, "node.extra.time", "b/c")->last == 0.0);
}

TEST(document)
{
#ifdef RM_HAVE_CJSON
    const char *kept = getenv("EXTRA_RUN"); /* for the test of the Python package */
    const char *path = kept != NULL ? kept : path_of("run.json");
    resmon_run *loaded = NULL;
    assert_ok(resmon_run_save(run, path));
    assert_ok(resmon_run_load(path, &loaded));
    assert_true(column_of(loaded, "node.files", "")->max == 2000.0);
    assert_string_equal(column_of(loaded, "node.extra.time", "b/c")->unit, "s");
    resmon_run_free(loaded);
#else
    printf("not tested: this build has no JSON (cJSON)\n");
#endif
}

TEST(csv)
{
    assert_ok(resmon_run_save_csv(run, path_of("run.csv")));
    char *text = content_of(path_of("run.csv"), NULL);
    assert_has(text, ",node.files,node.files.min,node.files.max,");
    assert_has(text, ",node.extra.time[a],node.extra.placed[a],");
    free(text);
    text = content_of(path_of("run-columns.csv"), NULL);
    assert_has(text, "open file handles of the machine");
    free(text);
}

TEST(trace)
{
    const resmon_run *const runs[] = {run};
    assert_ok(resmon_trace_save(runs, 1, path_of("run.trace")));
    char *text = content_of(path_of("run.trace"), NULL);
    assert_has(text, "\"name\":\"node.files\",\"args\":{\"count\":2000");
    assert_has(text, "\"name\":\"node.extra.time a\",\"args\":{\"%\":"); /* of a second */
    assert_null(strstr(text, "placed"));
    free(text);
}

TEST(prometheus)
{
    char *text = NULL;
    assert_ok(resmon_prometheus_text(run, NULL, &text));
    assert_has(text, "# HELP resmon_node_files open file handles of the machine");
    assert_has(text, "\nresmon_node_files{");
    assert_has(text, "\nresmon_node_extra_time_seconds_total{");
    assert_has(text, "\nresmon_node_extra_placed_bytes{");
    resmon_text_free(text);
}

TEST(text_report)
{
    char *text = NULL;
    assert_ok(report_in_full(run, &text));
    assert_has(text, "\n  node.files ");
    assert_has(text, "\n  node.extra.time[a] ");
    assert_has(text, "\n  node.extra.time[b/c] ");
    assert_has(text, "\n  memory with a place ");
    assert_null(strstr(text, "node.extra.placed"));
    const char *row = strstr(text, "\n  node.extra.time[a] ");
    const char *end = strchr(row + 1, '\n');
    assert_true(end != NULL && strstr(row, " % ") != NULL && strstr(row, " % ") < end);
    assert_true(strstr(row, " 50.00 s") != NULL && strstr(row, " 50.00 s") < end); /* in total */
    resmon_text_free(text);
}

#ifdef RM_HAVE_CJSON

static double point_of(const struct rm_mlflow_plan *plan, const char *key)
{
    for (size_t i = 0; i < plan->point_count; i++) {
        if (strcmp(plan->points[i].key, key) == 0) {
            return plan->points[i].value;
        }
    }
    fail_msg("there is no point %s", key);
    return 0.0;
}

static bool has_series(const struct rm_mlflow_plan *plan, const char *key)
{
    char head[256];
    (void)snprintf(head, sizeof head, "{\"key\":\"system/node_0/%s\",", key);
    for (size_t i = 0; i < plan->series_count; i++) {
        if (strncmp(plan->series[i].head, head, strlen(head)) == 0) {
            return true;
        }
    }
    return false;
}

TEST(mlflow)
{
    static struct rm_mlflow_plan plan; /* large */
    static struct rm_mlflow_config config = {.node_index = -1, .flags = RESMON_MLFLOW_SERIES};
    assert_ok(rm_mlflow_plan_init(&plan, &config, run, -1));
    double mean = point_of(&plan, "resmon/run/node.files");
    assert_true(mean >= 1000.0 && mean <= 2000.0);
    assert_true(point_of(&plan, "resmon/run/node.extra.time_a") == 50.0);
    assert_true(point_of(&plan, "resmon/run/node.extra.time_b/c") == 0.0);
    assert_true(has_series(&plan, "node.files"));
    assert_true(has_series(&plan, "node.extra.time_a"));
    assert_true(has_series(&plan, "node.extra.time_b/c"));
    assert_false(has_series(&plan, "node.extra.placed_a"));
    rm_mlflow_plan_free(&plan);
}

#endif

struct shown {
    const char *view, *unit;
    double divisor;
    int32_t series;
};

static void assert_shown(const char *metric, const struct shown *wanted, size_t count)
{
    size_t seen = 0;
    for (size_t i = 0; i < resmon_view_count(); i++) {
        resmon_view view = {.struct_size = sizeof view};
        assert_ok(resmon_view_at(i, &view));
        if (strcmp(view.metric, metric) != 0) {
            continue;
        }
        assert_true(seen < count);
        assert_string_equal(view.view, wanted[seen].view);
        assert_string_equal(view.group, RM_VIEW_OTHER);
        assert_string_equal(view.label, metric);
        assert_string_equal(view.unit, wanted[seen].unit);
        assert_true(view.divisor == wanted[seen].divisor);
        assert_int_equal(view.series, wanted[seen].series);
        seen++;
    }
    assert_int_equal(seen, count);
}

/* What no row of views.def names is in each view of no fixed form. */
TEST(views)
{
    static const struct shown of_files[] = {
        {"summary", "1", 1, RESMON_SERIES_VALUE}, {"trace", "count", 1, RESMON_SERIES_MEAN},
        {"mlflow", "1", 1, RESMON_SERIES_MEAN},   {"plot", "1", 1, RESMON_SERIES_VALUE},
        {"chart", "1", 1, RESMON_SERIES_MEAN},
    };
    static const struct shown of_extra[] = {
        {"summary", "s", 1, RESMON_SERIES_VALUE}, {"trace", "%", 0.01, RESMON_SERIES_MEAN},
        {"mlflow", "s", 1, RESMON_SERIES_LAST},   {"plot", "%", 0.01, RESMON_SERIES_MEAN},
        {"chart", "%", 0.01, RESMON_SERIES_MEAN},
    };
    resmon_view view = {.struct_size = sizeof view};
    assert_shown("node.files", of_files, 5);
    assert_shown("node.extra.time", of_extra, 5);
    assert_int_equal(resmon_view_at(resmon_view_count(), &view), RESMON_ENOENT);
}

TEST_FILE(.set_up = record, .tear_down = clean_up);
