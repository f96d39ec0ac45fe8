/* SPDX-License-Identifier: MIT */
/*
 * Collector energy_ram: energy of the machine's memory.  Measured: the sum of the dram counters.
 * Else a model by the number of modules, which EDAC knows, or which is taken from the size.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "carbon/ram_power.h"
#include "collect/collect.h"
#include "collect/cpu_model.h"
#include "collect/memory_modules.h"

static const uint16_t metrics[] = {RM_NODE_ENERGY_RAM};

#define GIB 1073741824.0

struct state {
    bool is_measured;
    double watts;
    int64_t first_ns;
};

static resmon_status read_ram(struct rm_collect *collect, void *state_, double *values)
{
    struct state *state = state_;
    if (state->is_measured) {
        rm_energy_zones_read(&collect->zones, &collect->scratch, collect->now_ns,
                             rm_collect_moment(collect));
        collect->found.ram_j = collect->zones.sums[RM_ZONE_DRAM];
    } else {
        state->first_ns = state->first_ns != 0 ? state->first_ns : collect->now_ns;
        collect->found.ram_j = state->watts * (double)(collect->now_ns - state->first_ns) * 1e-9;
    }
    values[0] = rm_collect_of_host(collect, collect->found.ram_j);
    collect->found.ram_j_ns = collect->now_ns;
    return RESMON_OK;
}

static resmon_status choose_model(struct rm_collect *collect, struct state *state)
{
    struct rm_cpu_model cpu;
    char text[sizeof collect->remark];
    double gib = collect->capacity.host_bytes / GIB;
    if (collect->ram_watts >= 0.0) {
        state->watts = collect->ram_watts;
        (void)snprintf(text, sizeof text, "a model: %.4g W, as was given", state->watts);
        rm_collect_remark(collect, text);
        return RESMON_OK;
    }
    rm_cpu_model_read(&cpu, &collect->root, &collect->scratch);
    unsigned modules = rm_memory_modules(&collect->root, &collect->scratch);
    if (modules > 0) {
        state->watts = rm_ram_watts(modules, cpu.is_arm);
        (void)snprintf(text, sizeof text, "a model: %u modules (EDAC), %.4g W together", modules,
                       state->watts);
    } else if (gib > 0.0) {
        double installed = rm_ram_installed(gib);
        modules = rm_ram_modules(installed);
        state->watts = rm_ram_watts(modules, cpu.is_arm);
        (void)snprintf(text, sizeof text,
                       "a model: %.4g GiB, likely of %u modules, %.4g W together", installed,
                       modules, state->watts);
    } else {
        return rm_error(RESMON_ENOENT, "the size of the memory is not known");
    }
    rm_collect_remark(collect, text);
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
    return choose_model(collect, state);
}

const struct rm_collector rm_collect_energy_ram = {
    .name = "energy_ram",
    .domain = RESMON_DOMAIN_ENERGY,
    RM_METRICS(metrics),
    .state_bytes = sizeof(struct state),
    .open = open_ram,
    .read = read_ram,
};
