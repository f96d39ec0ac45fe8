/* SPDX-License-Identifier: MIT */
/*
 * Collector cgroup_cpu: CPU time, quota and throttling of the control group.  Version 2: cpu.stat;
 * version 1: cpuacct.usage, .usage_user, .usage_sys and the cpu controller's cpu.stat.
 */
#include "collect/collect.h"
#include "collect/delta.h"

enum { TIME, USER, SYSTEM, QUOTA, PERCENT, THROTTLED_TIME, THROTTLED, PERIODS };

static const uint16_t metrics[] = {
    [TIME] = RM_CG_CPU_TIME,           [USER] = RM_CG_CPU_USER,
    [SYSTEM] = RM_CG_CPU_SYSTEM,       [QUOTA] = RM_CG_CPU_QUOTA,
    [PERCENT] = RM_CG_CPU_PERCENT,     [THROTTLED_TIME] = RM_CG_CPU_THROTTLED_TIME,
    [THROTTLED] = RM_CG_CPU_THROTTLED, [PERIODS] = RM_CG_CPU_PERIODS,
};

static const struct rm_key v2_stat[] = {
    RM_KEY("usage_usec", TIME),        RM_KEY("user_usec", USER),
    RM_KEY("system_usec", SYSTEM),     RM_KEY("nr_periods", PERIODS),
    RM_KEY("nr_throttled", THROTTLED), RM_KEY("throttled_usec", THROTTLED_TIME),
};
static const struct rm_key v1_stat[] = {
    RM_KEY("nr_periods", PERIODS),
    RM_KEY("nr_throttled", THROTTLED),
    RM_KEY("throttled_time", THROTTLED_TIME),
};

/* Files of version 1; each of the first three holds one number. */
static const struct {
    const char *name;
    enum rm_cgroup_controller controller;
    unsigned slot;
} v1_files[] = {
    {"cpuacct.usage", RM_CGROUP_CPUACCT, TIME},
    {"cpuacct.usage_user", RM_CGROUP_CPUACCT, USER},
    {"cpuacct.usage_sys", RM_CGROUP_CPUACCT, SYSTEM},
};

#define V1_NUMBERS RM_ARRAY_LEN(v1_files)

struct state {
    int version;
    struct rm_file stat;
    struct rm_file numbers[V1_NUMBERS];
    struct rm_rate rate;
};

static resmon_status read_v1(struct rm_collect *collect, struct state *state, uint64_t *numbers,
                             uint64_t *found)
{
    struct rm_text text;
    for (size_t i = 0; i < V1_NUMBERS; i++) {
        if (!rm_file_is_open(&state->numbers[i])) {
            continue;
        }
        resmon_status status = rm_collect_read(collect, &state->numbers[i], &text);
        if (status != RESMON_OK) {
            return status;
        }
        if (!rm_parse_u64(&text, &numbers[v1_files[i].slot])) {
            return rm_collect_garbled(&state->numbers[i]);
        }
        *found |= UINT64_C(1) << v1_files[i].slot;
    }
    return RESMON_OK;
}

static resmon_status read_numbers(struct rm_collect *collect, struct state *state,
                                  uint64_t *numbers, uint64_t *found)
{
    struct rm_text text;
    bool is_v2 = state->version == 2;
    if (!is_v2) {
        resmon_status status = read_v1(collect, state, numbers, found);
        if (status != RESMON_OK || !rm_file_is_open(&state->stat)) {
            return status;
        }
    }
    resmon_status status = rm_collect_read(collect, &state->stat, &text);
    if (status == RESMON_OK) {
        *found |= rm_parse_keys(text, is_v2 ? v2_stat : v1_stat,
                                is_v2 ? RM_ARRAY_LEN(v2_stat) : RM_ARRAY_LEN(v1_stat), numbers);
    }
    return status;
}

static resmon_status read_cpu(struct rm_collect *collect, void *state_, double *values)
{
    struct state *state = state_;
    uint64_t numbers[RM_ARRAY_LEN(metrics)] = {0};
    uint64_t found = 0;
    resmon_status status = read_numbers(collect, state, numbers, &found);
    if (status != RESMON_OK) {
        return status;
    }
    double scale = state->version == 2 ? 1e-6 : 1e-9;
    values[TIME] = rm_found(found, numbers, TIME) * scale;
    values[USER] = rm_found(found, numbers, USER) * scale;
    values[SYSTEM] = rm_found(found, numbers, SYSTEM) * scale;
    values[THROTTLED_TIME] = rm_found(found, numbers, THROTTLED_TIME) * scale;
    values[THROTTLED] = rm_found(found, numbers, THROTTLED);
    values[PERIODS] = rm_found(found, numbers, PERIODS);
    values[QUOTA] = collect->capacity.cgroup_cpus;
    double cpus = rm_rate_take(&state->rate, values[TIME], rm_collect_moment(collect));
    values[PERCENT] = 100.0 * cpus / collect->capacity.cgroup_cpus;
    return RESMON_OK;
}

static resmon_status open_cpu(struct rm_collect *collect, void *state_)
{
    struct state *state = state_;
    state->version = collect->cgroup.places[RM_CGROUP_CPUACCT].version;
    if (state->version == 0) {
        return rm_error(RESMON_ENOENT, "no cpu controller is mounted");
    }
    if (isnan(collect->capacity.cgroup_cpus)) {
        rm_collect_remark(collect, "no quota is set: cg.cpu.quota and cg.cpu.percent are absent");
    }
    resmon_status status = rm_collect_open_cgroup(collect, &state->stat, RM_CGROUP_CPU, "cpu.stat");
    if (state->version == 2) {
        return status;
    }
    for (size_t i = 0; i < V1_NUMBERS; i++) {
        status = rm_collect_open_cgroup(collect, &state->numbers[i], v1_files[i].controller,
                                        v1_files[i].name);
        if (status != RESMON_OK && v1_files[i].slot == TIME) {
            return status;
        }
    }
    return RESMON_OK;
}

static void close_cpu(void *state_)
{
    struct state *state = state_;
    rm_file_close(&state->stat);
    for (size_t i = 0; i < V1_NUMBERS; i++) {
        rm_file_close(&state->numbers[i]);
    }
}

const struct rm_collector rm_collect_cgroup_cpu = {
    .name = "cgroup_cpu",
    .domain = RESMON_DOMAIN_CGROUP,
    .own_interval_ns = RM_NS_PER_S,
    RM_METRICS(metrics),
    .state_bytes = sizeof(struct state),
    .open = open_cpu,
    .read = read_cpu,
    .close = close_cpu,
};
