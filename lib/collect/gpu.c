/* SPDX-License-Identifier: MIT */
/*
 * Collector gpu: each NVIDIA GPU, and each slice of one (MIG), by NVML.
 */
#include <stdio.h>

#include "base/alloc.h"
#include "collect/collect.h"
#include "collect/gpu_share.h"

enum { TREE_MEM = RM_NVML_FIGURES, TREE_SM, COLUMNS };

static const uint16_t metrics[COLUMNS] = {
    [RM_NVML_UTIL] = RM_GPU_UTIL,
    [RM_NVML_MEM_UTIL] = RM_GPU_MEM_UTIL,
    [RM_NVML_MEM_USED] = RM_GPU_MEM_USED,
    [RM_NVML_MEM_TOTAL] = RM_GPU_MEM_TOTAL,
    [RM_NVML_MEM_RESERVED] = RM_GPU_MEM_RESERVED,
    [RM_NVML_BAR1_USED] = RM_GPU_BAR1_USED,
    [RM_NVML_CLOCK_GRAPHICS] = RM_GPU_CLOCK_GRAPHICS,
    [RM_NVML_CLOCK_SM] = RM_GPU_CLOCK_SM,
    [RM_NVML_CLOCK_MEM] = RM_GPU_CLOCK_MEM,
    [RM_NVML_CLOCK_VIDEO] = RM_GPU_CLOCK_VIDEO,
    [RM_NVML_TEMP] = RM_GPU_TEMP,
    [RM_NVML_MEM_TEMP] = RM_GPU_MEM_TEMP,
    [RM_NVML_FAN] = RM_GPU_FAN,
    [RM_NVML_POWER] = RM_GPU_POWER,
    [RM_NVML_POWER_LIMIT] = RM_GPU_POWER_LIMIT,
    [RM_NVML_ENERGY] = RM_GPU_ENERGY,
    [RM_NVML_THROTTLE_ANY] = RM_GPU_THROTTLE_ANY,
    [RM_NVML_THROTTLE_POWER] = RM_GPU_THROTTLE_POWER,
    [RM_NVML_THROTTLE_SYNC_BOOST] = RM_GPU_THROTTLE_SYNC_BOOST,
    [RM_NVML_THROTTLE_THERMAL_SW] = RM_GPU_THROTTLE_THERMAL_SW,
    [RM_NVML_THROTTLE_THERMAL_HW] = RM_GPU_THROTTLE_THERMAL_HW,
    [RM_NVML_THROTTLE_BRAKE] = RM_GPU_THROTTLE_BRAKE,
    [RM_NVML_THROTTLE_REASONS] = RM_GPU_THROTTLE_REASONS,
    [RM_NVML_ECC_CORRECTED] = RM_GPU_ECC_CORRECTED,
    [RM_NVML_ECC_UNCORRECTED] = RM_GPU_ECC_UNCORRECTED,
    [RM_NVML_ENC] = RM_GPU_ENC,
    [RM_NVML_DEC] = RM_GPU_DEC,
    [RM_NVML_PCIE_SENT] = RM_GPU_PCIE_SENT,
    [RM_NVML_PCIE_RECV] = RM_GPU_PCIE_RECV,
    [RM_NVML_PROCESSES] = RM_GPU_PROCESSES,
    [TREE_MEM] = RM_GPU_TREE_MEM,
    [TREE_SM] = RM_GPU_TREE_SM,
};

/* Of PCIe: "value can be wrapped", says nvml.h, and not at what; those seen have 32 bits. */
#define PCIE_WRAP 4294967296.0

struct gpu {
    double last[2], total[2]; /* bytes sent and received */
    bool has_last;
};

struct state {
    const struct rm_collect_gpus *gpus;
    struct gpu *each;
};

static double unwrapped(struct gpu *gpu, size_t way, double now)
{
    if (isnan(now)) {
        return RM_NAN;
    }
    if (gpu->has_last && !isnan(gpu->last[way])) {
        double grown = now - gpu->last[way];
        grown += grown < 0.0 && gpu->last[way] < PCIE_WRAP ? PCIE_WRAP : 0.0;
        gpu->total[way] += grown > 0.0 ? grown : 0.0;
    }
    gpu->last[way] = now;
    return gpu->total[way];
}

static void read_gpu(struct rm_collect *collect, struct state *state, size_t index, double *values)
{
    const struct rm_gpu_reading *reading = &state->gpus->readings[index];
    const struct rm_gpu_share share = rm_gpu_share_of(collect, reading);
    struct gpu *gpu = &state->each[index];
    for (size_t i = 0; i < RM_NVML_FIGURES; i++) {
        values[i] = reading->figures[i];
    }
    values[RM_NVML_PCIE_SENT] = unwrapped(gpu, 0, reading->figures[RM_NVML_PCIE_SENT]);
    values[RM_NVML_PCIE_RECV] = unwrapped(gpu, 1, reading->figures[RM_NVML_PCIE_RECV]);
    gpu->has_last = true;
    values[RM_NVML_ENERGY] = rm_collect_of_host(collect, reading->figures[RM_NVML_ENERGY]);
    values[TREE_MEM] = share.bytes;
    values[TREE_SM] = share.sm;
    if (reading->is_lost) {
        char text[sizeof collect->remark];
        (void)snprintf(text, sizeof text,
                       reading->is_closed ? "GPU %s: the program closed the descriptors of NVML"
                                          : "GPU %s was lost; it is looked for every 10 s",
                       state->gpus->infos[index].instance);
        rm_collect_remark(collect, text);
    }
}

static resmon_status read_gpus(struct rm_collect *collect, void *state_, double *values)
{
    struct state *state = state_;
    if (!rm_collect_read_gpus(collect)) {
        return rm_error(RESMON_ETIMEDOUT, "the GPUs do not answer in time");
    }
    for (size_t i = 0; i < state->gpus->count; i++) {
        read_gpu(collect, state, i, values + i * COLUMNS);
    }
    return RESMON_OK;
}

static resmon_status open_gpus(struct rm_collect *collect, void *state_)
{
    struct state *state = state_;
    state->gpus = &collect->gpus;
    resmon_status status = rm_collect_each_gpu(collect, sizeof *state->each, &state->each);
    if (status != RESMON_OK) {
        return status;
    }
    if (!collect->gpus.has_host_pids) {
        rm_collect_remark(collect, "processes of GPUs have the host's pids, which mean nothing in "
                                   "this container: shares of it are not known");
    }
    return RESMON_OK;
}

static void close_gpus(void *state)
{
    rm_free(((struct state *)state)->each);
}

static size_t count_gpus(const void *state)
{
    return ((const struct state *)state)->gpus->count;
}

static const char *name_of_gpu(const void *state, size_t index)
{
    return ((const struct state *)state)->gpus->infos[index].instance;
}

const struct rm_collector rm_collect_gpu = {
    .name = "gpu",
    .domain = RESMON_DOMAIN_GPU,
    .min_interval_ns = 100 * RM_NS_PER_MS,
    RM_METRICS(metrics),
    .state_bytes = sizeof(struct state),
    .open = open_gpus,
    .read = read_gpus,
    .close = close_gpus,
    .instances = count_gpus,
    .instance_name = name_of_gpu,
};
