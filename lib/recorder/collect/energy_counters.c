/* SPDX-License-Identifier: MIT */
/*
 * Collector energy_counters: each energy counter of the machine as a column (see energy_zones.h).
 */
#include <stdio.h>

#include "collect/collect.h"

static const uint16_t metrics[] = {RM_ENERGY_ZONE};

struct state {
    const struct rm_energy_zones *zones;
    uint64_t told; /* wraps are as they should be; gaps and what was discarded are told */
    size_t dead;   /* of which it was told that they do not count */
};

/* Those that never counted have no figure, and are named.  RESMON_ENOTSUP: all of them. */
static resmon_status remark_dead(struct rm_collect *collect, struct state *state)
{
    char text[sizeof collect->remark];
    size_t dead = rm_energy_zones_describe_dead(state->zones, RM_ENERGY_DOMAINS, text, sizeof text);
    bool is_new = dead != state->dead;
    state->dead = dead;
    bool is_all = dead > 0 && dead == state->zones->count;
    collect->provenance = is_all ? RESMON_PROVENANCE_NONE : RESMON_PROVENANCE_MEASURED;
    if (is_all) {
        return rm_error(RESMON_ENOTSUP, "%s", text);
    }
    if (is_new && dead > 0) {
        rm_collect_remark(collect, text);
    } else if (is_new) {
        rm_collect_take_remark_back(collect);
    }
    return RESMON_OK;
}

/* What was lost is said when there is more of it. */
static void remark_losses(struct rm_collect *collect, struct state *state)
{
    uint64_t gaps = 0;
    uint64_t discarded = 0;
    for (size_t i = 0; i < state->zones->count; i++) {
        gaps += state->zones->zones[i].counter.gaps;
        discarded += state->zones->zones[i].counter.discarded;
    }
    if (gaps + discarded > state->told) {
        char text[sizeof collect->remark];
        (void)snprintf(text, sizeof text,
                       "%llu readings failed (the next ones include their energy), %llu were "
                       "impossible and ignored",
                       (unsigned long long)gaps, (unsigned long long)discarded);
        rm_collect_remark(collect, text);
        state->told = gaps + discarded;
    }
}

static resmon_status read_zones(struct rm_collect *collect, void *state_, double *values)
{
    struct state *state = state_;
    rm_energy_zones_read(&collect->zones, &collect->scratch, collect->now_ns,
                         rm_collect_moment(collect));
    for (size_t i = 0; i < state->zones->count; i++) {
        const struct rm_energy_counter *counter = &state->zones->zones[i].counter;
        values[i] = counter->has_moved ? rm_collect_of_host(collect, counter->joules) : RM_NAN;
    }
    remark_losses(collect, state);
    return remark_dead(collect, state);
}

static resmon_status open_zones(struct rm_collect *collect, void *state_)
{
    struct state *state = state_;
    resmon_status status = rm_collect_open_zones(collect);
    state->zones = &collect->zones;
    if (status != RESMON_OK) {
        return status;
    }
    if (state->zones->count == 0) {
        return rm_error(RESMON_ENOENT, "%s", state->zones->why);
    }
    rm_collect_remark(collect, state->zones->is_pmu ? "" : state->zones->why);
    return RESMON_OK;
}

static size_t count_zones(const void *state)
{
    return ((const struct state *)state)->zones->count;
}

static const char *name_of_zone(const void *state, size_t index)
{
    return ((const struct state *)state)->zones->zones[index].name;
}

const struct rm_collector rm_collect_energy_counters = {
    .name = "energy_counters",
    .domain = RESMON_DOMAIN_ENERGY,
    RM_METRICS(metrics),
    .state_bytes = sizeof(struct state),
    .open = open_zones,
    .read = read_zones,
    .instances = count_zones,
    .instance_name = name_of_zone,
};
