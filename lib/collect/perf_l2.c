/* SPDX-License-Identifier: MIT */
/*
 * Collector perf_l2: what the process tree moves between L1 and L2, where the processor counts it.
 */
#include "collect/collect.h"
#include "collect/counter_rows.h"

static const uint16_t metrics[] = {RM_PERF_L2_BANDWIDTH};

static resmon_status open_counters(struct rm_collect *collect, void *state)
{
    return rm_counter_rows_open(collect, state, metrics, RM_ARRAY_LEN(metrics));
}

const struct rm_collector rm_collect_perf_l2 = {
    .name = "perf_l2",
    .domain = RM_DOMAIN_COUNTERS,
    .needs_flag = RM_FLAG_COUNTERS(RM_COUNTERS_L2),
    RM_METRICS(metrics),
    .state_bytes = sizeof(struct rm_counter_rows),
    .open = open_counters,
    .read = rm_counter_rows_read,
    .close = rm_counter_rows_close,
};
