/* SPDX-License-Identifier: MIT */
/*
 * Collector energy_cpu: energy of the machine's processors.  Measured: the sum of the packages.
 * Else a model by load, of what the machine says it may draw, of its virtual CPUs' architecture, or
 * of its processor's name; the remark says which.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "carbon/cpu_power.h"
#include "collect/collect.h"
#include "collect/cpu_model.h"

static const uint16_t metrics[] = {RM_NODE_ENERGY_CPU};

/* Of a processor that no table knows, for each of its threads (codecarbon's figure). */
#define UNKNOWN_W 4.0

struct state {
    bool is_measured;
    struct rm_vcpu_power vcpu; /* W of all virtual CPUs; full 0: by thermal design power */
    double tdp_w;
    double joules;
    double busy_s, all_s; /* of the machine at node_ns */
    int64_t node_ns;
};

static double model_watts(const struct state *state, double load)
{
    return state->vcpu.full > 0.0
               ? state->vcpu.idle + (state->vcpu.full - state->vcpu.idle) * fmin(load, 1.0)
               : rm_cpu_load_watts(state->tdp_w, load);
}

/* Over the time between two readings of the machine's CPU time. */
static double read_model(const struct rm_collect *collect, struct state *state)
{
    const struct rm_found *found = &collect->found;
    if (found->node_ns == 0 || found->node_ns == state->node_ns) {
        return state->node_ns != 0 ? state->joules : RM_NAN;
    }
    double all_s = found->node_all_s - state->all_s;
    if (state->node_ns != 0 && all_s > 0.0) {
        double elapsed_s = (double)(found->node_ns - state->node_ns) * 1e-9;
        state->joules +=
            model_watts(state, (found->node_busy_s - state->busy_s) / all_s) * elapsed_s;
    }
    if (state->node_ns == 0 || all_s > 0.0) {
        state->node_ns = found->node_ns;
        state->busy_s = found->node_busy_s;
        state->all_s = found->node_all_s;
    }
    return state->joules;
}

static resmon_status read_cpu(struct rm_collect *collect, void *state_, double *values)
{
    struct state *state = state_;
    bool is_new = true;
    if (state->is_measured) {
        rm_energy_zones_read(&collect->zones, &collect->scratch, collect->now_ns,
                             rm_collect_moment(collect));
        collect->found.cpu_j = collect->zones.sums[RM_ZONE_PACKAGE];
        collect->found.cpu_j_ns = collect->now_ns;
    } else if (collect->found.node_ns == 0 && state->node_ns == 0) {
        return rm_error(RESMON_ENOENT, "the model of the processors needs the domain cpu, for "
                                       "their load");
    } else {
        collect->found.cpu_j = read_model(collect, state);
        is_new = state->node_ns != collect->found.cpu_j_ns;
        collect->found.cpu_j_ns = state->node_ns;
    }
    /* CPU time is not looked at as often as samples may come: a total that stood still since would
     * pass for a power of 0. */
    values[0] = is_new ? rm_collect_of_host(collect, collect->found.cpu_j) : RM_NAN;
    return RESMON_OK;
}

/* ---- choosing a model ------------------------------------------------------------------- */

static bool choose_vcpus(struct rm_collect *collect, struct state *state,
                         const struct rm_cpu_model *model, char *text, size_t capacity)
{
    const char *kind = rm_cpu_microarchitecture(&model->kind);
    struct rm_vcpu_power each;
    double count = collect->capacity.host_cpus;
    if (!model->is_virtual || kind == NULL || !(count > 0.0) ||
        !rm_vcpu_power_find(kind, model->provider, &each)) {
        return false;
    }
    state->vcpu = (struct rm_vcpu_power){each.idle * count, each.full * count};
    (void)snprintf(text, capacity, "a model: %.0f virtual CPUs of %s, %.2f to %.2f W each by load",
                   count, kind, each.idle, each.full);
    return true;
}

static void choose_model(struct rm_collect *collect, struct state *state, char *text,
                         size_t capacity)
{
    struct rm_cpu_model model;
    char name[RM_CPU_NAME_BYTES];
    if (collect->cpu_watts > 0.0) {
        state->tdp_w = collect->cpu_watts;
        (void)snprintf(text, capacity, "a model: %.4g W by load, as was given", state->tdp_w);
        return;
    }
    if (collect->zones.power_limit_w > 0.0) {
        state->tdp_w = collect->zones.power_limit_w;
        (void)snprintf(text, capacity, "a model: the packages' power limit of %.4g W by load",
                       state->tdp_w);
        return;
    }
    rm_cpu_model_read(&model, &collect->root, &collect->scratch);
    if (choose_vcpus(collect, state, &model, text, capacity)) {
        return;
    }
    double tdp_w = rm_cpu_tdp(model.name, name);
    if (tdp_w > 0.0) {
        unsigned sockets = rm_cpu_count_sockets(&collect->root, &collect->scratch);
        state->tdp_w = tdp_w * sockets;
        (void)snprintf(text, capacity, "a model: %u x %.50s, %.4g W each by load", sockets, name,
                       tdp_w);
        return;
    }
    double count = collect->capacity.host_cpus > 0.0 ? collect->capacity.host_cpus : 1.0;
    state->tdp_w = UNKNOWN_W * count;
    (void)snprintf(text, capacity, "a rough model: an unknown processor, %.0f x %.0f W by load",
                   count, UNKNOWN_W);
}

static resmon_status open_cpu(struct rm_collect *collect, void *state_)
{
    struct state *state = state_;
    resmon_status status = rm_collect_open_zones(collect);
    char text[sizeof collect->remark];
    if (status != RESMON_OK) {
        return status;
    }
    state->is_measured = rm_energy_zones_measure(&collect->zones, RM_ZONE_PACKAGE);
    if (state->is_measured) {
        return RESMON_OK;
    }
    choose_model(collect, state, text, sizeof text);
    collect->provenance = RESMON_PROVENANCE_MODELLED;
    rm_collect_remark(collect, text);
    return RESMON_OK;
}

const struct rm_collector rm_collect_energy_cpu = {
    .name = "energy_cpu",
    .domain = RESMON_DOMAIN_ENERGY,
    RM_METRICS(metrics),
    .state_bytes = sizeof(struct state),
    .open = open_cpu,
    .read = read_cpu,
};
