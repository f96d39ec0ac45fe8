/* SPDX-License-Identifier: MIT */
/*
 * Collector node_throttle: time in which processors are slowed by heat, as Intel's tell it.
 * /sys/devices/system/cpu/cpuN/thermal_throttle; of more than 64 CPUs, 64 are read.  Each CPU has
 * the time of its package; it grows when the package has cooled down.
 */
#include "base/alloc.h"
#include "collect/collect.h"
#include "collect/cpu_files.h"

static const uint16_t metrics[] = {RM_NODE_CPU_THROTTLED_TIME};

#define MILLI 1e-3

struct cpu {
    uint64_t last_ms;
    bool is_known; /* `last_ms` is of an earlier reading */
};

struct state {
    struct rm_cpu_files files;
    struct cpu *cpus; /* one for each file */
    double total_s;   /* since the monitor started, mean over CPUs */
};

static resmon_status open_throttle(struct rm_collect *collect, void *state_)
{
    struct state *state = state_;
    resmon_status status = rm_cpu_files_open(&state->files, &collect->root,
                                             "thermal_throttle/package_throttle_total_time_ms");
    if (status != RESMON_OK) {
        return status;
    }
    state->cpus = rm_alloc(state->files.count, sizeof *state->cpus);
    return state->cpus != NULL ? RESMON_OK
                               : rm_error(RESMON_ENOMEM, "out of memory for the files of CPUs");
}

/* What a CPU's time grew by. */
static double advance(struct cpu *cpu, uint64_t now_ms)
{
    double growth_ms =
        cpu->is_known && now_ms > cpu->last_ms ? (double)(now_ms - cpu->last_ms) : 0.0;
    *cpu = (struct cpu){now_ms, true};
    return MILLI * growth_ms;
}

static resmon_status read_throttle(struct rm_collect *collect, void *state_, double *values)
{
    struct state *state = state_;
    double sum_s = 0.0;
    size_t count = 0;
    for (size_t i = 0; i < state->files.count; i++) {
        uint64_t now_ms;
        if (rm_cpu_files_read(&state->files, i, &collect->scratch, &now_ms)) {
            sum_s += advance(&state->cpus[i], now_ms);
            count++;
        }
    }
    if (count == 0) {
        return rm_collect_garbled(&state->files.files[0]);
    }
    state->total_s += sum_s / (double)count;
    values[0] = state->total_s;
    return RESMON_OK;
}

static void close_throttle(void *state_)
{
    struct state *state = state_;
    rm_cpu_files_close(&state->files);
    rm_free(state->cpus);
}

const struct rm_collector rm_collect_node_throttle = {
    .name = "node_throttle",
    .domain = RESMON_DOMAIN_CPU,
    .min_interval_ns = RM_NS_PER_S,
    .comes_when_asked = true,
    RM_METRICS(metrics),
    .state_bytes = sizeof(struct state),
    .open = open_throttle,
    .read = read_throttle,
    .close = close_throttle,
};
