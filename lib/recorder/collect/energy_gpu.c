/* SPDX-License-Identifier: MIT */
/*
 * Collector energy_gpu: energy of the machine's GPUs, by their counters, else as power over time;
 * and what of it the process and its descendants bear (see gpu_share.h): as their share of the
 * power at each sample since it was read before, which collector gpu adds up.
 */
#include <stdio.h>

#include "base/alloc.h"
#include "collect/collect.h"
#include "collect/delta.h"
#include "collect/gpu_share.h"

enum { NODE, TREE };

static const uint16_t metrics[] = {[NODE] = RM_NODE_ENERGY_GPU, [TREE] = RM_TREE_ENERGY_GPU};

/* No board draws as much. */
#define LIMIT_W 5000.0

/* Nor this in its life: what is said instead of a count. */
#define MOST_J 1e15

struct gpu {
    struct rm_energy_counter counter;
    double power_w; /* at power_ns */
    int64_t power_ns;
    double joules, tree_j; /* NaN: not known */
};

struct state {
    const struct rm_collect_gpus *gpus;
    struct gpu *each;
};

/* In mJ, as NVML counts, which a double holds exactly for longer than GPUs live. */
static void take_count(struct gpu *gpu, double total_j, int64_t t_ns)
{
    (void)rm_energy_take(&gpu->counter, (uint64_t)(total_j * 1e3 + 0.5), t_ns);
    gpu->joules = gpu->counter.joules;
}

/* Trapezoids between readings; nothing over a gap. */
static void take_power(struct gpu *gpu, double power_w, int64_t t_ns)
{
    double sum = isnan(gpu->joules) ? 0.0 : gpu->joules;
    if (isnan(power_w)) {
        return;
    }
    if (gpu->power_ns != 0) {
        sum += (gpu->power_w + power_w) / 2.0 * (double)(t_ns - gpu->power_ns) * 1e-9;
    }
    gpu->joules = sum;
    gpu->power_w = power_w;
    gpu->power_ns = t_ns;
}

/* Of what was drawn since it was read before: by the power at each sample meanwhile, else by now.
 */
static double share_since(struct rm_collect *collect, const struct rm_gpu_reading *reading,
                          struct rm_gpu_part *part)
{
    double share =
        part->all_j > 0.0 ? part->tree_j / part->all_j : rm_gpu_share_of(collect, reading).share;
    part->all_j = part->tree_j = 0.0;
    return share;
}

static void read_gpu(struct rm_collect *collect, struct gpu *gpu,
                     const struct rm_gpu_reading *reading, struct rm_gpu_part *part)
{
    double before = isnan(gpu->joules) ? 0.0 : gpu->joules;
    double total_j = reading->figures[RM_NVML_ENERGY];
    if (!gpu->counter.has_last && isnan(gpu->joules)) {
        part->all_j = part->tree_j = 0.0; /* of before the first reading */
    }
    if (reading->is_lost) {
        (void)rm_energy_miss(&gpu->counter);
        gpu->power_ns = 0;
        return;
    }
    if (total_j < MOST_J) {
        take_count(gpu, total_j, reading->t_ns);
    } else if (!gpu->counter.has_last) {
        take_power(gpu, reading->figures[RM_NVML_POWER], reading->t_ns);
    }
    if (gpu->joules > before) {
        double share = share_since(collect, reading, part);
        gpu->tree_j += (gpu->joules - before) * share; /* NaN for ever, once it is */
    }
}

static resmon_status read_gpus(struct rm_collect *collect, void *state_, double *values)
{
    struct state *state = state_;
    double node_j = 0.0;
    double tree_j = 0.0;
    size_t known = 0;
    bool has_any = false;
    resmon_status status = rm_collect_read_gpus(collect, RM_NVML_JOULES | RM_NVML_USE);
    if (status != RESMON_OK) {
        return status;
    }
    for (size_t i = 0; i < state->gpus->count; i++) {
        struct gpu *gpu = &state->each[i];
        if (state->gpus->infos[i].is_slice) {
            continue; /* its GPU has it */
        }
        read_gpu(collect, gpu, &state->gpus->readings[i], &collect->gpus.borne[i]);
        has_any = has_any || !state->gpus->readings[i].is_lost;
        if (!isnan(gpu->joules)) {
            node_j += gpu->joules;
            tree_j += gpu->tree_j;
            known++;
        }
    }
    values[NODE] = known > 0 ? rm_collect_of_host(collect, node_j) : RM_NAN;
    values[TREE] = known > 0 ? tree_j : RM_NAN;
    collect->found.gpu_tree_j = values[TREE];
    if (has_any) {
        collect->found.gpu_ns = isnan(values[TREE]) ? 0 : collect->now_ns;
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
    for (size_t i = 0; i < collect->gpus.count; i++) {
        state->each[i] = (struct gpu){
            .counter = {.unit_j = 1e-3,
                        .limit_w = LIMIT_W,
                        .begin_ns = collect->begin != NULL ? collect->begin->at_ns : 0},
            .joules = RM_NAN};
    }
    return RESMON_OK;
}

static void close_gpus(void *state)
{
    rm_free(((struct state *)state)->each);
}

const struct rm_collector rm_collect_energy_gpu = {
    .name = "energy_gpu",
    .domain = RESMON_DOMAIN_ENERGY,
    .min_interval_ns = 100 * RM_NS_PER_MS,
    .after = RM_AFTER("gpu"),
    RM_METRICS(metrics),
    .state_bytes = sizeof(struct state),
    .open = open_gpus,
    .read = read_gpus,
    .close = close_gpus,
};
