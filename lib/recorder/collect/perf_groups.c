/* SPDX-License-Identifier: MIT */
/*
 * Collectors perf_flops, perf_l2, ...: what the process tree computes and moves, where the
 * processor counts it.  Their metrics are rows of counter/groups.def; a collector has those of one
 * choice of the option `counters`.  Each metric is a formula over events, which are counted at the
 * same time.  Metrics share a set of counters where every processor has enough of them.
 */
#include <string.h>

#include "base/text.h"
#include "collect/collect.h"
#include "collect/counters.h"

/* ---- rows of metrics ------------------------------------------------------------------------ */

#define RM_MAX_COUNTER_ROWS 4

struct rm_counter_rows {
    size_t count;
    struct {
        const struct rm_counter_row *row;
        struct rm_counter_set *set; /* NULL: it is not counted */
        bool is_ratio;              /* of an interval; else a total */
    } rows[RM_MAX_COUNTER_ROWS];
    size_t set_count;
    struct rm_counter_set sets[RM_MAX_COUNTER_ROWS];
};

/* Events that every processor here can count at the same time. */
#define SHARED_EVENTS 4

/* ---- which events make a set -------------------------------------------------------------- */

struct row_plan {
    resmon_status status;
    char why[160];
    size_t set;
    uint32_t events; /* of the set, one bit each */
};

struct set_plan {
    const char *name;
    size_t rows, count;
    struct rm_perf_event events[RM_FORMULA_EVENTS];
};

struct plan {
    size_t set_count;
    struct row_plan rows[RM_MAX_COUNTER_ROWS];
    struct set_plan sets[RM_MAX_COUNTER_ROWS];
};

/* Where the event is in the set; its count: it is not. */
static size_t place_of(const struct set_plan *set, const struct rm_perf_event *event)
{
    size_t place = 0;
    while (place < set->count && strcmp(set->events[place].name, event->name) != 0) {
        place++;
    }
    return place;
}

static bool has_room(const struct set_plan *set, const struct rm_perf_event *events, size_t count)
{
    size_t together = set->count;
    for (size_t i = 0; i < count; i++) {
        together += place_of(set, &events[i]) == set->count ? 1 : 0;
    }
    return set->count == 0 || together == set->count || together <= SHARED_EVENTS;
}

static uint32_t join(struct set_plan *set, const struct rm_perf_event *events, size_t count)
{
    uint32_t joined = 0;
    for (size_t i = 0; i < count; i++) {
        size_t place = place_of(set, &events[i]);
        if (place == set->count) {
            set->events[set->count++] = events[i];
        }
        joined |= UINT32_C(1) << place;
    }
    set->rows++;
    return joined;
}

static void plan_row(struct plan *plan, struct row_plan *row, const char *metric, uint32_t arch,
                     const struct rm_counter_row **ret_row)
{
    struct rm_perf_event events[RM_FORMULA_EVENTS];
    size_t count = 0;
    row->status = rm_counter_row_find(metric, arch, ret_row, events, &count);
    if (row->status != RESMON_OK) {
        (void)rm_text_set(row->why, sizeof row->why, resmon_last_error());
        return;
    }
    while (!has_room(&plan->sets[row->set], events, count)) {
        row->set++; /* there is one for each row */
    }
    struct set_plan *set = &plan->sets[row->set];
    row->events = join(set, events, count);
    if (set->rows == 1) {
        set->name = metric + strlen("perf.");
        plan->set_count++;
    } else if (row->set == 0) {
        set->name = (*ret_row)->group;
    }
}

/* ---- opening ------------------------------------------------------------------------------ */

/* All of its events, or none: a part of a sum is no sum. */
static resmon_status check_events(const struct rm_counter_set *set, uint32_t events)
{
    for (size_t i = 0; i < set->count; i++) {
        const struct rm_counter *counter = &set->counters[i];
        if ((events >> i & 1) != 0 && counter->status != RESMON_OK) {
            return rm_error(counter->status, "%s", counter->why);
        }
    }
    return RESMON_OK;
}

static bool is_used(const struct rm_counter_rows *rows, const struct rm_counter_set *set)
{
    for (size_t i = 0; i < rows->count; i++) {
        if (rows->rows[i].set == set) {
            return true;
        }
    }
    return false;
}

static resmon_status open_sets(struct rm_collect *collect, struct rm_counter_rows *rows,
                               const struct plan *plan)
{
    for (; rows->set_count < plan->set_count; rows->set_count++) {
        const struct set_plan *set = &plan->sets[rows->set_count];
        resmon_status status = rm_counter_set_open(collect, &rows->sets[rows->set_count], set->name,
                                                   set->events, set->count);
        if (status != RESMON_OK) {
            return status;
        }
    }
    return RESMON_OK;
}

static void settle_row(struct rm_collect *collect, struct rm_counter_rows *rows, size_t index,
                       struct row_plan *plan)
{
    const struct rm_counter_row *row = rows->rows[index].row;
    if (plan->status == RESMON_OK) {
        plan->status = check_events(&rows->sets[plan->set], plan->events);
        if (plan->status != RESMON_OK) {
            (void)rm_text_set(plan->why, sizeof plan->why, resmon_last_error());
        }
    }
    if (plan->status == RESMON_OK) {
        rows->rows[index].set = &rows->sets[plan->set];
        rows->rows[index].is_ratio = strchr(row->formula, '/') != NULL;
        rm_collect_remark(collect, row->note != NULL ? row->note : "");
    }
}

/* Of the rows that are not counted: that there are no counters says more than what these would not
 * tell. */
static const struct row_plan *worst_of(const struct rm_counter_rows *rows, const struct plan *plan)
{
    const struct row_plan *worst = NULL;
    for (size_t i = 0; i < rows->count; i++) {
        const struct rm_counter_row *row = rows->rows[i].row;
        if (plan->rows[i].status != RESMON_OK &&
            (worst == NULL || row == NULL || row->formula != NULL)) {
            worst = &plan->rows[i];
        }
    }
    return worst;
}

/* Opens metrics (RM_PERF_*), as rm_collector.open: why none of them can be counted is the reason
 * of its failure; why some of them cannot is a remark. */
static resmon_status rm_counter_rows_open(struct rm_collect *collect, struct rm_counter_rows *rows,
                                          const uint16_t *metrics, size_t count)
{
    struct plan plan = {.set_count = 0};
    size_t counted = 0;
    resmon_status status = rm_counters_open(collect);
    if (status != RESMON_OK) {
        return status;
    }
    rows->count = count;
    for (size_t i = 0; i < count; i++) {
        plan_row(&plan, &plan.rows[i], rm_metric_name(rm_metric_of(metrics[i])),
                 collect->counters.arch, &rows->rows[i].row);
    }
    status = open_sets(collect, rows, &plan);
    if (status != RESMON_OK) {
        return status;
    }
    for (size_t i = 0; i < count; i++) {
        settle_row(collect, rows, i, &plan.rows[i]);
        counted += rows->rows[i].set != NULL ? 1 : 0;
    }
    for (size_t i = 0; i < rows->set_count; i++) {
        if (!is_used(rows, &rows->sets[i])) {
            rm_counter_set_close(&rows->sets[i]);
        }
    }
    const struct row_plan *worst = worst_of(rows, &plan);
    if (counted > 0) {
        rm_collect_remark(collect, worst != NULL ? worst->why : "");
        return RESMON_OK;
    }
    return worst != NULL ? rm_error(worst->status, "%s", worst->why) : RESMON_OK;
}

/* ---- reading ------------------------------------------------------------------------------ */

/* As rm_collector.read and .close; the state is a struct rm_counter_rows. */
static resmon_status rm_counter_rows_read(struct rm_collect *collect, void *state, double *values)
{
    struct rm_counter_rows *rows = state;
    (void)collect;
    for (size_t i = 0; i < rows->set_count; i++) {
        if (rows->sets[i].count > 0) {
            rm_counter_set_read(&rows->sets[i]);
        }
    }
    for (size_t i = 0; i < rows->count; i++) {
        if (rows->rows[i].set != NULL) {
            values[i] = rm_counter_set_evaluate(rows->rows[i].set, rows->rows[i].row->formula,
                                                rows->rows[i].is_ratio);
        }
    }
    return RESMON_OK;
}

static void rm_counter_rows_close(void *state)
{
    struct rm_counter_rows *rows = state;
    for (size_t i = 0; i < rows->set_count; i++) {
        rm_counter_set_close(&rows->sets[i]);
    }
}

/* ---- collectors ----------------------------------------------------------------------------- */

#define GROUP(name, ...)                                                       \
    static const uint16_t name[] = {__VA_ARGS__};                              \
    static resmon_status open_##name(struct rm_collect *collect, void *state)  \
    {                                                                          \
        return rm_counter_rows_open(collect, state, name, RM_ARRAY_LEN(name)); \
    }

#define COLLECTOR(group, flag)                                                                  \
    .name = "perf_" #group, .domain = RM_DOMAIN_COUNTERS, .needs_flag = RM_FLAG_COUNTERS(flag), \
    RM_METRICS(group), .state_bytes = sizeof(struct rm_counter_rows), .open = open_##group,     \
    .read = rm_counter_rows_read, .close = rm_counter_rows_close

/* Floating-point operations. */
GROUP(flops, RM_PERF_FLOPS_SP, RM_PERF_FLOPS_DP, RM_PERF_FLOPS_ANY, RM_PERF_VECTOR_RATIO)
const struct rm_collector rm_collect_perf_flops = {COLLECTOR(flops, RM_COUNTERS_FLOPS)};

/* What is moved between L1 and L2. */
GROUP(l2, RM_PERF_L2_BANDWIDTH)
const struct rm_collector rm_collect_perf_l2 = {COLLECTOR(l2, RM_COUNTERS_L2)};

/* What is asked of the L2, and how much of it misses. */
GROUP(l2cache, RM_PERF_L2_REQUEST_RATE, RM_PERF_L2_MISS_RATE, RM_PERF_L2_MISS_RATIO)
const struct rm_collector rm_collect_perf_l2cache = {COLLECTOR(l2cache, RM_COUNTERS_L2CACHE)};

/* What is moved between L2 and L3. */
GROUP(l3, RM_PERF_L3_BANDWIDTH)
const struct rm_collector rm_collect_perf_l3 = {COLLECTOR(l3, RM_COUNTERS_L3)};

/* What is asked of the L3, and how much of it misses. */
GROUP(l3cache, RM_PERF_L3_REQUEST_RATE, RM_PERF_L3_MISS_RATE, RM_PERF_L3_MISS_RATIO)
const struct rm_collector rm_collect_perf_l3cache = {COLLECTOR(l3cache, RM_COUNTERS_L3CACHE)};

/* What is read from memory, by a proxy. */
GROUP(memory, RM_PERF_MEM_READ_BANDWIDTH)
const struct rm_collector rm_collect_perf_memory = {COLLECTOR(memory, RM_COUNTERS_MEMORY)};
