/* SPDX-License-Identifier: MIT */
/*
 * Owns which energy counters do not count: as hypervisors show them, and some
 * processors for parts that they do not have.  See energy_zones.h.  Pure.
 */
#include <stdio.h>

#include "base/text.h"
#include "collect/energy_zones.h"

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

/* The names of those that have not counted: their number, the length, and for how long. */
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
