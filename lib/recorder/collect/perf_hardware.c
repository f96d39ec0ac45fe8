/* SPDX-License-Identifier: MIT */
/*
 * Collector perf_hardware: the generic hardware events of the process tree, and what follows from
 * them.  What is compared is counted at the same time; a processor has at least as many counters.
 */
#include "collect/collect.h"

static const uint16_t metrics[] = {
    RM_PERF_CYCLES,
    RM_PERF_INSTRUCTIONS,
    RM_PERF_CACHE_REFERENCES,
    RM_PERF_CACHE_MISSES,
    RM_PERF_BRANCHES,
    RM_PERF_BRANCH_MISSES,
    RM_PERF_IPC,
    RM_PERF_CLOCK,
    RM_PERF_CACHE_MISS_RATIO,
    RM_PERF_BRANCH_MISS_RATIO,
};

#define SETS   3
#define EVENTS 3

static const struct {
    const char *name;
    size_t count;
    const char *events[EVENTS];
} sets[SETS] = {
    {"cycles", 3, {"cycles", "instructions", "task-clock"}},
    {"cache", 2, {"cache-references", "cache-misses"}},
    {"branches", 2, {"branches", "branch-misses"}},
};

struct state {
    struct rm_counter_set sets[SETS];
};

static resmon_status open_set(struct rm_collect *collect, struct rm_counter_set *set, size_t index)
{
    struct rm_perf_event events[EVENTS];
    for (size_t i = 0; i < sets[index].count; i++) {
        (void)rm_perf_event_generic(sets[index].events[i], &events[i]);
    }
    return rm_counter_set_open(collect, set, sets[index].name, events, sets[index].count);
}

/* Whether anything but the clock is counted. */
static resmon_status check(const struct state *state)
{
    for (size_t i = 0; i < SETS; i++) {
        if (state->sets[i].counters[0].status == RESMON_OK ||
            state->sets[i].counters[1].status == RESMON_OK) {
            return RESMON_OK;
        }
    }
    const struct rm_counter *first = &state->sets[0].counters[0];
    return rm_error(first->status, "%s", first->why);
}

static resmon_status open_counters(struct rm_collect *collect, void *state_)
{
    struct state *state = state_;
    resmon_status status = rm_counters_open(collect);
    for (size_t i = 0; i < SETS && status == RESMON_OK; i++) {
        status = open_set(collect, &state->sets[i], i);
    }
    if (status != RESMON_OK) {
        return status;
    }
    for (size_t i = 0; i < SETS; i++) {
        rm_counter_set_remark(collect, &state->sets[i]);
    }
    return check(state);
}

static resmon_status read_counters(struct rm_collect *collect, void *state_, double *values)
{
    static const char *const ratios[] = {"perf.ipc", "perf.clock", "perf.cache.miss_ratio",
                                         "perf.branch.miss_ratio"};
    static const size_t set_of[] = {0, 0, 1, 2};
    struct state *state = state_;
    for (size_t i = 0; i < SETS; i++) {
        rm_counter_set_read(&state->sets[i]);
        values[2 * i] = rm_counter_total(&state->sets[i].counters[0]);
        values[2 * i + 1] = rm_counter_total(&state->sets[i].counters[1]);
    }
    for (size_t i = 0; i < RM_ARRAY_LEN(ratios); i++) {
        const struct rm_counter_row *row = rm_counter_row_of(ratios[i], collect->counters.arch);
        values[2 * SETS + i] = rm_counter_set_evaluate(&state->sets[set_of[i]], row->formula, true);
    }
    if (collect->counters.skips_kernel) {
        values[2 * SETS + 1] = RM_NAN; /* the clock: CPU time has the kernel's in it */
    }
    return RESMON_OK;
}

static void close_counters(void *state_)
{
    struct state *state = state_;
    for (size_t i = 0; i < SETS; i++) {
        rm_counter_set_close(&state->sets[i]);
    }
}

const struct rm_collector rm_collect_perf_hardware = {
    .name = "perf_hardware",
    .domain = RM_DOMAIN_COUNTERS,
    .needs_flag = RM_FLAG_COUNTERS(RM_COUNTERS_DEFAULT),
    RM_METRICS(metrics),
    .state_bytes = sizeof(struct state),
    .open = open_counters,
    .read = read_counters,
    .close = close_counters,
};
