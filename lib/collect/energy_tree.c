/* SPDX-License-Identifier: MIT */
/*
 * Collector energy_tree: what of the machine's energy the process and its descendants bear.
 *
 * Of the processors, between two readings: the active part is energy times load, and the tree's
 * share of it is its CPU time over all CPU time in use (as Kepler has it); the idle part is divided
 * by the policy of the run.  Of the memory: as its rss of all memory.
 */
#include <math.h>

#include "collect/collect.h"

enum { CPU, RAM };

static const uint16_t metrics[] = {[CPU] = RM_TREE_ENERGY_CPU, [RAM] = RM_TREE_ENERGY_RAM};

struct state {
    struct {
        struct rm_found last; /* at the last division */
        bool has_last;
        double share; /* J so far */
    } parts[RM_ARRAY_LEN(metrics)];
};

static double limited(double share)
{
    return share > 1.0 ? 1.0 : share > 0.0 ? share : 0.0;
}

/* All that a division needs is newer than at the last one. */
static bool is_new_cpu(const struct rm_found *now, const struct rm_found *last)
{
    return now->node_ns > last->node_ns && now->tree_ns > last->tree_ns &&
           now->cpu_j_ns > last->cpu_j_ns;
}

static bool is_new_ram(const struct rm_found *now, const struct rm_found *last)
{
    return now->tree_ns > last->tree_ns && now->ram_j_ns > last->ram_j_ns;
}

static double idle_share(const struct rm_collect *collect, double of_active)
{
    if ((collect->flags & RESMON_FLAG_IDLE_NONE) != 0) {
        return 0.0;
    }
    if ((collect->flags & RESMON_FLAG_IDLE_ALLOCATED) != 0) {
        return limited(collect->capacity.affinity_cpus / collect->capacity.host_cpus);
    }
    return of_active;
}

static double cpu_share(const struct rm_collect *collect, const struct rm_found *last)
{
    const struct rm_found *now = &collect->found;
    double busy_s = now->node_busy_s - last->node_busy_s;
    double all_s = now->node_all_s - last->node_all_s;
    double energy_j = fmax(now->cpu_j - last->cpu_j, 0.0);
    double load = all_s > 0.0 ? limited(busy_s / all_s) : 0.0;
    double share = busy_s > 0.0 ? limited((now->tree_cpu_s - last->tree_cpu_s) / busy_s) : 0.0;
    return energy_j * (load * share + (1.0 - load) * idle_share(collect, share));
}

static double ram_share(const struct rm_collect *collect, const struct rm_found *last)
{
    const struct rm_found *now = &collect->found;
    double energy_j = fmax(now->ram_j - last->ram_j, 0.0);
    double mean_rss = (now->tree_rss + last->tree_rss) / 2.0;
    return energy_j * limited(mean_rss / collect->capacity.host_bytes);
}

static const struct {
    bool (*is_new)(const struct rm_found *now, const struct rm_found *last);
    double (*share)(const struct rm_collect *collect, const struct rm_found *last);
} divisions[] = {[CPU] = {is_new_cpu, cpu_share}, [RAM] = {is_new_ram, ram_share}};

/* When energy was divided last: of the processors, which go by CPU time of that moment, and where
 * theirs is not known, of what is. */
static int64_t divided_ns(const struct rm_collect *collect, const struct state *state,
                          const double *values)
{
    if (!isnan(values[CPU])) {
        return state->parts[CPU].last.tree_ns;
    }
    if (!isnan(collect->found.gpu_tree_j)) {
        return collect->now_ns;
    }
    return isnan(values[RAM]) ? 0 : state->parts[RAM].last.tree_ns;
}

static resmon_status read_shares(struct rm_collect *collect, void *state_, double *values)
{
    struct state *state = state_;
    struct rm_found *found = &collect->found;
    const double whole[] = {[CPU] = found->cpu_j, [RAM] = found->ram_j};
    bool is_divided[RM_ARRAY_LEN(divisions)];
    if (found->node_ns == 0 || found->tree_ns == 0) {
        found->shared = (struct rm_shared_energy){isnan(found->gpu_tree_j) ? 0 : collect->now_ns,
                                                  RM_NAN, RM_NAN, found->gpu_tree_j, 0.0};
        return rm_error(RESMON_ENOENT, "the shares need the domains tree and cpu beside energy");
    }
    for (size_t i = 0; i < RM_ARRAY_LEN(divisions); i++) {
        bool is_first = !state->parts[i].has_last;
        bool is_new = !is_first && divisions[i].is_new(found, &state->parts[i].last);
        if (is_new) {
            double share = divisions[i].share(collect, &state->parts[i].last);
            state->parts[i].share += share >= 0.0 ? share : 0.0; /* NaN: not known, for a while */
        }
        is_divided[i] = is_first || is_new;
        if (is_divided[i]) {
            state->parts[i].last = *found;
            state->parts[i].has_last = true;
        }
        values[i] = isnan(whole[i]) ? RM_NAN : state->parts[i].share;
    }
    found->shared = (struct rm_shared_energy){
        .t_ns = divided_ns(collect, state, values),
        .cpu_j = values[CPU],
        .ram_j = values[RAM],
        .gpu_j = found->gpu_tree_j,
        .cpu_s = state->parts[CPU].last.tree_cpu_s,
    };
    for (size_t i = 0; i < RM_ARRAY_LEN(divisions); i++) {
        /* A total that stood still since it was read would pass for a power of 0. */
        values[i] = is_divided[i] ? values[i] : RM_NAN;
    }
    return RESMON_OK;
}

static resmon_status open_shares(struct rm_collect *collect, void *state)
{
    (void)state;
    collect->provenance = RESMON_PROVENANCE_SHARED;
    return RESMON_OK;
}

const struct rm_collector rm_collect_energy_tree = {
    .name = "energy_tree",
    .domain = RESMON_DOMAIN_ENERGY,
    RM_METRICS(metrics),
    .state_bytes = sizeof(struct state),
    .open = open_shares,
    .read = read_shares,
};
