/* SPDX-License-Identifier: MIT */
/* In place of the collectors of energy when the library is built without it. */
#include "base/feature.h"
#include "collect/collect.h"

int64_t rm_collect_next_poll_ns(const struct rm_collect *collect)
{
    (void)collect;
    return INT64_MAX;
}

void rm_collect_poll(struct rm_collect *collect, int64_t now_ns)
{
    (void)collect, (void)now_ns;
}

void rm_collect_revive_zones(struct rm_collect *collect)
{
    (void)collect;
}

void rm_collect_close_zones(struct rm_collect *collect)
{
    (void)collect;
}

static resmon_status say_left_out(struct rm_collect *collect, void *state)
{
    (void)collect, (void)state;
    return rm_feature_need(RM_FEATURE_ENERGY);
}

const struct rm_collector rm_collect_energy = {
    .name = "energy",
    .domain = RESMON_DOMAIN_ENERGY,
    .open = say_left_out,
};
