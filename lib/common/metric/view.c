/* SPDX-License-Identifier: MIT */
#include "metric/view.h"

#include <stddef.h>
#include <string.h>

#include <resmon/run.h>

#include "base/compiler.h"
#include "base/status.h"
#include "base/struct_size.h"

/* Short names for views.def. */
#define LAST             RESMON_SERIES_LAST
#define MIN              RESMON_SERIES_MIN
#define MAX              RESMON_SERIES_MAX
#define MEAN             RESMON_SERIES_MEAN
#define VALUE            RESMON_SERIES_VALUE
#define OVER_20          RESMON_VIEW_OVER_20
#define OVER_40          RESMON_VIEW_OVER_40
#define OVER_80          RESMON_VIEW_OVER_80
#define OVER_100         RESMON_VIEW_OVER_100
#define CPU_HOURS        RESMON_VIEW_CPU_HOURS
#define UNUSED_CPU_HOURS RESMON_VIEW_UNUSED_CPU_HOURS
#define MIB              1048576.0
#define MB               1e6
#define PERCENT          0.01 /* unit of a ratio, or of seconds per second */
#define BOUND            RM_COLOUR_BOUND

/* The concatenated texts of all rows, each named by its line in views.def: group, label and unit,
 * each with its '\0'.  A row has the 16-bit offset of its texts, since a pointer costs a
 * relocation. */
#define TEXTS_OF(line)                                                     TEXTS_OF_LINE(line)
#define TEXTS_OF_LINE(line)                                                texts_of_##line
#define RM_VIEW(view, group, metric, label, series, divisor, unit)         ROW(group, label, unit)
#define RM_LINE(view, group, metric, label, series, divisor, unit, colour) ROW(group, label, unit)
#define RM_SHARE(view, group, metric, label, of)                           ROW(group, label, "%")
#define RM_HEAD(view, group, title, unit)                                  ROW(group, title, unit)
#define RM_DETAIL(metric)

static const struct texts {
#define ROW(group, label, unit) char TEXTS_OF(__LINE__)[sizeof(group "\0" label "\0" unit)];
#include "metric/views.def"
#undef ROW
} texts = {
#define ROW(group, label, unit) group "\0" label "\0" unit,
#include "metric/views.def"
#undef ROW
};

_Static_assert(sizeof texts <= UINT16_MAX, "16 bits say where a text begins");

#undef RM_VIEW
#undef RM_LINE
#undef RM_SHARE
#undef RM_HEAD

struct row {
    double divisor;
    uint16_t texts;
    uint16_t metric; /* id; 0: a group heading */
    uint16_t of;     /* id; 0: none */
    uint8_t view;
    int8_t series;
    int8_t colour;
};

#define ROW(view, metric, series, divisor, of, colour)           \
    {(divisor),      offsetof(struct texts, TEXTS_OF(__LINE__)), \
     (metric),       (of),                                       \
     RM_VIEW_##view, (series),                                   \
     (colour)},
#define RM_VIEW(view, group, metric, label, series, divisor, unit) \
    ROW(view, RM_##metric, series, divisor, 0, 0)
#define RM_LINE(view, group, metric, label, series, divisor, unit, colour) \
    ROW(view, RM_##metric, series, divisor, 0, colour)
#define RM_SHARE(view, group, metric, label, of) ROW(view, RM_##metric, MEAN, 1, RM_##of, 0)
#define RM_HEAD(view, group, title, unit)        ROW(view, 0, VALUE, 1, 0, 0)

static const struct row table[] = {
#include "metric/views.def"
};

#undef RM_VIEW
#undef RM_LINE
#undef RM_SHARE
#undef RM_HEAD
#undef RM_DETAIL
#define RM_VIEW(view, group, metric, label, series, divisor, unit)
#define RM_LINE(view, group, metric, label, series, divisor, unit, colour)
#define RM_SHARE(view, group, metric, label, of)
#define RM_HEAD(view, group, title, unit)
#define RM_DETAIL(metric) RM_##metric,

static const uint16_t details[] = {
#include "metric/views.def"
};

static const char *const view_names[RM_VIEW_COUNT] = {
    "summary", "trace",   "mlflow", "node", "headline", "plot",
    "chart",   "compare", "spark",  "job",  "detail",
};

/* ---- metrics without a row ---------------------------------------------------------------- */

/* Display unit of a counter and the form of its series.  A view uses the first row that matches: ""
 * matches all. */
struct shown {
    const char *metric_unit;
    const char *unit;
    double divisor;
};

static const struct shown as_is[] = {{"", "", 1}};
static const struct shown gauges_of_traces[] = {{"B", "MiB", MIB}, {"1", "count", 1}, {"", "", 1}};
static const struct shown rates_of_traces[] = {
    {"B", "MB/s", MB}, {"s", "%", PERCENT}, {"J", "W", 1}, {"", "/s", 1}};
static const struct shown rates[] = {
    {"B", "B/s", 1}, {"s", "%", PERCENT}, {"J", "W", 1}, {"", "1/s", 1}};

static const struct preset {
    enum rm_view view;
    int32_t gauge_series, counter_series;
    const struct shown *gauges, *counters;
} presets[] = {
    {RM_VIEW_SUMMARY, VALUE, VALUE, as_is, as_is},
    {RM_VIEW_TRACE, MEAN, MEAN, gauges_of_traces, rates_of_traces},
    {RM_VIEW_MLFLOW, MEAN, LAST, as_is, as_is},
    {RM_VIEW_PLOT, VALUE, MEAN, as_is, rates},
    {RM_VIEW_CHART, MEAN, MEAN, as_is, rates},
};

/* Sets for each id whether a row shows the metric. */
static void note_rows(bool has_row[RM_METRIC_IDS])
{
    for (size_t i = 0; i < RM_ARRAY_LEN(table); i++) {
        has_row[table[i].metric] = true;
    }
    for (size_t i = 0; i < RM_ARRAY_LEN(details); i++) {
        has_row[details[i]] = true;
    }
}

/* Indexes of the metrics without a row.  Computed once; concurrent computations give the same
 * result. */
static struct {
    uint16_t places[RM_METRIC_IDS]; /* atomic */
    size_t count;
    bool is_known; /* atomic; stored last */
} without_row;

static void find_without_row(void)
{
    const struct rm_metric *metric;
    bool has_row[RM_METRIC_IDS] = {false};
    size_t count = 0;
    note_rows(has_row);
    for (size_t i = 0; (metric = rm_metric_row(i)) != NULL; i++) {
        if (!has_row[metric->id]) {
            RM_STORE(&without_row.places[count++], (uint16_t)i);
        }
    }
    RM_STORE(&without_row.count, count);
    RM_STORE_RELEASE(&without_row.is_known, true);
}

/* The `number`th metric without a row. */
static const struct rm_metric *metric_without_row(size_t number)
{
    if (!RM_LOAD_ACQUIRE(&without_row.is_known)) {
        find_without_row();
    }
    return number < RM_LOAD(&without_row.count)
               ? rm_metric_row(RM_LOAD(&without_row.places[number]))
               : NULL;
}

static const char *unit_or_own(const char *unit, const struct rm_metric *metric)
{
    return unit[0] == '\0' && metric != NULL ? rm_metric_unit(metric) : unit;
}

static struct rm_view_row preset_row(const struct preset *preset, const struct rm_metric *metric)
{
    bool is_counter = (metric->kind & RM_KIND_MASK) == RESMON_COUNTER;
    const struct shown *shown = is_counter ? preset->counters : preset->gauges;
    while (shown->metric_unit[0] != '\0' &&
           strcmp(shown->metric_unit, rm_metric_unit(metric)) != 0) {
        shown++;
    }
    return (struct rm_view_row){
        .view = preset->view,
        .group = RM_VIEW_OTHER,
        .metric = metric,
        .label = rm_metric_name(metric),
        .unit = unit_or_own(shown->unit, metric),
        .divisor = shown->divisor,
        .series = is_counter ? preset->counter_series : preset->gauge_series,
    };
}

static bool default_row(size_t index, struct rm_view_row *ret_row)
{
    const struct rm_metric *metric = metric_without_row(index / RM_ARRAY_LEN(presets));
    if (metric != NULL) {
        *ret_row = preset_row(&presets[index % RM_ARRAY_LEN(presets)], metric);
    }
    return metric != NULL;
}

struct rm_view_row rm_view_chart_of(const struct rm_metric *metric)
{
    size_t i = 0;
    while (presets[i].view != RM_VIEW_CHART) {
        i++;
    }
    return preset_row(&presets[i], metric);
}

/* ---- look-ups ----------------------------------------------------------------------------- */

static const char *group_of(const struct row *row)
{
    return (const char *)&texts + row->texts;
}

static struct rm_view_row table_row(const struct row *row)
{
    const struct rm_metric *metric = rm_metric_of(row->metric);
    const char *group = group_of(row);
    const char *label = group + strlen(group) + 1;
    const char *unit = label + strlen(label) + 1;
    return (struct rm_view_row){
        .view = (enum rm_view)row->view,
        .group = group,
        .metric = metric,
        .label = label,
        .unit = unit_or_own(unit, metric),
        .divisor = row->divisor,
        .of = rm_metric_of(row->of),
        .series = row->series,
        .colour = row->colour,
    };
}

static struct rm_view_row detail_row(uint32_t id)
{
    const struct rm_metric *metric = rm_metric_of(id);
    return (struct rm_view_row){
        .view = RM_VIEW_DETAIL,
        .group = "",
        .metric = metric,
        .label = "",
        .unit = rm_metric_unit(metric),
        .divisor = 1,
        .series = VALUE,
    };
}

bool rm_view_row(size_t index, struct rm_view_row *ret_row)
{
    if (index < RM_ARRAY_LEN(table)) {
        *ret_row = table_row(&table[index]);
        return true;
    }
    index -= RM_ARRAY_LEN(table);
    if (index < RM_ARRAY_LEN(details)) {
        *ret_row = detail_row(details[index]);
        return true;
    }
    return default_row(index - RM_ARRAY_LEN(details), ret_row);
}

/* Cheap check before a row is looked up in full; true past the last row. */
static bool may_fit(size_t index, enum rm_view view, const char *group)
{
    if (index < RM_ARRAY_LEN(table)) {
        const struct row *row = &table[index];
        return row->view == view && row->metric != 0 &&
               (group == NULL || strcmp(group_of(row), group) == 0);
    }
    return index - RM_ARRAY_LEN(table) >= RM_ARRAY_LEN(details) || view == RM_VIEW_DETAIL;
}

bool rm_view_next(enum rm_view view, const char *group, size_t *index, struct rm_view_row *ret_row)
{
    for (bool fits = false; !fits; (*index)++) {
        struct rm_view_row row;
        if (!may_fit(*index, view, group)) {
            continue;
        }
        if (!rm_view_row(*index, &row)) {
            return false;
        }
        fits = row.view == view && row.metric != NULL &&
               (group == NULL || strcmp(row.group, group) == 0);
        *ret_row = fits ? row : *ret_row;
    }
    return true;
}

size_t resmon_view_count(void)
{
    size_t count = RM_ARRAY_LEN(table) + RM_ARRAY_LEN(details);
    for (size_t i = 0; metric_without_row(i) != NULL; i++) {
        count += RM_ARRAY_LEN(presets);
    }
    return count;
}

resmon_status resmon_view_at(size_t index, resmon_view *ret_view)
{
    struct rm_view_row row;
    if (!rm_view_row(index, &row)) {
        return rm_error(RESMON_ENOENT, "view index %zu is past the last, %zu", index,
                        resmon_view_count() - 1);
    }
    const resmon_view result = {
        .view = view_names[row.view],
        .group = row.group,
        .metric = row.metric != NULL ? rm_metric_name(row.metric) : "",
        .label = row.label,
        .unit = row.unit,
        .share_of = row.of != NULL ? rm_metric_name(row.of) : "",
        .divisor = row.divisor,
        .series = row.series,
        .colour = row.colour,
    };
    return rm_struct_give(&result, RM_STRUCT_SIZE(resmon_view), ret_view);
}
