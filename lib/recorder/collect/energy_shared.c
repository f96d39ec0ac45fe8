/* SPDX-License-Identifier: MIT */
/*
 * Owns the energy counters of the machine as collectors share them: opened once for a monitor, read
 * once for a sample, and between samples where they wrap sooner.
 */
#include "collect/collect.h"

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
        perf_open = rm_perf_open_none; /* that would be of this machine */
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
        zones->is_told[domain] = true;
    } else if (life == RM_ZONES_LIVE && zones->is_told[domain]) {
        rm_collect_take_remark_back(collect);
        zones->is_told[domain] = false;
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
