/* SPDX-License-Identifier: MIT */
/*
 * Collector energy_counters: each energy counter of the machine as a column; and the counters as
 * all collectors of a monitor share them: opened once, read once per sample, and between samples
 * where they wrap sooner.  Counters that never count are found here, too: some hypervisors show
 * such counters, and some processors have them for parts that they lack.  The zones themselves:
 * energy_zones.h.
 */
#include <stdio.h>

#include "base/text.h"
#include "collect/collect.h"
#include "collect/energy_zones.h"
#include "os/perf.h"

/* ---- counters that do not count ------------------------------------------------------------- */

static bool has_stood_still(const struct rm_energy_zone *zone)
{
    const struct rm_energy_counter *counter = &zone->counter;
    return counter->has_last && !counter->has_moved && counter->last_ns > counter->first_ns;
}

enum rm_zone_life rm_energy_zones_life(const struct rm_energy_zones *zones,
                                       enum rm_energy_domain domain)
{
    enum rm_zone_life life = RM_ZONES_LIVE;
    for (size_t i = 0; i < zones->count; i++) {
        const struct rm_energy_counter *counter = &zones->zones[i].counter;
        if (zones->zones[i].domain == domain && !counter->has_moved) {
            bool is_old = counter->last_ns - counter->first_ns >= RM_ZONE_GRACE_NS;
            life = is_old || life == RM_ZONES_DEAD ? RM_ZONES_DEAD : RM_ZONES_YOUNG;
        }
    }
    return life;
}

/* Writes the names of dead zones; returns their number, the text's length, and the longest time
 * without a count. */
static size_t list_dead(const struct rm_energy_zones *zones, unsigned domain, char *text,
                        size_t capacity, size_t *ret_length, int64_t *ret_still_ns)
{
    size_t count = 0;
    size_t length = 0;
    text[0] = '\0';
    *ret_still_ns = 0;
    for (size_t i = 0; i < zones->count; i++) {
        const struct rm_energy_zone *zone = &zones->zones[i];
        if ((zone->domain != domain && domain != RM_ENERGY_DOMAINS) || !has_stood_still(zone)) {
            continue;
        }
        int64_t zone_ns = zone->counter.last_ns - zone->counter.first_ns;
        *ret_still_ns = zone_ns > *ret_still_ns ? zone_ns : *ret_still_ns;
        length += rm_text_set(text + length, capacity - length, count > 0 ? ", " : "");
        length += rm_text_set(text + length, capacity - length, zone->name);
        count++;
    }
    *ret_length = length;
    return count;
}

size_t rm_energy_zones_describe_dead(const struct rm_energy_zones *zones, unsigned domain,
                                     char *text, size_t capacity)
{
    size_t length;
    int64_t still_ns;
    size_t count = list_dead(zones, domain, text, capacity, &length, &still_ns);
    const char *verb = count > 1 ? "have" : "has";
    double still_s = (double)still_ns * 1e-9;
    if (count > 0 && still_s < 1.0) {
        (void)snprintf(text + length, capacity - length,
                       " %s not counted in the %.3g ms of this run", verb, still_s * 1e3);
    } else if (count > 0) {
        (void)snprintf(text + length, capacity - length, " %s not counted since the start (%.0f s)",
                       verb, still_s);
    }
    return count;
}

void rm_energy_zones_describe_model(const struct rm_energy_zones *zones, unsigned domain,
                                    const char *model, char *text, size_t capacity)
{
    char dead[48];
    size_t length;
    int64_t still_ns;
    size_t count = list_dead(zones, domain, dead, sizeof dead, &length, &still_ns);
    (void)snprintf(text, capacity, "%.90s; %s %s not count", model, dead,
                   count > 1 ? "do" : "does");
}

/* ---- one object for all collectors ---------------------------------------------------------- */

resmon_status rm_collect_open_zones(struct rm_collect *collect)
{
    const struct rm_root *root = &collect->root;
    rm_perf_open_fn perf_open = collect->perf_open;
    if (collect->has_zones) {
        return RESMON_OK;
    }
    if (collect->energy_path != NULL) {
        resmon_status status = rm_root_open(&collect->energy_root, collect->energy_path);
        if (status != RESMON_OK) {
            return status;
        }
        root = &collect->energy_root;
        perf_open = rm_perf_open_none; /* the PMU is this machine's, not that of the path */
    }
    resmon_status status =
        rm_energy_zones_open(&collect->zones, root, &collect->scratch, perf_open);
    for (size_t i = 0; i < collect->zones.count && collect->begin != NULL; i++) {
        collect->zones.zones[i].counter.begin_ns = collect->begin->at_ns;
    }
    collect->has_zones = status == RESMON_OK;
    if (!collect->has_zones) {
        rm_root_close(&collect->energy_root);
    }
    return status;
}

enum rm_zone_life rm_collect_read_zones(struct rm_collect *collect, enum rm_energy_domain domain)
{
    char text[sizeof collect->remark];
    struct rm_energy_zones *zones = &collect->zones;
    rm_energy_zones_read(zones, &collect->scratch, collect->now_ns, rm_collect_moment(collect));
    enum rm_zone_life life = rm_energy_zones_life(zones, domain);
    if (life == RM_ZONES_YOUNG &&
        rm_energy_zones_describe_dead(zones, domain, text, sizeof text) > 0) {
        rm_collect_remark(collect, text);
        zones->is_remarked[domain] = true;
    } else if (life == RM_ZONES_LIVE && zones->is_remarked[domain]) {
        rm_collect_take_remark_back(collect);
        zones->is_remarked[domain] = false;
    }
    return life;
}

int64_t rm_collect_next_poll_ns(const struct rm_collect *collect)
{
    return collect->has_zones && collect->zones.poll_ns > 0 && collect->zones.read_ns > 0
               ? collect->zones.read_ns + collect->zones.poll_ns
               : INT64_MAX;
}

void rm_collect_poll(struct rm_collect *collect, int64_t now_ns)
{
    if (now_ns >= rm_collect_next_poll_ns(collect)) {
        rm_energy_zones_read(&collect->zones, &collect->scratch, now_ns, now_ns);
    }
}

void rm_collect_revive_zones(struct rm_collect *collect)
{
    if (collect->energy_path != NULL && collect->has_zones) {
        rm_root_revive(&collect->energy_root);
    }
}

void rm_collect_close_zones(struct rm_collect *collect)
{
    if (collect->has_zones) {
        rm_energy_zones_close(&collect->zones);
        rm_root_close(&collect->energy_root);
    }
}

/* ---- the collector -------------------------------------------------------------------------- */

static const uint16_t metrics[] = {RM_ENERGY_ZONE};

struct state {
    const struct rm_energy_zones *zones;
    uint64_t losses; /* failures remarked so far (gaps and discarded readings; wraps are normal) */
    size_t dead;     /* dead zones remarked so far */
};

/* Zones that never counted have no value, and are named in the remark.  RESMON_ENOTSUP: all zones.
 */
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

/* Sets a remark when more readings were lost. */
static void remark_losses(struct rm_collect *collect, struct state *state)
{
    uint64_t gaps = 0;
    uint64_t discarded = 0;
    for (size_t i = 0; i < state->zones->count; i++) {
        gaps += state->zones->zones[i].counter.gaps;
        discarded += state->zones->zones[i].counter.discarded;
    }
    if (gaps + discarded > state->losses) {
        char text[sizeof collect->remark];
        (void)snprintf(text, sizeof text,
                       "%llu readings failed (the next ones include their energy), %llu were "
                       "impossible and ignored",
                       (unsigned long long)gaps, (unsigned long long)discarded);
        rm_collect_remark(collect, text);
        state->losses = gaps + discarded;
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
