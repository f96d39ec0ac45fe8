/* SPDX-License-Identifier: MIT */
#include "store/scope_sums.h"

#include <math.h>

static const struct rm_field *field_of(const struct rm_scope_sums *sums, size_t sum)
{
    return sum < RM_FIELDS ? &sums->tallies.fields[sum] : &sums->counts.fields[sum - RM_FIELDS];
}

/* Counters that had to share the processor's may have missed something at each call. */
static bool is_exact(const struct rm_scope_sums *sums, size_t sum)
{
    bool is_counter = sum >= RM_FIELDS;
    const struct rm_tally *tally =
        is_counter ? &sums->counts.tally : &sums->tallies.tallies[rm_tally_of_field(sum)];
    return tally->calls > 0 && tally->calls >= sums->wall.sums.calls &&
           !(is_counter && rm_scope_counts_is_shared(&sums->counts));
}

static double bounded(const struct rm_field *field, double bound)
{
    return fmax(fmin(field->total, bound), (double)field->sum);
}

struct rm_scope_sums rm_scope_sums_of(const struct rm_block *block, rm_node_ref ref)
{
    struct rm_scope_sums sums = {.tallies = rm_scope_tallies_of(block, ref),
                                 .counts = rm_scope_counts_of(block, ref)};
    sums.wall = rm_node_wall(rm_node_at(block, ref));
    const struct rm_tally_all all = {sums.wall.sums.calls, sums.wall.sums.total};
    rm_tallies_settle(&sums.tallies, all);
    rm_scope_counts_settle(&sums.counts, all);
    return sums;
}

struct rm_sum_room rm_sum_room_unlimited(void)
{
    struct rm_sum_room room;
    for (size_t i = 0; i < RM_SUMS; i++) {
        room.bounds[i] = (double)INFINITY;
        room.shares[i] = 1.0;
    }
    return room;
}

struct rm_sum_room rm_sum_room_inside(const struct rm_scope_sums *sums, bool has_open,
                                      const struct rm_sum_room *around)
{
    struct rm_sum_room room = rm_sum_room_unlimited();
    for (size_t i = 0; i < RM_SUMS && !has_open; i++) {
        room.bounds[i] = is_exact(sums, i) ? (double)field_of(sums, i)->sum : around->bounds[i];
    }
    return room;
}

void rm_sum_demand_add(struct rm_sum_demand *demand, const struct rm_scope_sums *sums,
                       const struct rm_sum_room *room)
{
    for (size_t i = 0; i < RM_SUMS; i++) {
        const struct rm_field *field = field_of(sums, i);
        demand->sums[i] += (double)field->sum;
        demand->totals[i] += bounded(field, room->bounds[i]);
    }
}

void rm_sum_room_share(struct rm_sum_room *room, const struct rm_sum_demand *demand)
{
    for (size_t i = 0; i < RM_SUMS; i++) {
        if (demand->totals[i] > room->bounds[i]) {
            double sums = demand->sums[i];
            double uncertain = demand->totals[i] - sums; /* else there is nothing to share out */
            double left = fmax(room->bounds[i] - sums, 0.0);
            room->shares[i] = uncertain > 0.0 ? left / uncertain : 0.0;
        }
    }
}

static void fit(struct rm_field *field, double bound, double share)
{
    double sum = (double)field->sum;
    field->total = sum + (bounded(field, bound) - sum) * share;
}

void rm_scope_sums_fit(struct rm_scope_sums *sums, const struct rm_sum_room *room)
{
    for (size_t i = 0; i < RM_FIELDS; i++) {
        fit(&sums->tallies.fields[i], room->bounds[i], room->shares[i]);
    }
    for (size_t i = 0; i < RM_SCOPE_COUNTERS; i++) {
        fit(&sums->counts.fields[i], room->bounds[RM_FIELDS + i], room->shares[RM_FIELDS + i]);
    }
}
