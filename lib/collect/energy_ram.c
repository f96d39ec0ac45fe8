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
#include "sys/dir.h"

static const uint16_t metrics[] = {RM_NODE_ENERGY_RAM};

#define EDAC "sys/devices/system/edac/mc"
#define GIB  1073741824.0

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
        values[0] = collect->zones.sums[RM_ZONE_DRAM];
    } else {
        state->first_ns = state->first_ns != 0 ? state->first_ns : collect->now_ns;
        values[0] = state->watts * (double)(collect->now_ns - state->first_ns) * 1e-9;
    }
    collect->found.ram_j = values[0];
    collect->found.ram_j_ns = collect->now_ns;
    return RESMON_OK;
}

/* ---- modules ---------------------------------------------------------------------------- */

/* "mc0/dimm3/size" in MiB; "rank3" is a part of a module. */
struct modules {
    const struct rm_collect *collect;
    struct rm_scratch *scratch;
    char controllers[16][16];
    size_t controller_count;
    unsigned numbers[256]; /* dimmN of the controller being listed */
    size_t number_count;
};

static bool keep_controller(void *context, const char *name)
{
    struct modules *modules = context;
    if (strncmp(name, "mc", 2) == 0 && strlen(name) < sizeof modules->controllers[0] &&
        modules->controller_count < RM_ARRAY_LEN(modules->controllers)) {
        (void)snprintf(modules->controllers[modules->controller_count++],
                       sizeof modules->controllers[0], "%.15s", name);
    }
    return true;
}

static bool keep_module(void *context, const char *name)
{
    struct modules *modules = context;
    struct rm_text text = rm_text_of(name, strlen(name));
    uint64_t number;
    if (rm_parse_literal(&text, "dimm") && rm_parse_u64(&text, &number) && number < 4096 &&
        modules->number_count < RM_ARRAY_LEN(modules->numbers)) {
        modules->numbers[modules->number_count++] = (unsigned)number;
    }
    return true;
}

static unsigned count_filled(struct modules *modules, const char *controller)
{
    unsigned filled = 0;
    for (size_t i = 0; i < modules->number_count; i++) {
        char path[96];
        uint64_t mib;
        (void)snprintf(path, sizeof path, EDAC "/%.15s/dimm%u/size", controller,
                       modules->numbers[i]);
        if (rm_file_read_u64(&modules->collect->root, path, modules->scratch, &mib) == RESMON_OK &&
            mib > 0) {
            filled++;
        }
    }
    return filled;
}

static unsigned count_modules(struct rm_collect *collect)
{
    struct modules modules = {.collect = collect, .scratch = &collect->scratch};
    unsigned count = 0;
    if (rm_dir_visit(&collect->root, EDAC, keep_controller, &modules) != RESMON_OK) {
        return 0;
    }
    for (size_t i = 0; i < modules.controller_count; i++) {
        char path[96];
        (void)snprintf(path, sizeof path, EDAC "/%.15s", modules.controllers[i]);
        modules.number_count = 0;
        if (rm_dir_visit(&collect->root, path, keep_module, &modules) == RESMON_OK) {
            count += count_filled(&modules, modules.controllers[i]);
        }
    }
    return count;
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
    unsigned modules = count_modules(collect);
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
    const struct rm_energy_zones *zones = rm_collect_zones(collect);
    if (zones == NULL) {
        return rm_error(RESMON_ENOMEM, "out of memory for energy counters");
    }
    for (size_t i = 0; i < zones->count; i++) {
        state->is_measured = state->is_measured || zones->zones[i].domain == RM_ZONE_DRAM;
    }
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
