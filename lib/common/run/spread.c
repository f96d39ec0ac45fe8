/* SPDX-License-Identifier: MIT */
#include "run/spread.h"

#include <math.h>

#include "run/record.h"

static void take(resmon_scope_spread *spread, double wall_ns, size_t rank)
{
    spread->ranks++;
    spread->mean_ns += wall_ns;
    if (!(wall_ns >= spread->min_ns)) {
        spread->min_ns = wall_ns;
        spread->min_rank = (int64_t)rank;
    }
    if (!(wall_ns <= spread->max_ns)) {
        spread->max_ns = wall_ns;
        spread->max_rank = (int64_t)rank;
    }
}

resmon_scope_spread rm_run_spread(const struct resmon_run *run, size_t scope)
{
    resmon_scope_spread spread;
    rm_record_clear(RM_RECORD_spread, &spread);
    if (run->rank_walls == NULL) {
        return spread;
    }
    const double *walls = rm_run_rank_walls(run, scope);
    spread.mean_ns = 0.0;
    for (size_t i = 0; i < run->rank_count; i++) {
        if (!isnan(walls[i])) {
            take(&spread, walls[i], i);
        }
    }
    spread.mean_ns /= (double)spread.ranks; /* of none: NaN */
    if (spread.mean_ns > 0.0) {
        spread.imbalance = spread.max_ns / spread.mean_ns - 1.0;
    }
    spread.lost_ns = (double)spread.ranks * (spread.max_ns - spread.mean_ns);
    return spread;
}

#define AS_MUCH 0.9 /* of what the outer scope lost */

int64_t rm_run_most_uneven(const struct resmon_run *run, double imbalance,
                           resmon_scope_spread *ret_spread)
{
    int64_t worst = -1;
    rm_record_clear(RM_RECORD_spread, ret_spread);
    for (size_t i = 0; i < run->scope_count; i++) {
        const resmon_scope_spread spread = rm_run_spread(run, i);
        bool is_inside = worst >= 0 && run->scopes[i].parent == worst;
        double least_ns = worst < 0 ? 0.0 : (is_inside ? AS_MUCH : 1.0) * ret_spread->lost_ns;
        if (spread.imbalance > imbalance && spread.lost_ns > least_ns) {
            *ret_spread = spread;
            worst = (int64_t)i;
        }
    }
    return worst;
}
