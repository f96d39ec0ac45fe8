/* SPDX-License-Identifier: MIT */
#include "run/node_summary.h"

#include <math.h>

#include "base/compiler.h"
#include "metric/view.h"

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

/* Whose figures: a run's, or those of a node of a merged one. */
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

static double value_of(const struct owner *owner, size_t index)
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
    return value_of(&owner, index);
}

double rm_node_summary_value_of(const struct resmon_run *run, size_t index, size_t node)
{
    const struct owner owner = {.run = run, .is_node = true, .node = node};
    return value_of(&owner, index);
}
