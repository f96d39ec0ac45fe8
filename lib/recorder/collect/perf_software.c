/* SPDX-License-Identifier: MIT */
/*
 * Collector perf_software: the kernel's own events of the process tree, without any hardware.
 */
#include <stdio.h>

#include "collect/collect.h"

static const uint16_t metrics[] = {RM_PERF_TASK_CLOCK,        RM_PERF_CONTEXT_SWITCHES,
                                   RM_PERF_MIGRATIONS,        RM_PERF_PAGE_FAULTS,
                                   RM_PERF_PAGE_FAULTS_MINOR, RM_PERF_PAGE_FAULTS_MAJOR};

static const char *const names[] = {"task-clock",  "context-switches", "migrations",
                                    "page-faults", "minor-faults",     "major-faults"};

/* In the order of the metrics. */
struct state {
    struct rm_counter_set set;
};

_Static_assert(RM_ARRAY_LEN(names) <= RM_FORMULA_EVENTS, "they are one set");

static resmon_status open_counters(struct rm_collect *collect, void *state_)
{
    struct state *state = state_;
    struct rm_perf_event events[RM_ARRAY_LEN(names)];
    for (size_t i = 0; i < RM_ARRAY_LEN(names); i++) {
        (void)rm_perf_event_generic(names[i], &events[i]);
    }
    resmon_status status = rm_counters_open(collect);
    if (status == RESMON_OK) {
        status = rm_counter_set_open(collect, &state->set, "software", events, RM_ARRAY_LEN(names));
    }
    if (status == RESMON_OK) {
        rm_counter_set_remark(collect, &state->set);
        status = rm_counter_set_check(&state->set);
    }
    return status;
}

static resmon_status read_counters(struct rm_collect *collect, void *state_, double *values)
{
    struct state *state = state_;
    (void)collect;
    rm_counter_set_read(&state->set);
    for (size_t i = 0; i < RM_ARRAY_LEN(names); i++) {
        values[i] = rm_counter_total(&state->set.counters[i]);
    }
    values[0] /= (double)RM_NS_PER_S;
    return RESMON_OK;
}

static void close_counters(void *state)
{
    rm_counter_set_close(&((struct state *)state)->set);
}

const struct rm_collector rm_collect_perf_software = {
    .name = "perf_software",
    .domain = RM_DOMAIN_COUNTERS,
    .needs_flag = RM_FLAG_COUNTERS(RM_COUNTERS_DEFAULT),
    RM_METRICS(metrics),
    .state_bytes = sizeof(struct state),
    .open = open_counters,
    .read = read_counters,
    .close = close_counters,
};
