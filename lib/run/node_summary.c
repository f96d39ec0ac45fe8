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

/* Mean number of online CPUs times the length of the run. */
static double cpu_hours(const struct resmon_run *run, const resmon_column *online)
{
    return online->mean * (double)run->info.duration_ns / 1e9 / 3600.0;
}

double rm_node_summary_value(const struct resmon_run *run, size_t index)
{
    const struct rm_view_row row = rm_node_summary_row(index);
    const resmon_column *stats = rm_run_statistics_of(run, row.metric->id, NULL);
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
        return cpu_hours(run, stats);
    case RESMON_VIEW_UNUSED_CPU_HOURS: {
        const resmon_column *busy = rm_run_statistics_of(run, RM_NODE_CPU_CORE_AVG, NULL);
        return busy != NULL ? cpu_hours(run, stats) * (100.0 - busy->mean) / 100.0 : RM_NAN;
    }
    default:
        return stats->duration_s > 0.0
                   ? 100.0 * stats->over_s[row.series - RESMON_VIEW_OVER_20] / stats->duration_s
                   : RM_NAN;
    }
}
