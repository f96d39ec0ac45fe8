/* SPDX-License-Identifier: MIT */
#include "store/node_summary.h"

#include <math.h>

#include "base/compiler.h"
#include "metric/metric.h"

enum statistic {
    MEAN,
    MAX,
    TOTAL_MIB,    /* growth of a counter */
    OVER_20 = 10, /* share of the time at or over 20 % ... */
    OVER_40 = 11,
    OVER_80 = 12,
    OVER_100 = 13,
    CPU_HOURS,
    UNUSED_CPU_HOURS
};

static const struct {
    const char *key;
    enum rm_metric_id metric;
    enum statistic statistic;
} figures[RM_NODE_SUMMARY_KEYS] = {
    {"cpu_avg_utilization_pct", RM_NODE_CPU_CORE_AVG, MEAN},
    {"cpu_avg_utilization_over20_pct", RM_NODE_CPU_CORE_AVG, OVER_20},
    {"cpu_avg_utilization_over40_pct", RM_NODE_CPU_CORE_AVG, OVER_40},
    {"cpu_avg_utilization_over80_pct", RM_NODE_CPU_CORE_AVG, OVER_80},
    {"cpu_avg_utilization_at100_pct", RM_NODE_CPU_CORE_AVG, OVER_100},
    {"max_t_cpu_pct_per_cpu_avg", RM_NODE_CPU_CORE_AVG, MAX},
    {"max_t_cpu_pct_per_cpu_min", RM_NODE_CPU_CORE_MIN, MAX},
    {"max_t_cpu_pct_per_cpu_max", RM_NODE_CPU_CORE_MAX, MAX},
    {"node_cpu_hours", RM_NODE_CPU_ONLINE, CPU_HOURS},
    {"node_unused_cpu_hours", RM_NODE_CPU_ONLINE, UNUSED_CPU_HOURS},
    {"max_t_mem_percent", RM_NODE_MEM_PERCENT, MAX},
    {"max_t_disk_usage_percent", RM_NODE_FS_PERCENT, MAX},
    {"total_disk_io_read_mb", RM_NODE_DISK_READ_BYTES, TOTAL_MIB},
    {"total_disk_io_write_mb", RM_NODE_DISK_WRITE_BYTES, TOTAL_MIB},
    {"total_net_io_lo_sent_mb", RM_NODE_NET_LO_SENT, TOTAL_MIB},
    {"total_net_io_ext_sent_mb", RM_NODE_NET_EXT_SENT, TOTAL_MIB},
    {"total_net_io_lo_recv_mb", RM_NODE_NET_LO_RECV, TOTAL_MIB},
    {"total_net_io_ext_recv_mb", RM_NODE_NET_EXT_RECV, TOTAL_MIB},
};

const char *rm_node_summary_key(size_t index)
{
    return figures[index].key;
}

static const struct rm_run_statistics *statistics_of(const struct resmon_run *run,
                                                     enum rm_metric_id id)
{
    int64_t column = rm_run_find_column(run, rm_metric_of(id)->name, NULL);
    return column >= 0 && run->columns[column].stats.n > 0 ? &run->columns[column].stats : NULL;
}

/* Mean number of online CPUs times the length of the run. */
static double cpu_hours(const struct resmon_run *run, const struct rm_run_statistics *online)
{
    return online->mean * (double)run->duration_ns / 1e9 / 3600.0;
}

double rm_node_summary_value(const struct resmon_run *run, size_t index)
{
    enum statistic statistic = figures[index].statistic;
    const struct rm_run_statistics *stats = statistics_of(run, figures[index].metric);
    if (stats == NULL) {
        return RM_NAN;
    }
    switch (statistic) {
    case MEAN:
        return stats->mean;
    case MAX:
        return stats->max;
    case TOTAL_MIB:
        return stats->last / 1048576.0;
    case CPU_HOURS:
        return cpu_hours(run, stats);
    case UNUSED_CPU_HOURS: {
        const struct rm_run_statistics *busy = statistics_of(run, RM_NODE_CPU_CORE_AVG);
        return busy != NULL ? cpu_hours(run, stats) * (100.0 - busy->mean) / 100.0 : RM_NAN;
    }
    default:
        return stats->duration_s > 0.0
                   ? 100.0 * stats->over_s[statistic - OVER_20] / stats->duration_s
                   : RM_NAN;
    }
}
