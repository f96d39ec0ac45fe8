/* SPDX-License-Identifier: MIT */
/*
 * Collectors gpu and gpu_totals: each NVIDIA GPU, and each slice of one (MIG), by NVML.  gpu has
 * what moves and what drivers have at hand; gpu_totals what they ask the GPU's firmware for, in
 * milliseconds: what was counted, which loses nothing by being read less often, and what hardly
 * changes.
 */
#include <stdio.h>

#include "base/alloc.h"
#include "collect/collect.h"
#include "collect/gpu_share.h"

/* What the process tree has of it stands last. */
enum {
    NOW_FIGURES = RM_NVML_FIRST_TOTAL,
    TREE_MEM = NOW_FIGURES,
    TOTALS_FIGURES = RM_NVML_POWER_NOW - RM_NVML_FIRST_TOTAL,
    TREE_SM = TOTALS_FIGURES
};

static const uint16_t now_metrics[] = {
    [RM_NVML_UTIL] = RM_GPU_UTIL,
    [RM_NVML_MEM_UTIL] = RM_GPU_MEM_UTIL,
    [RM_NVML_MEM_USED] = RM_GPU_MEM_USED,
    [RM_NVML_MEM_TOTAL] = RM_GPU_MEM_TOTAL,
    [RM_NVML_MEM_RESERVED] = RM_GPU_MEM_RESERVED,
    [RM_NVML_CLOCK_GRAPHICS] = RM_GPU_CLOCK_GRAPHICS,
    [RM_NVML_CLOCK_SM] = RM_GPU_CLOCK_SM,
    [RM_NVML_CLOCK_MEM] = RM_GPU_CLOCK_MEM,
    [RM_NVML_CLOCK_VIDEO] = RM_GPU_CLOCK_VIDEO,
    [RM_NVML_TEMP] = RM_GPU_TEMP,
    [RM_NVML_MEM_TEMP] = RM_GPU_MEM_TEMP,
    [RM_NVML_POWER] = RM_GPU_POWER,
    [RM_NVML_POWER_LIMIT] = RM_GPU_POWER_LIMIT,
    [RM_NVML_THROTTLE_REASONS] = RM_GPU_THROTTLE_REASONS,
    [RM_NVML_ENC] = RM_GPU_ENC,
    [RM_NVML_DEC] = RM_GPU_DEC,
    [RM_NVML_PCIE_SENT] = RM_GPU_PCIE_SENT,
    [RM_NVML_PCIE_RECV] = RM_GPU_PCIE_RECV,
    [RM_NVML_PROCESSES] = RM_GPU_PROCESSES,
    [TREE_MEM] = RM_GPU_TREE_MEM,
};

#define TOTAL(figure) ((figure)-RM_NVML_FIRST_TOTAL)

static const uint16_t totals_metrics[] = {
    [TOTAL(RM_NVML_BAR1_USED)] = RM_GPU_BAR1_USED,
    [TOTAL(RM_NVML_FAN)] = RM_GPU_FAN,
    [TOTAL(RM_NVML_ENERGY)] = RM_GPU_ENERGY,
    [TOTAL(RM_NVML_THROTTLE_ANY)] = RM_GPU_THROTTLE_ANY,
    [TOTAL(RM_NVML_THROTTLE_POWER)] = RM_GPU_THROTTLE_POWER,
    [TOTAL(RM_NVML_THROTTLE_SYNC_BOOST)] = RM_GPU_THROTTLE_SYNC_BOOST,
    [TOTAL(RM_NVML_THROTTLE_THERMAL_SW)] = RM_GPU_THROTTLE_THERMAL_SW,
    [TOTAL(RM_NVML_THROTTLE_THERMAL_HW)] = RM_GPU_THROTTLE_THERMAL_HW,
    [TOTAL(RM_NVML_THROTTLE_BRAKE)] = RM_GPU_THROTTLE_BRAKE,
    [TOTAL(RM_NVML_ECC_CORRECTED)] = RM_GPU_ECC_CORRECTED,
    [TOTAL(RM_NVML_ECC_UNCORRECTED)] = RM_GPU_ECC_UNCORRECTED,
    [TREE_SM] = RM_GPU_TREE_SM,
};

/* Of PCIe: "value can be wrapped", says nvml.h, and not at what; those seen have 32 bits, so that
 * of more than 4.3 GB between two readings whole multiples are not seen.  Hence not of gpu_totals.
 */
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

static void remark_loss(struct rm_collect *collect, const struct state *state, size_t index)
{
    const struct rm_gpu_reading *reading = &state->gpus->readings[index];
    char text[sizeof collect->remark];
    if (reading->is_lost) {
        (void)snprintf(text, sizeof text,
                       reading->is_closed ? "GPU %s: the program closed the descriptors of NVML"
                                          : "GPU %s was lost; libresmon looks for it every 10 s",
                       state->gpus->infos[index].instance);
        rm_collect_remark(collect, text);
    }
}

/* What the process tree bears of a GPU's power; 0 where it is not known, as of slices, which are
 * part of their GPU's. */
static double bear_power(const struct rm_gpu_reading *reading, double share,
                         struct rm_gpu_part *part)
{
    double mean = reading->figures[RM_NVML_POWER]; /* of a second, on many */
    double now = reading->figures[RM_NVML_POWER_NOW];
    double watts = isnan(now) ? mean : now;
    double elapsed_s = part->t_ns != 0 ? (double)(reading->t_ns - part->t_ns) * 1e-9 : 0.0;
    part->t_ns = reading->t_ns;
    if (isnan(watts * share)) {
        return 0.0;
    }
    part->all_j += watts * elapsed_s;
    part->tree_j += watts * share * elapsed_s;
    return watts * share;
}

static resmon_status read_now(struct rm_collect *collect, void *state_, double *values)
{
    struct state *state = state_;
    double tree_w = 0.0;
    resmon_status status = rm_collect_read_gpus(collect, RM_NVML_NOW);
    for (size_t i = 0; i < state->gpus->count && status == RESMON_OK; i++) {
        const struct rm_gpu_reading *reading = &state->gpus->readings[i];
        const struct rm_gpu_share share = rm_gpu_share_of(collect, reading);
        for (int k = 0; k < NOW_FIGURES; k++) {
            values[k] = reading->figures[k];
        }
        for (size_t way = 0; way < 2; way++) {
            double *bytes = &values[RM_NVML_PCIE_SENT + way];
            *bytes = unwrapped(&state->each[i], way, *bytes);
        }
        state->each[i].has_last = true;
        values[TREE_MEM] = share.bytes;
        values += RM_ARRAY_LEN(now_metrics);
        tree_w += bear_power(reading, share.share, &collect->gpus.borne[i]);
        remark_loss(collect, state, i);
    }
    if (status == RESMON_OK) {
        collect->found.gpu_w = tree_w;
    }
    return status;
}

static resmon_status read_totals(struct rm_collect *collect, void *state_, double *values)
{
    const struct state *state = state_;
    resmon_status status = rm_collect_read_gpus(collect, RM_NVML_TOTALS | RM_NVML_USE);
    for (size_t i = 0; i < state->gpus->count && status == RESMON_OK; i++) {
        const struct rm_gpu_reading *reading = &state->gpus->readings[i];
        for (int k = 0; k < TOTALS_FIGURES; k++) {
            values[k] = reading->figures[RM_NVML_FIRST_TOTAL + k];
        }
        double *joules = &values[TOTAL(RM_NVML_ENERGY)];
        *joules = rm_collect_of_host(collect, *joules);
        values[TREE_SM] = rm_gpu_share_of(collect, reading).sm;
        values += RM_ARRAY_LEN(totals_metrics);
        remark_loss(collect, state, i);
    }
    return status;
}

static resmon_status open_gpus(struct rm_collect *collect, void *state_)
{
    struct state *state = state_;
    state->gpus = &collect->gpus;
    return rm_collect_each_gpu(collect, sizeof *state->each, &state->each);
}

static resmon_status open_now(struct rm_collect *collect, void *state)
{
    resmon_status status = open_gpus(collect, state);
    if (status == RESMON_OK && !collect->gpus.has_host_pids) {
        rm_collect_remark(collect, "NVML lists processes by host pids, which this container does "
                                   "not know: the program's GPU shares are unknown");
    }
    return status;
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
    RM_METRICS(now_metrics),
    .state_bytes = sizeof(struct state),
    .open = open_now,
    .read = read_now,
    .close = close_gpus,
    .instances = count_gpus,
    .instance_name = name_of_gpu,
};

const struct rm_collector rm_collect_gpu_totals = {
    .name = "gpu_totals",
    .domain = RESMON_DOMAIN_GPU,
    .min_interval_ns = 100 * RM_NS_PER_MS,
    .own_interval_ns = RM_NS_PER_S,
    RM_METRICS(totals_metrics),
    .state_bytes = sizeof(struct state),
    .open = open_gpus,
    .read = read_totals,
    .close = close_gpus,
    .instances = count_gpus,
    .instance_name = name_of_gpu,
};
