/* SPDX-License-Identifier: MIT */
/*
 * Collector energy_tree: the process tree's share of the machine's energy.
 *
 * Processors: the energy above idle is divided by CPU time.  Of the idle energy, the tree gets the
 * part of the machine's capacity that it used, or what the run's idle policy sets; the unused rest
 * is attributed to no process.  So a share is linear in CPU time and independent of the sampling
 * interval.  (Energy times load would be quadratic.)  Memory: by the tree's RSS as a part of all
 * memory.
 */
#include <math.h>
#include <stdio.h>

#include "collect/collect.h"

#define NEEDS "shares of processors and memory need the domains tree and cpu beside energy"
#define OF_CONTAINER                                                                     \
    "energy is of the whole host, whose CPU use is unknown: /proc shows this container " \
    "alone (lxcfs)"

enum { CPU, RAM };

static const uint16_t metrics[] = {[CPU] = RM_TREE_ENERGY_CPU, [RAM] = RM_TREE_ENERGY_RAM};

struct part {
    struct rm_found last; /* inputs of the last division */
    bool has_last;
    double share;  /* energy so far */
    double lead_s; /* CPU time of the tree without energy so far: the machine's ticks do not show it
                      yet, or it was learned late (of a process that was waited for) */
    double used_s; /* CPU time of the tree with energy */
    double active_j, busy_s; /* of the machine, above idle, so far */
    double shown;            /* highest share published: a share does not fall */
};

struct state {
    struct part parts[RM_ARRAY_LEN(metrics)];
};

static double limited(double share)
{
    return share > 1.0 ? 1.0 : share > 0.0 ? share : 0.0;
}

/* Whether all inputs of a division are newer than at the last one. */
static bool is_new_cpu(const struct rm_found *now, const struct rm_found *last)
{
    return now->node_ns > last->node_ns && now->tree_ns > last->tree_ns &&
           now->cpu_j_ns > last->cpu_j_ns;
}

static bool is_new_ram(const struct rm_found *now, const struct rm_found *last)
{
    return now->tree_ns > last->tree_ns && now->ram_j_ns > last->ram_j_ns;
}

static double idle_share(const struct rm_collect *collect, double of_capacity)
{
    if ((collect->flags & RESMON_FLAG_IDLE_NONE) != 0) {
        return 0.0;
    }
    if ((collect->flags & RESMON_FLAG_IDLE_ALLOCATED) != 0) {
        return limited(collect->capacity.affinity_cpus / collect->capacity.host_cpus);
    }
    return of_capacity;
}

/* The tree's CPU time since the last division, at most the machine's.  The clocks of processes are
 * some ticks ahead of the machine's CPU time.  The excess is kept for the next division; with many
 * short divisions, most of it would be lost otherwise. */
static double take_used(struct part *part, double tree_s, double busy_s)
{
    double used_s = fmin(part->lead_s + tree_s, busy_s);
    part->lead_s += tree_s - used_s;
    part->used_s += used_s;
    return used_s;
}

/* CPU time of the machine after which its mean power is more precise than the model. */
#define SURE_S 0.1

/* Energy per second of CPU time: the machine's mean so far, if it was busy at all, else the
 * model's; and the idle power per CPU. */
static double joules_per_second(const struct rm_collect *collect, const struct part *part)
{
    const struct rm_found_power *power = &collect->found.cpu_power;
    const struct rm_cpu_power *watts = &power->watts;
    double active_w = part->busy_s > SURE_S ? part->active_j / part->busy_s
                                            : (watts->full - watts->idle) / power->cpus;
    return active_w + ((collect->flags & (RESMON_FLAG_IDLE_NONE | RESMON_FLAG_IDLE_ALLOCATED)) != 0
                           ? 0.0
                           : watts->idle / power->cpus);
}

/* The share and the energy of the lead, so that it is linear in CPU time even for a program shorter
 * than the machine's ticks. */
static double with_lead(const struct rm_collect *collect, struct part *part)
{
    const struct rm_found *found = &collect->found;
    double missing_s = found->busy_s - found->node_busy_s; /* ticks already added by energy_cpu */
    double of_ticks_s = fmax(collect->tick_s * found->cpu_power.cpus - missing_s, 0.0);
    double of_others_s = part->busy_s - part->used_s; /* which may be ours */
    double lead_s = fmin(part->lead_s, of_ticks_s + of_others_s);
    double lead_j = lead_s > 0.0 ? lead_s * joules_per_second(collect, part) : 0.0;
    part->shown = fmax(part->shown, part->share + (lead_j > 0.0 ? lead_j : 0.0));
    return part->shown;
}

/* Power above idle is at most the model's maximum per CPU second.  If it is more, the idle power
 * is higher than modelled, and the excess is attributed to no process. */
static double cpu_share(const struct rm_collect *collect, struct part *part)
{
    const struct rm_found *now = &collect->found;
    const struct rm_cpu_power *watts = &now->cpu_power.watts;
    double elapsed_s = (double)(now->cpu_j_ns - part->last.cpu_j_ns) * 1e-9;
    double busy_s = fmax(now->busy_s - part->last.busy_s, 0.0);
    double used_s = take_used(part, fmax(now->tree_cpu_s - part->last.tree_cpu_s, 0.0), busy_s);
    double energy_j = fmax(now->cpu_j - part->last.cpu_j, 0.0);
    double idle_j = fmin(energy_j, watts->idle * elapsed_s);
    double active_j = fmin(energy_j - idle_j, (watts->full - watts->idle) * busy_s);
    part->active_j += active_j > 0.0 ? active_j : 0.0;
    part->busy_s += busy_s;
    double of_busy = busy_s > 0.0 ? used_s / busy_s : 0.0;
    double of_capacity = limited(used_s / (now->cpu_power.cpus * elapsed_s));
    return active_j * of_busy + idle_j * idle_share(collect, of_capacity);
}

static double ram_share(const struct rm_collect *collect, struct part *part)
{
    const struct rm_found *now = &collect->found;
    const struct rm_found *last = &part->last;
    double energy_j = fmax(now->ram_j - last->ram_j, 0.0);
    double mean_rss = (now->tree_rss + last->tree_rss) / 2.0;
    return energy_j * limited(mean_rss / collect->capacity.host_bytes);
}

static const struct {
    bool (*is_new)(const struct rm_found *now, const struct rm_found *last);
    double (*share)(const struct rm_collect *collect, struct part *part);
} divisions[] = {[CPU] = {is_new_cpu, cpu_share}, [RAM] = {is_new_ram, ram_share}};

/* Time of the last division: of the processors, whose division needs the tree's CPU time of that
 * time; if their energy is not known, of the memory. */
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

/* The energy to divide at the latest division. */
static void find_whole(struct rm_collect *collect, double whole[])
{
    const struct rm_found *found = &collect->found;
    bool is_of_host[] = {[CPU] = found->is_cpu_measured, [RAM] = found->is_ram_measured};
    whole[CPU] = found->cpu_j;
    whole[RAM] = found->ram_j;
    for (size_t i = 0; i < RM_ARRAY_LEN(is_of_host) && found->is_of_container; i++) {
        if (is_of_host[i]) {
            whole[i] = RM_NAN;
            rm_collect_remark(collect, OF_CONTAINER);
        }
    }
}

/* Inputs at the first reading, or at the begin of the run: the energy since then is in the second
 * division. */
static struct rm_found found_at_begin(const struct rm_collect *collect)
{
    const struct rm_begin *begin = collect->begin;
    struct rm_found found = collect->found;
    if (begin != NULL) {
        found.tree_cpu_s = rm_begin_cpu_s(begin);
        found.busy_s = rm_collect_busy_at_begin(collect);
        found.cpu_j = isnan(found.cpu_j) ? RM_NAN : 0.0;
        found.ram_j = isnan(found.ram_j) ? RM_NAN : 0.0;
        found.tree_ns = found.node_ns = found.cpu_j_ns = found.ram_j_ns = begin->at_ns;
    }
    return found;
}

/* False: an input is unchanged since the last division. */
static bool divide(const struct rm_collect *collect, size_t of, struct part *part)
{
    if (!part->has_last) {
        part->last = found_at_begin(collect);
        part->has_last = true;
        return true;
    }
    if (!divisions[of].is_new(&collect->found, &part->last)) {
        return false;
    }
    double share = divisions[of].share(collect, part);
    part->share += share >= 0.0 ? share : 0.0; /* NaN: not known for this interval */
    part->last = collect->found;
    return true;
}

static resmon_status read_shares(struct rm_collect *collect, void *state_, double *values)
{
    struct state *state = state_;
    struct rm_found *found = &collect->found;
    double whole[RM_ARRAY_LEN(divisions)];
    bool is_divided[RM_ARRAY_LEN(divisions)];
    if (found->node_ns == 0 || found->tree_ns == 0) {
        found->shared = (struct rm_shared_energy){
            .t_ns = isnan(found->gpu_tree_j) ? 0 : collect->now_ns,
            .cpu_j = RM_NAN,
            .ram_j = RM_NAN,
            .gpu_j = found->gpu_tree_j,
            .gpu_ns = found->gpu_ns,
            .gpu_w = found->gpu_w,
        };
        rm_collect_remark(collect, NEEDS);
        return isnan(found->gpu_tree_j) ? rm_error(RESMON_ENOENT, "%s", NEEDS) : RESMON_OK;
    }
    find_whole(collect, whole);
    for (size_t i = 0; i < RM_ARRAY_LEN(divisions); i++) {
        struct part *part = &state->parts[i];
        is_divided[i] = divide(collect, i, part);
        values[i] = isnan(whole[i]) ? RM_NAN : with_lead(collect, part);
    }
    found->shared = (struct rm_shared_energy){
        .t_ns = divided_ns(collect, state, values),
        .cpu_j = values[CPU],
        .ram_j = values[RAM],
        .gpu_j = found->gpu_tree_j,
        .cpu_s = state->parts[CPU].last.tree_cpu_s,
        .gpu_ns = found->gpu_ns,
        .gpu_w = found->gpu_w,
    };
    const bool is_known[] = {[CPU] = found->is_cpu_known, [RAM] = found->is_ram_known};
    for (size_t i = 0; i < RM_ARRAY_LEN(divisions); i++) {
        /* A total without change since it was read would be shown as a power of 0. */
        values[i] = is_divided[i] && is_known[i] ? values[i] : RM_NAN;
    }
    return RESMON_OK;
}

static resmon_status open_shares(struct rm_collect *collect, void *state)
{
    (void)state;
    char text[sizeof collect->remark];
    const struct rm_found_power *power = &collect->found.cpu_power;
    collect->provenance = RESMON_PROVENANCE_SHARED;
    if (power->cpus > 0.0) {
        (void)snprintf(text, sizeof text,
                       "assumed power of the processors: %.4g W when idle, %.4g W at full load",
                       power->watts.idle, power->watts.full);
        rm_collect_remark(collect, text);
    }
    return RESMON_OK;
}

const struct rm_collector rm_collect_energy_tree = {
    .name = "energy_tree",
    .domain = RESMON_DOMAIN_ENERGY,
    .after = RM_AFTER("tree", "node_cpu", "energy_cpu", "energy_ram", "energy_gpu", "gpu"),
    RM_METRICS(metrics),
    .state_bytes = sizeof(struct state),
    .open = open_shares,
    .read = read_shares,
};
