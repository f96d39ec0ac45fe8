/* SPDX-License-Identifier: MIT */
/* In place of the collectors of performance counters when the library is built without them. */
#include "base/feature.h"
#include "collect/collect.h"

void rm_counters_close(struct rm_counters *counters)
{
    (void)counters;
}

static resmon_status say_left_out(struct rm_collect *collect, void *state)
{
    (void)collect, (void)state;
    return rm_feature_need(RM_FEATURE_COUNTERS);
}

const struct rm_collector rm_collect_perf = {
    .name = "perf",
    .domain = RM_DOMAIN_COUNTERS,
    .open = say_left_out,
};
