/* SPDX-License-Identifier: MIT */
/*
 * Collectors energy_cpu and energy_ram: energy of the machine's processors and memory.
 * Measured: the sum of the package counters, and of the dram counters, if these count.  Else a
 * model, which the remark names.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "carbon/power.h"
#include "collect/collect.h"
#include "os/topology.h"

/* Reads the counters of a domain: their energy at `ret_ns`.  False: they are dead, and a model
 * replaces them. */
static bool read_counters(struct rm_collect *collect, enum rm_energy_domain domain,
                          double *ret_joules, int64_t *ret_ns, bool *ret_is_known)
{
    enum rm_zone_life life = rm_collect_read_zones(collect, domain);
    *ret_is_known = life == RM_ZONES_LIVE;
    if (life != RM_ZONES_DEAD && (*ret_is_known || *ret_ns == 0)) {
        *ret_joules = collect->zones.sums[domain];
        *ret_ns = collect->now_ns;
    }
    return life != RM_ZONES_DEAD;
}

static void turn_to_model(struct rm_collect *collect, enum rm_energy_domain domain,
                          const char *model)
{
    char text[sizeof collect->remark];
    rm_energy_zones_describe_model(&collect->zones, domain, model, text, sizeof text);
    rm_collect_remark(collect, text);
    collect->provenance = RESMON_PROVENANCE_MODELLED;
}

/* ---- collector energy_cpu ------------------------------------------------------------------- */

/*
 * The model is by load.  Its power comes from the machine's power limit, the virtual CPUs'
 * architecture, or the processor's name.
 */

static const uint16_t cpu_metrics[] = {RM_NODE_ENERGY_CPU};

/* Power per hardware thread of a processor that is in no table (codecarbon's value). */
#define UNKNOWN_W 4.0

struct cpu_state {
    bool is_measured; /* there are counters, and they are not dead */
    char model[128];
    double joules;                /* by the model */
    double busy_s, all_s;         /* CPU time of the machine at node_ns */
    double since_s, tree_since_s; /* CPU time of the machine and of the tree at the first reading */
    int64_t node_ns;
};

/* CPU time of the machine.  The kernel may not have added the last tick of each CPU yet: as far as
 * the tree's own clocks exceed the machine's CPU time, up to one tick per CPU is added. */
static double busy_seconds(const struct rm_collect *collect, const struct cpu_state *state)
{
    const struct rm_found *found = &collect->found;
    double tree_s = found->tree_ns != 0 ? found->tree_cpu_s - state->tree_since_s : 0.0;
    double missing_s = tree_s - (found->node_busy_s - state->since_s);
    double most_s = collect->tick_s * found->cpu_power.cpus;
    return found->node_busy_s + fmax(0.0, fmin(missing_s, most_s));
}

/* Begins with the first reading, or at the begin of the run, since when only the tree's CPU time is
 * known. */
static void begin_cpu_model(const struct rm_collect *collect, struct cpu_state *state)
{
    const struct rm_found *found = &collect->found;
    state->since_s = state->busy_s = rm_collect_busy_at_begin(collect);
    state->all_s = found->node_all_s;
    state->tree_since_s = found->tree_ns != 0 ? found->tree_cpu_s : 0.0;
    if (collect->begin != NULL) {
        state->tree_since_s = found->tree_ns != 0 ? rm_begin_cpu_s(collect->begin) : 0.0;
        state->node_ns = collect->begin->at_ns;
        state->all_s = -1.0; /* not equal to node_all_s, so that the first interval counts */
    }
}

/* Advances by the time between two readings of the machine's CPU time.  CPU seconds are used, not a
 * load, which would include the rounding of all CPUs' ticks. */
static double advance_cpu_model(struct rm_collect *collect, struct cpu_state *state)
{
    struct rm_found *found = &collect->found;
    if (found->node_ns == 0 || found->node_ns == state->node_ns) {
        return state->node_ns != 0 ? state->joules : RM_NAN;
    }
    if (state->node_ns == 0) {
        begin_cpu_model(collect, state);
    }
    double now_s = busy_seconds(collect, state);
    double elapsed_s = (double)(found->node_ns - state->node_ns) * 1e-9;
    if (state->node_ns != 0 && found->node_all_s <= state->all_s &&
        elapsed_s > 2.0 * collect->tick_s) {
        return state->joules; /* no tick for over two tick lengths: nothing is known */
    }
    if (state->node_ns != 0) {
        const struct rm_found_power *power = &found->cpu_power;
        double busy_s = fmax(now_s - state->busy_s, 0.0);
        state->joules += power->watts.idle * elapsed_s +
                         (power->watts.full - power->watts.idle) / power->cpus * busy_s;
    }
    state->node_ns = found->node_ns;
    state->busy_s = found->busy_s = now_s;
    state->all_s = found->node_all_s;
    return state->joules;
}

static resmon_status read_cpu_model(struct rm_collect *collect, struct cpu_state *state,
                                    double joules, double *ret_joules)
{
    struct rm_found *found = &collect->found;
    if (found->node_ns == 0 && state->node_ns == 0) {
        return rm_error(RESMON_ENOENT, "the model of the processors needs the domain cpu, for "
                                       "their load");
    }
    /* CPU time may be read less often than samples are taken.  A total without change would be
     * shown as a power of 0. */
    bool is_new = state->node_ns != found->cpu_j_ns;
    found->cpu_j = joules;
    found->cpu_j_ns = state->node_ns;
    found->is_cpu_known = true;
    *ret_joules = is_new ? joules : RM_NAN;
    return RESMON_OK;
}

static resmon_status read_cpu(struct rm_collect *collect, void *state_, double *values)
{
    struct cpu_state *state = state_;
    struct rm_found *found = &collect->found;
    double joules = advance_cpu_model(collect, state); /* in case the counters are dead */
    resmon_status status = RESMON_OK;
    if (state->is_measured && !read_counters(collect, RM_ZONE_PACKAGE, &found->cpu_j,
                                             &found->cpu_j_ns, &found->is_cpu_known)) {
        turn_to_model(collect, RM_ZONE_PACKAGE, state->model);
        state->is_measured = false;
    }
    if (state->is_measured) {
        values[0] = found->is_cpu_known ? found->cpu_j : RM_NAN;
    } else {
        status = read_cpu_model(collect, state, joules, &values[0]);
    }
    found->is_cpu_measured = state->is_measured;
    values[0] = rm_collect_of_host(collect, values[0]);
    return status;
}

/* ---- choosing a model ------------------------------------------------------------------- */

static bool choose_vcpus(struct rm_found_power *power, const struct rm_cpu_model *model, char *text,
                         size_t capacity)
{
    const char *kind = rm_cpu_microarchitecture(&model->kind);
    struct rm_cpu_power each;
    double count = power->cpus;
    if (!model->is_virtual || kind == NULL || !rm_vcpu_power_find(kind, model->provider, &each)) {
        return false;
    }
    power->watts = (struct rm_cpu_power){each.idle * count, each.full * count};
    (void)snprintf(text, capacity, "a model: %.0f virtual CPUs of %s, %.2f to %.2f W each by load",
                   count, kind, each.idle, each.full);
    return true;
}

/* Total power limit (W) of all processors, by option or powercap; 0: not known. */
static double choose_tdp(struct rm_collect *collect, char *text, size_t capacity)
{
    double tdp_w = 0.0;
    if (collect->cpu_watts > 0.0) {
        tdp_w = collect->cpu_watts;
        (void)snprintf(text, capacity, "a model: %.4g W by load, as was given", tdp_w);
    } else if (collect->zones.power_limit_w > 0.0) {
        tdp_w = collect->zones.power_limit_w;
        (void)snprintf(text, capacity, "a model: the packages' power limit of %.4g W by load",
                       tdp_w);
    }
    return tdp_w;
}

static double choose_tdp_by_name(struct rm_collect *collect, const struct rm_cpu_model *model,
                                 double count, char *text, size_t capacity)
{
    char name[RM_CPU_NAME_BYTES];
    double tdp_w = rm_cpu_tdp(model->name, name);
    if (tdp_w > 0.0) {
        struct rm_topology topology;
        rm_topology_read(&topology, &collect->root, &collect->scratch);
        unsigned sockets = topology.sockets >= 1.0 ? (unsigned)topology.sockets : 1;
        (void)snprintf(text, capacity, "a model: %u x %.50s, %.4g W each by load", sockets, name,
                       tdp_w);
        return tdp_w * sockets;
    }
    (void)snprintf(text, capacity, "a rough model: an unknown processor, %.0f x %.0f W by load",
                   count, UNKNOWN_W);
    return UNKNOWN_W * count;
}

static void choose_cpu_model(struct rm_collect *collect, char *text, size_t capacity)
{
    struct rm_found_power *power = &collect->found.cpu_power;
    power->cpus = collect->capacity.host_cpus > 0.0 ? collect->capacity.host_cpus : 1.0;
    double tdp_w = choose_tdp(collect, text, capacity);
    if (!(tdp_w > 0.0)) {
        if (choose_vcpus(power, &collect->cpu, text, capacity)) {
            return;
        }
        tdp_w = choose_tdp_by_name(collect, &collect->cpu, power->cpus, text, capacity);
    }
    power->watts = rm_cpu_power_of_tdp(tdp_w);
}

static resmon_status open_cpu(struct rm_collect *collect, void *state_)
{
    struct cpu_state *state = state_;
    resmon_status status = rm_collect_open_zones(collect);
    if (status != RESMON_OK) {
        return status;
    }
    choose_cpu_model(collect, state->model, sizeof state->model);
    state->is_measured = rm_energy_zones_measure(&collect->zones, RM_ZONE_PACKAGE);
    if (state->is_measured) {
        return RESMON_OK; /* the model gives the idle power */
    }
    collect->provenance = RESMON_PROVENANCE_MODELLED;
    rm_collect_remark(collect, state->model);
    return RESMON_OK;
}

const struct rm_collector rm_collect_energy_cpu = {
    .name = "energy_cpu",
    .domain = RESMON_DOMAIN_ENERGY,
    .after = RM_AFTER("node_cpu", "tree"),
    RM_METRICS(cpu_metrics),
    .state_bytes = sizeof(struct cpu_state),
    .open = open_cpu,
    .read = read_cpu,
};

/* ---- collector energy_ram ------------------------------------------------------------------- */

/*
 * The model is by the number of modules, from EDAC or estimated from the size.
 */

static const uint16_t ram_metrics[] = {RM_NODE_ENERGY_RAM};

#define GIB 1073741824.0

struct ram_state {
    bool is_measured; /* there are counters, and they are not dead */
    char model[128];
    double watts;
    int64_t first_ns;
};

static resmon_status choose_ram_model(struct rm_collect *collect, struct ram_state *state)
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

static resmon_status read_ram(struct rm_collect *collect, void *state_, double *values)
{
    struct ram_state *state = state_;
    struct rm_found *found = &collect->found;
    if (state->first_ns == 0) {
        state->first_ns = collect->begin != NULL ? collect->begin->at_ns : collect->now_ns;
    }
    if (state->is_measured && !read_counters(collect, RM_ZONE_DRAM, &found->ram_j, &found->ram_j_ns,
                                             &found->is_ram_known)) {
        resmon_status status = choose_ram_model(collect, state);
        if (status != RESMON_OK) {
            return status;
        }
        turn_to_model(collect, RM_ZONE_DRAM, state->model);
        state->is_measured = false;
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
    struct ram_state *state = state_;
    resmon_status status = rm_collect_open_zones(collect);
    if (status != RESMON_OK) {
        return status;
    }
    state->is_measured = rm_energy_zones_measure(&collect->zones, RM_ZONE_DRAM);
    if (state->is_measured) {
        return RESMON_OK;
    }
    collect->provenance = RESMON_PROVENANCE_MODELLED;
    status = choose_ram_model(collect, state);
    if (status == RESMON_OK) {
        rm_collect_remark(collect, state->model);
    }
    return status;
}

const struct rm_collector rm_collect_energy_ram = {
    .name = "energy_ram",
    .domain = RESMON_DOMAIN_ENERGY,
    RM_METRICS(ram_metrics),
    .state_bytes = sizeof(struct ram_state),
    .open = open_ram,
    .read = read_ram,
};
