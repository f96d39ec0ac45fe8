/* SPDX-License-Identifier: MIT */
/*
 * Collector perf_running: for how much of the time each set of hardware events was counted.  Comes
 * after the collectors whose sets these are.
 */
#include "collect/collect.h"

static const uint16_t metrics[] = {RM_PERF_RUNNING};

struct state {
    const struct rm_counters *counters;
};

static resmon_status open_counters(struct rm_collect *collect, void *state_)
{
    struct state *state = state_;
    state->counters = &collect->counters;
    return state->counters->set_count > 0
               ? RESMON_OK
               : rm_error(RESMON_ENODEV, "no hardware events are counted");
}

static resmon_status read_counters(struct rm_collect *collect, void *state_, double *values)
{
    const struct state *state = state_;
    rm_counters_remark_lack(collect);
    for (size_t i = 0; i < state->counters->set_count; i++) {
        values[i] = 100.0 * state->counters->sets[i]->share;
    }
    return RESMON_OK;
}

static size_t count_sets(const void *state)
{
    return ((const struct state *)state)->counters->set_count;
}

static const char *name_of_set(const void *state, size_t index)
{
    return ((const struct state *)state)->counters->sets[index]->name;
}

const struct rm_collector rm_collect_perf_running = {
    .name = "perf_running",
    .domain = RM_DOMAIN_COUNTERS,
    .after = RM_AFTER("perf_events", "perf_flops", "perf_hardware", "perf_l2", "perf_l2cache",
                      "perf_l3", "perf_l3cache", "perf_memory", "tree"),
    RM_METRICS(metrics),
    .state_bytes = sizeof(struct state),
    .open = open_counters,
    .read = read_counters,
    .instances = count_sets,
    .instance_name = name_of_set,
};
