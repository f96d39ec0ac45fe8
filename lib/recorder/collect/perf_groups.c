/* SPDX-License-Identifier: MIT */
/*
 * Collectors perf_flops, perf_l2, ...: what the process tree computes and moves, where the
 * processor counts it.  Their metrics are rows of counter/groups.def; a collector has those of one
 * choice of the option `counters`.
 */
#include "collect/collect.h"
#include "collect/counter_rows.h"

#define GROUP(name, ...)                                                       \
    static const uint16_t name[] = {__VA_ARGS__};                              \
    static resmon_status open_##name(struct rm_collect *collect, void *state)  \
    {                                                                          \
        return rm_counter_rows_open(collect, state, name, RM_ARRAY_LEN(name)); \
    }

#define COLLECTOR(group, flag)                                                                  \
    .name = "perf_" #group, .domain = RM_DOMAIN_COUNTERS, .needs_flag = RM_FLAG_COUNTERS(flag), \
    RM_METRICS(group), .state_bytes = sizeof(struct rm_counter_rows), .open = open_##group,     \
    .read = rm_counter_rows_read, .close = rm_counter_rows_close

/* Floating-point operations. */
GROUP(flops, RM_PERF_FLOPS_SP, RM_PERF_FLOPS_DP, RM_PERF_FLOPS_ANY, RM_PERF_VECTOR_RATIO)
const struct rm_collector rm_collect_perf_flops = {COLLECTOR(flops, RM_COUNTERS_FLOPS)};

/* What is moved between L1 and L2. */
GROUP(l2, RM_PERF_L2_BANDWIDTH)
const struct rm_collector rm_collect_perf_l2 = {COLLECTOR(l2, RM_COUNTERS_L2)};

/* What is asked of the L2, and how much of it misses. */
GROUP(l2cache, RM_PERF_L2_REQUEST_RATE, RM_PERF_L2_MISS_RATE, RM_PERF_L2_MISS_RATIO)
const struct rm_collector rm_collect_perf_l2cache = {COLLECTOR(l2cache, RM_COUNTERS_L2CACHE)};

/* What is moved between L2 and L3. */
GROUP(l3, RM_PERF_L3_BANDWIDTH)
const struct rm_collector rm_collect_perf_l3 = {COLLECTOR(l3, RM_COUNTERS_L3)};

/* What is asked of the L3, and how much of it misses. */
GROUP(l3cache, RM_PERF_L3_REQUEST_RATE, RM_PERF_L3_MISS_RATE, RM_PERF_L3_MISS_RATIO)
const struct rm_collector rm_collect_perf_l3cache = {COLLECTOR(l3cache, RM_COUNTERS_L3CACHE)};

/* What is read from memory, by a proxy. */
GROUP(memory, RM_PERF_MEM_READ_BANDWIDTH)
const struct rm_collector rm_collect_perf_memory = {COLLECTOR(memory, RM_COUNTERS_MEMORY)};
