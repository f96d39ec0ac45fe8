/* SPDX-License-Identifier: MIT */
/*
 * metric/view: the table of what is shown where holds together, and can be read from outside.
 */
#include "test.h"

#include <math.h>

#include <resmon/metric.h>
#include <resmon/run.h>

#include "base/compiler.h"
#include "metric/view.h"
#include "net/mlflow_body.h"
#include "run/headline.h"

static const char *const names[RM_VIEW_COUNT] = {
    "summary", "trace",   "mlflow", "node", "headline", "plot",
    "chart",   "compare", "spark",  "job",  "detail",
};

static bool is_view(const char *name)
{
    for (size_t i = 0; i < RM_ARRAY_LEN(names); i++) {
        if (strcmp(names[i], name) == 0) {
            return true;
        }
    }
    return false;
}

static resmon_view view_at(size_t index)
{
    resmon_view view = {.struct_size = sizeof view};
    assert_int_equal(resmon_view_at(index, &view), RESMON_OK);
    return view;
}

static bool is_detail(const resmon_view *view)
{
    return strcmp(view->view, "detail") == 0;
}

TEST(every_row_is_whole)
{
    size_t count = resmon_view_count();
    assert_true(count > 200);
    for (size_t i = 0; i < count; i++) {
        resmon_metric metric = {.struct_size = sizeof metric};
        const resmon_view view = view_at(i);
        bool is_head = view.metric[0] == '\0';
        assert_true(is_view(view.view));
        assert_true(view.divisor > 0.0 && isfinite(view.divisor));
        assert_true(is_head || resmon_metric_find(view.metric, &metric) == RESMON_OK);
        assert_true(view.share_of[0] == '\0' ||
                    resmon_metric_find(view.share_of, &metric) == RESMON_OK);
        assert_true(view.unit[0] != '\0');
        bool is_of_node = strcmp(view.view, "node") == 0;
        assert_true(view.series >= RESMON_SERIES_LAST &&
                    view.series <=
                        (is_of_node ? RESMON_VIEW_UNUSED_CPU_HOURS : RESMON_SERIES_VALUE));
        assert_true(view.colour >= -1);
        bool has_label = view.label[0] != '\0';
        bool needs_none = is_detail(&view) || strcmp(view.view, "headline") == 0 ||
                          strcmp(view.view, "plot") == 0;
        assert_true(has_label || needs_none);
    }
}

static bool is_same_group(const resmon_view *one, const resmon_view *other)
{
    return strcmp(one->view, other->view) == 0 && strcmp(one->group, other->group) == 0;
}

TEST(no_row_stands_twice)
{
    for (size_t i = 0; i < resmon_view_count(); i++) {
        const resmon_view one = view_at(i);
        for (size_t k = 0; k < i; k++) {
            const resmon_view other = view_at(k);
            if (strcmp(one.metric, other.metric) == 0) {
                /* Heads of a group have no metric, and there is one of each. */
                bool is_twice = is_same_group(&one, &other) && strcmp(one.label, other.label) == 0;
                assert_false(is_twice);
                assert_false(one.metric[0] != '\0' && (is_detail(&one) || is_detail(&other)));
            }
        }
    }
}

/* The head of the group that a row of a chart is in. */
static resmon_view head_before(size_t index)
{
    const resmon_view row = view_at(index);
    for (size_t i = index; i-- > 0;) {
        const resmon_view other = view_at(i);
        if (other.metric[0] == '\0' && is_same_group(&row, &other)) {
            return other;
        }
    }
    fail_msg("group %s of %s has no head before its rows", row.group, row.view);
    return row;
}

TEST(charts_have_a_title_and_one_unit)
{
    size_t seen = 0;
    for (size_t i = 0; i < resmon_view_count(); i++) {
        const resmon_view row = view_at(i);
        bool is_chart = strcmp(row.view, "plot") == 0 || strcmp(row.view, "chart") == 0 ||
                        strcmp(row.view, "compare") == 0;
        if (is_chart && row.metric[0] != '\0' && strcmp(row.group, RM_VIEW_OTHER) != 0) {
            assert_string_equal(row.unit, head_before(i).unit);
            seen++;
        }
    }
    assert_true(seen > 50);
}

static size_t rows_of(enum rm_view view, const char *group)
{
    struct rm_view_row row;
    size_t count = 0;
    for (size_t at = 0; rm_view_next(view, group, &at, &row);) {
        assert_int_equal(row.view, view);
        assert_non_null(row.metric);
        count++;
    }
    return count;
}

/* What has a bound in the code that reads the table. */
TEST(readers_have_room)
{
    assert_int_equal(rows_of(RM_VIEW_NODE, NULL), RM_NODE_SUMMARY_KEYS);
    assert_true(rows_of(RM_VIEW_SUMMARY, "event") <= 8);
    assert_true(rows_of(RM_VIEW_SUMMARY, "gpu") <= 8);
    /* 16 GPUs beside what is of the node */
    assert_true(rows_of(RM_VIEW_MLFLOW, "node") + 16 * rows_of(RM_VIEW_MLFLOW, "gpu") <=
                RM_MLFLOW_SERIES_KEYS);
}

TEST(past_the_end)
{
    resmon_view view = {.struct_size = sizeof view, .label = "kept"};
    assert_int_equal(resmon_view_at(resmon_view_count(), &view), RESMON_ENOENT);
    assert_int_equal(resmon_view_at(SIZE_MAX, &view), RESMON_ENOENT);
    assert_string_equal(view.label, "kept");
    assert_int_equal(resmon_view_at(0, NULL), RESMON_EINVAL);
    view.struct_size = 8;
    assert_int_equal(resmon_view_at(0, &view), RESMON_EINVAL);
    assert_string_equal(view.label, "kept");
}
