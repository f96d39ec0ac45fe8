/* SPDX-License-Identifier: MIT */
/*
 * Collectors gpu, gpu_totals and energy_gpu: each NVIDIA GPU, and each slice of one (MIG), by NVML;
 * and the process tree's share of them. gpu has the metrics that change fast and that drivers have
 * at hand. gpu_totals has metrics that the driver requests from the GPU's firmware, which takes
 * milliseconds: totals, which lose nothing by being read less often, and values that rarely change.
 */
#include <stdio.h>

#include "base/alloc.h"
#include "collect/collect.h"
#include "collect/delta.h"
#include "os/proc_pid.h"

/* ---- the process tree's share --------------------------------------------------------------- */

/* Upper bound of a tree's depth: while /proc changes, parents may form a cycle. */
#define MOST_ANCESTORS 64

static int64_t parent_of(struct rm_collect *collect, int64_t pid)
{
    struct rm_pid_stat stat;
    resmon_status status =
        rm_collect_read_stat(&collect->root, &collect->scratch, (uint64_t)pid, &stat);
    return status == RESMON_OK ? (int64_t)stat.ppid : -1;
}

static bool is_in_tree(struct rm_collect *collect, int64_t pid)
{
    if (collect->is_group) {
        return pid > 0 && rm_members_has(&collect->members, (uint64_t)pid);
    }
    for (int i = 0; i < MOST_ANCESTORS && pid > 0; i++) {
        if (pid == collect->proc_pid) {
            return true;
        }
        pid = parent_of(collect, pid);
    }
    return false;
}

static double known(double value)
{
    return value > 0.0 ? value : 0.0;
}

/* Use by the tree, and by all processes. */
struct use {
    double tree_sm, all_sm, tree_bytes, all_bytes;
    size_t tree_count;
    bool has_sm, has_bytes;
};

static struct use sum_up(struct rm_collect *collect, const struct rm_gpu_reading *reading)
{
    struct use sums = {.has_bytes = true};
    if (collect->is_group) {
        (void)rm_collect_list_group(collect); /* on failure, the members found so far are used */
    }
    for (size_t i = 0; i < reading->process_count; i++) {
        const struct rm_gpu_process *process = &reading->processes[i];
        bool is_ours = is_in_tree(collect, process->pid);
        sums.tree_count += is_ours ? 1 : 0;
        sums.tree_sm += is_ours ? known(process->sm) : 0.0;
        sums.all_sm += known(process->sm);
        sums.tree_bytes += is_ours ? known(process->bytes) : 0.0;
        sums.all_bytes += known(process->bytes);
        sums.has_sm = sums.has_sm || !isnan(process->sm);
        sums.has_bytes = sums.has_bytes && (!isnan(process->bytes) || !isnan(process->sm));
    }
    return sums;
}

struct rm_gpu_share rm_gpu_share_of(struct rm_collect *collect,
                                    const struct rm_gpu_reading *reading)
{
    struct rm_gpu_share share = {RM_NAN, RM_NAN, RM_NAN};
    bool is_listed = reading->process_count > 0 || !isnan(reading->figures[RM_NVML_PROCESSES]);
    if (!collect->gpus.has_host_pids || !is_listed) {
        return share;
    }
    const struct use sums = sum_up(collect, reading);
    share.sm = sums.has_sm || reading->process_count == 0 ? sums.tree_sm : RM_NAN;
    share.bytes = sums.has_bytes ? sums.tree_bytes : RM_NAN;
    if (sums.tree_count == 0 || sums.tree_count == reading->process_count) {
        share.share = sums.tree_count > 0 ? 1.0 : 0.0;
    } else if (sums.all_sm > 0.0) {
        share.share = sums.tree_sm / sums.all_sm;
    } else if (sums.all_bytes > 0.0) {
        share.share = sums.tree_bytes / sums.all_bytes;
    } else {
        share.share = (double)sums.tree_count / (double)reading->process_count;
    }
    return share;
}

/* ---- collectors gpu and gpu_totals ---------------------------------------------------------- */

/* The process tree's columns are last. */
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

/* Modulus of the PCIe counters.  nvml.h does not document it; the observed counters have 32 bits.
 * More than 4.3 GB between two readings cannot be detected, so these are not in gpu_totals. */
#define PCIE_WRAP 4294967296.0

struct gpu_bytes {
    double last[2], total[2]; /* bytes sent and received */
    bool has_last;
};

struct gpu_state {
    const struct rm_collect_gpus *gpus;
    struct gpu_bytes *each;
};

static double unwrapped(struct gpu_bytes *gpu, size_t way, double now)
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

static void remark_loss(struct rm_collect *collect, const struct gpu_state *state, size_t index)
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

/* Adds the tree's share of a GPU's power.  Returns its power; 0: not known, or a slice, whose GPU
 * has it. */
static double bear_power(const struct rm_gpu_reading *reading, double share,
                         struct rm_gpu_part *part)
{
    double mean = reading->figures[RM_NVML_POWER]; /* mean over a second, on many GPUs */
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
    struct gpu_state *state = state_;
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
    const struct gpu_state *state = state_;
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
    struct gpu_state *state = state_;
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
    rm_free(((struct gpu_state *)state)->each);
}

static size_t count_gpus(const void *state)
{
    return ((const struct gpu_state *)state)->gpus->count;
}

static const char *name_of_gpu(const void *state, size_t index)
{
    return ((const struct gpu_state *)state)->gpus->infos[index].instance;
}

const struct rm_collector rm_collect_gpu = {
    .name = "gpu",
    .domain = RESMON_DOMAIN_GPU,
    .min_interval_ns = 100 * RM_NS_PER_MS,
    RM_METRICS(now_metrics),
    .state_bytes = sizeof(struct gpu_state),
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
    .state_bytes = sizeof(struct gpu_state),
    .open = open_gpus,
    .read = read_totals,
    .close = close_gpus,
    .instances = count_gpus,
    .instance_name = name_of_gpu,
};

/* ---- collector energy_gpu ------------------------------------------------------------------- */

/*
 * By the GPUs' energy counters, else power integrated over time.  The tree's share of the energy
 * since the last reading is its share of the power at each sample, which collector gpu
 * integrates.
 */

enum { NODE, TREE };

static const uint16_t energy_metrics[] = {[NODE] = RM_NODE_ENERGY_GPU, [TREE] = RM_TREE_ENERGY_GPU};

/* Upper bound of a board's power. */
#define LIMIT_W 5000.0

/* Upper bound of a board's lifetime energy: drivers return such values instead of a count. */
#define MOST_J 1e15

struct gpu_energy {
    struct rm_energy_counter counter;
    double power_w; /* at power_ns */
    int64_t power_ns;
    double joules, tree_j; /* NaN: not known */
};

struct energy_state {
    const struct rm_collect_gpus *gpus;
    struct gpu_energy *each;
};

/* The count is in mJ, as NVML has it: a double holds it exactly for longer than a GPU lives. */
static void take_count(struct gpu_energy *gpu, double total_j, int64_t t_ns)
{
    (void)rm_energy_take(&gpu->counter, (uint64_t)(total_j * 1e3 + 0.5), t_ns);
    gpu->joules = gpu->counter.joules;
}

/* Integrates power by trapezoids, except over a gap. */
static void take_power(struct gpu_energy *gpu, double power_w, int64_t t_ns)
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

/* The tree's share of the energy since the last reading: by the sampled power, else the current
 * share. */
static double share_since(struct rm_collect *collect, const struct rm_gpu_reading *reading,
                          struct rm_gpu_part *part)
{
    double share =
        part->all_j > 0.0 ? part->tree_j / part->all_j : rm_gpu_share_of(collect, reading).share;
    part->all_j = part->tree_j = 0.0;
    return share;
}

static void add_energy(struct rm_collect *collect, struct gpu_energy *gpu,
                       const struct rm_gpu_reading *reading, struct rm_gpu_part *part)
{
    double before = isnan(gpu->joules) ? 0.0 : gpu->joules;
    double total_j = reading->figures[RM_NVML_ENERGY];
    if (!gpu->counter.has_last && isnan(gpu->joules)) {
        part->all_j = part->tree_j = 0.0; /* discards the time before the first reading */
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
        gpu->tree_j += (gpu->joules - before) * share; /* stays NaN once it is NaN */
    }
}

static resmon_status read_energy(struct rm_collect *collect, void *state_, double *values)
{
    struct energy_state *state = state_;
    double node_j = 0.0;
    double tree_j = 0.0;
    size_t known = 0;
    bool has_any = false;
    resmon_status status = rm_collect_read_gpus(collect, RM_NVML_JOULES | RM_NVML_USE);
    if (status != RESMON_OK) {
        return status;
    }
    for (size_t i = 0; i < state->gpus->count; i++) {
        struct gpu_energy *gpu = &state->each[i];
        if (state->gpus->infos[i].is_slice) {
            continue; /* its GPU includes it */
        }
        add_energy(collect, gpu, &state->gpus->readings[i], &collect->gpus.borne[i]);
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

static resmon_status open_energy(struct rm_collect *collect, void *state_)
{
    struct energy_state *state = state_;
    state->gpus = &collect->gpus;
    resmon_status status = rm_collect_each_gpu(collect, sizeof *state->each, &state->each);
    if (status != RESMON_OK) {
        return status;
    }
    for (size_t i = 0; i < collect->gpus.count; i++) {
        state->each[i] = (struct gpu_energy){
            .counter = {.unit_j = 1e-3,
                        .limit_w = LIMIT_W,
                        .begin_ns = collect->begin != NULL ? collect->begin->at_ns : 0},
            .joules = RM_NAN};
    }
    return RESMON_OK;
}

static void close_energy(void *state)
{
    rm_free(((struct energy_state *)state)->each);
}

const struct rm_collector rm_collect_energy_gpu = {
    .name = "energy_gpu",
    .domain = RESMON_DOMAIN_ENERGY,
    .min_interval_ns = 100 * RM_NS_PER_MS,
    .after = RM_AFTER("gpu"),
    RM_METRICS(energy_metrics),
    .state_bytes = sizeof(struct energy_state),
    .open = open_energy,
    .read = read_energy,
    .close = close_energy,
};
