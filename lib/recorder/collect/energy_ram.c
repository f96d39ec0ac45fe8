/* SPDX-License-Identifier: MIT */
/*
 * Collector energy_ram: energy of the machine's memory.  Measured: the sum of the dram counters,
 * if they count.  Else a model by the number of modules, which EDAC knows, or which is taken from
 * the size.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "carbon/ram_power.h"
#include "collect/collect.h"
#include "collect/memory_modules.h"

static const uint16_t metrics[] = {RM_NODE_ENERGY_RAM};

#define GIB 1073741824.0

struct state {
    bool is_measured; /* there are counters that have not been found dead */
    char model[128];
    double watts;
    int64_t first_ns;
};

static resmon_status choose_model(struct rm_collect *collect, struct state *state)
{
    double gib = collect->capacity.host_bytes / GIB;
    if (collect->ram_watts >= 0.0) {
        state->watts = collect->ram_watts;
        (void)snprintf(state->model, sizeof state->model, "a model: %.4g W, as was given",
                       state->watts);
        return RESMON_OK;
    }
    unsigned modules = rm_memory_modules(&collect->root, &collect->scratch);
    if (modules > 0) {
        state->watts = rm_ram_watts(modules, collect->cpu.is_arm);
        (void)snprintf(state->model, sizeof state->model,
                       "a model: %u modules (EDAC), %.4g W together", modules, state->watts);
    } else if (gib > 0.0) {
        double installed = rm_ram_installed(gib);
        modules = rm_ram_modules(installed);
        state->watts = rm_ram_watts(modules, collect->cpu.is_arm);
        (void)snprintf(state->model, sizeof state->model,
                       "a model: %.4g GiB, likely of %u modules, %.4g W together", installed,
                       modules, state->watts);
    } else {
        return rm_error(RESMON_ENOENT, "the size of the memory is not known");
    }
    return RESMON_OK;
}

/* False: they do not count, and a model takes their place. */
static bool read_measured(struct rm_collect *collect)
{
    struct rm_found *found = &collect->found;
    enum rm_zone_life life = rm_collect_read_zones(collect, RM_ZONE_DRAM);
    found->is_ram_known = life == RM_ZONES_LIVE;
    if (life != RM_ZONES_DEAD && (found->is_ram_known || found->ram_j_ns == 0)) {
        found->ram_j = collect->zones.sums[RM_ZONE_DRAM];
        found->ram_j_ns = collect->now_ns;
    }
    return life != RM_ZONES_DEAD;
}

static resmon_status turn_to_model(struct rm_collect *collect, struct state *state)
{
    char text[sizeof collect->remark];
    resmon_status status = choose_model(collect, state);
    if (status == RESMON_OK) {
        rm_energy_zones_describe_model(&collect->zones, RM_ZONE_DRAM, state->model, text,
                                       sizeof text);
        rm_collect_remark(collect, text);
        state->is_measured = false;
        collect->provenance = RESMON_PROVENANCE_MODELLED;
    }
    return status;
}

static resmon_status read_ram(struct rm_collect *collect, void *state_, double *values)
{
    struct state *state = state_;
    struct rm_found *found = &collect->found;
    if (state->first_ns == 0) {
        state->first_ns = collect->begin != NULL ? collect->begin->at_ns : collect->now_ns;
    }
    if (state->is_measured && !read_measured(collect)) {
        resmon_status status = turn_to_model(collect, state);
        if (status != RESMON_OK) {
            return status;
        }
    }
    found->is_ram_measured = state->is_measured;
    if (!state->is_measured) {
        found->ram_j = state->watts * (double)(collect->now_ns - state->first_ns) * 1e-9;
        found->ram_j_ns = collect->now_ns;
        found->is_ram_known = true;
    }
    values[0] = found->is_ram_known ? rm_collect_of_host(collect, found->ram_j) : RM_NAN;
    return RESMON_OK;
}

static resmon_status open_ram(struct rm_collect *collect, void *state_)
{
    struct state *state = state_;
    resmon_status status = rm_collect_open_zones(collect);
    if (status != RESMON_OK) {
        return status;
    }
    state->is_measured = rm_energy_zones_measure(&collect->zones, RM_ZONE_DRAM);
    if (state->is_measured) {
        return RESMON_OK;
    }
    collect->provenance = RESMON_PROVENANCE_MODELLED;
    status = choose_model(collect, state);
    if (status == RESMON_OK) {
        rm_collect_remark(collect, state->model);
    }
    return status;
}

const struct rm_collector rm_collect_energy_ram = {
    .name = "energy_ram",
    .domain = RESMON_DOMAIN_ENERGY,
    RM_METRICS(metrics),
    .state_bytes = sizeof(struct state),
    .open = open_ram,
    .read = read_ram,
};
