/* SPDX-License-Identifier: MIT */
/*
 * Collectors perf_*: performance counters of the process tree (counters.h).  perf_software has the
 * kernel's own events, perf_hardware the generic hardware events and their ratios, perf_events the
 * events that the options name, and one collector per group of counter/groups.def the group's
 * metrics. perf_running has the share of the time in which each set of hardware events was counted.
 */
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "collect/collect.h"
#include "collect/counters.h"

/* Opens a set of generic events (perf_event_open(2)), by name. */
static resmon_status open_generic(struct rm_collect *collect, struct rm_counter_set *set,
                                  const char *set_name, const char *const *names, size_t count)
{
    struct rm_perf_event events[RM_FORMULA_EVENTS];
    for (size_t i = 0; i < count; i++) {
        (void)rm_perf_event_generic(names[i], &events[i]);
    }
    return rm_counter_set_open(collect, set, set_name, events, count);
}

static void close_sets(struct rm_counter_set *sets, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        rm_counter_set_close(&sets[i]);
    }
}

/* ---- collector perf_software ---------------------------------------------------------------- */

static const uint16_t software_metrics[] = {RM_PERF_TASK_CLOCK,        RM_PERF_CONTEXT_SWITCHES,
                                            RM_PERF_MIGRATIONS,        RM_PERF_PAGE_FAULTS,
                                            RM_PERF_PAGE_FAULTS_MINOR, RM_PERF_PAGE_FAULTS_MAJOR};

/* In the order of the metrics. */
static const char *const software_names[] = {"task-clock",  "context-switches", "migrations",
                                             "page-faults", "minor-faults",     "major-faults"};

_Static_assert(RM_ARRAY_LEN(software_names) <= RM_FORMULA_EVENTS, "they are one set");

static resmon_status open_software(struct rm_collect *collect, void *set)
{
    resmon_status status = rm_counters_open(collect);
    if (status == RESMON_OK) {
        status =
            open_generic(collect, set, "software", software_names, RM_ARRAY_LEN(software_names));
    }
    if (status == RESMON_OK) {
        rm_counter_set_remark(collect, set);
        status = rm_counter_set_check(set);
    }
    return status;
}

static resmon_status read_software(struct rm_collect *collect, void *set_, double *values)
{
    struct rm_counter_set *set = set_;
    (void)collect;
    rm_counter_set_read(set);
    for (size_t i = 0; i < RM_ARRAY_LEN(software_names); i++) {
        values[i] = rm_counter_total(&set->counters[i]);
    }
    values[0] /= (double)RM_NS_PER_S;
    return RESMON_OK;
}

static void close_software(void *set)
{
    rm_counter_set_close(set);
}

const struct rm_collector rm_collect_perf_software = {
    .name = "perf_software",
    .domain = RM_DOMAIN_COUNTERS,
    .needs_flag = RM_FLAG_COUNTERS(RM_COUNTERS_DEFAULT),
    RM_METRICS(software_metrics),
    .state_bytes = sizeof(struct rm_counter_set),
    .open = open_software,
    .read = read_software,
    .close = close_software,
};

/* ---- collector perf_hardware ---------------------------------------------------------------- */

/*
 * Events of which a ratio is made are counted at the same time, in one set.  Every processor has
 * enough counters for a set.
 */

static const uint16_t hardware_metrics[] = {
    RM_PERF_CYCLES,
    RM_PERF_INSTRUCTIONS,
    RM_PERF_CACHE_REFERENCES,
    RM_PERF_CACHE_MISSES,
    RM_PERF_BRANCHES,
    RM_PERF_BRANCH_MISSES,
    RM_PERF_IPC,
    RM_PERF_CLOCK,
    RM_PERF_CACHE_MISS_RATIO,
    RM_PERF_BRANCH_MISS_RATIO,
};

#define HARDWARE_SETS   3
#define HARDWARE_EVENTS 3

static const struct {
    const char *name;
    size_t count;
    const char *events[HARDWARE_EVENTS];
} hardware_sets[HARDWARE_SETS] = {
    {"cycles", 3, {"cycles", "instructions", "task-clock"}},
    {"cache", 2, {"cache-references", "cache-misses"}},
    {"branches", 2, {"branches", "branch-misses"}},
};

struct hardware_state {
    struct rm_counter_set sets[HARDWARE_SETS];
};

/* Whether any event but the clock is counted. */
static resmon_status check_hardware(const struct hardware_state *state)
{
    for (size_t i = 0; i < HARDWARE_SETS; i++) {
        if (state->sets[i].counters[0].status == RESMON_OK ||
            state->sets[i].counters[1].status == RESMON_OK) {
            return RESMON_OK;
        }
    }
    const struct rm_counter *first = &state->sets[0].counters[0];
    return rm_error(first->status, "%s", first->why);
}

static resmon_status open_hardware(struct rm_collect *collect, void *state_)
{
    struct hardware_state *state = state_;
    resmon_status status = rm_counters_open(collect);
    for (size_t i = 0; i < HARDWARE_SETS && status == RESMON_OK; i++) {
        status = open_generic(collect, &state->sets[i], hardware_sets[i].name,
                              hardware_sets[i].events, hardware_sets[i].count);
    }
    if (status != RESMON_OK) {
        return status;
    }
    for (size_t i = 0; i < HARDWARE_SETS; i++) {
        rm_counter_set_remark(collect, &state->sets[i]);
    }
    return check_hardware(state);
}

static resmon_status read_hardware(struct rm_collect *collect, void *state_, double *values)
{
    static const char *const ratios[] = {"perf.ipc", "perf.clock", "perf.cache.miss_ratio",
                                         "perf.branch.miss_ratio"};
    static const size_t set_of[] = {0, 0, 1, 2};
    struct hardware_state *state = state_;
    for (size_t i = 0; i < HARDWARE_SETS; i++) {
        rm_counter_set_read(&state->sets[i]);
        values[2 * i] = rm_counter_total(&state->sets[i].counters[0]);
        values[2 * i + 1] = rm_counter_total(&state->sets[i].counters[1]);
    }
    for (size_t i = 0; i < RM_ARRAY_LEN(ratios); i++) {
        const struct rm_counter_row *row = rm_counter_row_of(ratios[i], collect->counters->arch);
        values[2 * HARDWARE_SETS + i] =
            rm_counter_set_evaluate(&state->sets[set_of[i]], row->formula, true);
    }
    if (collect->counters->skips_kernel) {
        values[2 * HARDWARE_SETS + 1] = RM_NAN; /* the clock: CPU time includes the kernel's */
    }
    return RESMON_OK;
}

static void close_hardware(void *state)
{
    close_sets(((struct hardware_state *)state)->sets, HARDWARE_SETS);
}

const struct rm_collector rm_collect_perf_hardware = {
    .name = "perf_hardware",
    .domain = RM_DOMAIN_COUNTERS,
    .needs_flag = RM_FLAG_COUNTERS(RM_COUNTERS_DEFAULT),
    RM_METRICS(hardware_metrics),
    .state_bytes = sizeof(struct hardware_state),
    .open = open_hardware,
    .read = read_hardware,
    .close = close_hardware,
};

/* ---- collector perf_events ------------------------------------------------------------------ */

static const uint16_t event_metrics[] = {RM_PERF_EVENT};

struct events_state {
    size_t count;
    struct rm_counter_set sets[RM_WANTED_EVENTS]; /* one event, one instance each */
};

static resmon_status open_events(struct rm_collect *collect, void *state_)
{
    struct events_state *state = state_;
    resmon_status status = rm_counters_open(collect);
    const struct rm_counters_wanted *wanted = collect->counters_wanted;
    size_t count = wanted != NULL ? wanted->event_count : 0;
    for (size_t i = 0; status == RESMON_OK && i < count; i++) {
        const struct rm_perf_event *event = &wanted->events[i];
        status = rm_counter_set_open(collect, &state->sets[i], event->name, event, 1);
        state->count++;
    }
    if (status != RESMON_OK) {
        return status;
    }
    bool is_any = false;
    for (size_t i = 0; i < state->count; i++) {
        is_any = is_any || rm_counter_set_check(&state->sets[i]) == RESMON_OK;
        rm_counter_set_remark(collect, &state->sets[i]);
    }
    return is_any ? RESMON_OK : rm_counter_set_check(&state->sets[0]);
}

static resmon_status read_events(struct rm_collect *collect, void *state_, double *values)
{
    struct events_state *state = state_;
    for (size_t i = 0; i < state->count; i++) {
        rm_counter_set_read(&state->sets[i]);
        values[i] = rm_counter_total(&state->sets[i].counters[0]);
    }
    rm_counters_remark_lack(collect);
    return RESMON_OK;
}

static void close_events(void *state_)
{
    struct events_state *state = state_;
    close_sets(state->sets, state->count);
}

static size_t count_events(const void *state)
{
    return ((const struct events_state *)state)->count;
}

static const char *name_of_event(const void *state, size_t index)
{
    return ((const struct events_state *)state)->sets[index].name;
}

const struct rm_collector rm_collect_perf_events = {
    .name = "perf_events",
    .domain = RM_DOMAIN_COUNTERS,
    .after = RM_AFTER("tree"),
    .needs_flag = RM_FLAG_COUNTERS(RM_COUNTERS_EVENTS),
    RM_METRICS(event_metrics),
    .state_bytes = sizeof(struct events_state),
    .open = open_events,
    .read = read_events,
    .close = close_events,
    .instances = count_events,
    .instance_name = name_of_event,
};

/* ---- collectors perf_flops, perf_l2, ... ---------------------------------------------------- */

/*
 * Floating-point operations and data transfers, where the processor counts them.  Their metrics are
 * rows of counter/groups.def; a collector has the metrics of one value of the option `counters`.
 * Each metric is a formula over events, which are counted at the same time.  Metrics share a set of
 * counters where every processor has enough of them.
 */

#define MAX_ROWS 4

struct metric_rows {
    size_t count;
    struct {
        const struct rm_counter_row *row;
        struct rm_counter_set *set; /* NULL: the metric is not counted */
        bool is_ratio;              /* evaluated per interval; else a total */
    } rows[MAX_ROWS];
    size_t set_count;
    struct rm_counter_set sets[MAX_ROWS];
};

/* Every processor supported here can count so many events at the same time. */
#define SHARED_EVENTS 4

/* ---- which events make a set -------------------------------------------------------------- */

struct row_plan {
    resmon_status status;
    char why[160];
    size_t set;
    uint32_t events; /* bit i: event i of the set */
};

struct set_plan {
    const char *name;
    size_t rows, count;
    struct rm_perf_event events[RM_FORMULA_EVENTS];
};

struct plan {
    size_t set_count;
    struct row_plan rows[MAX_ROWS];
    struct set_plan sets[MAX_ROWS];
};

/* Index of the event in the set; set->count: not found. */
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
        row->set++; /* ends: there is a set for each row */
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

/* A metric needs all of its events: a sum of a part of them would be wrong. */
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

static bool is_used(const struct metric_rows *rows, const struct rm_counter_set *set)
{
    for (size_t i = 0; i < rows->count; i++) {
        if (rows->rows[i].set == set) {
            return true;
        }
    }
    return false;
}

static resmon_status open_sets(struct rm_collect *collect, struct metric_rows *rows,
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

static void settle_row(struct rm_collect *collect, struct metric_rows *rows, size_t index,
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

/* The most informative reason among the rows that are not counted: that the machine has no counters
 * is preferred to a missing formula. */
static const struct row_plan *worst_of(const struct metric_rows *rows, const struct plan *plan)
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

/* As rm_collector.open, for metrics RM_PERF_*.  If none can be counted, the reason is the error's
 * text; if some cannot, it is a remark. */
static resmon_status open_rows(struct rm_collect *collect, struct metric_rows *rows,
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
                 collect->counters->arch, &rows->rows[i].row);
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

/* As rm_collector.read and .close; the state is a struct metric_rows. */
static resmon_status read_rows(struct rm_collect *collect, void *state, double *values)
{
    struct metric_rows *rows = state;
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

static void close_rows(void *state)
{
    struct metric_rows *rows = state;
    close_sets(rows->sets, rows->set_count);
}

/* ---- collectors ----------------------------------------------------------------------------- */

#define GROUP(name, ...)                                                      \
    static const uint16_t name[] = {__VA_ARGS__};                             \
    static resmon_status open_##name(struct rm_collect *collect, void *state) \
    {                                                                         \
        return open_rows(collect, state, name, RM_ARRAY_LEN(name));           \
    }

#define COLLECTOR(group, flag)                                                                  \
    .name = "perf_" #group, .domain = RM_DOMAIN_COUNTERS, .needs_flag = RM_FLAG_COUNTERS(flag), \
    RM_METRICS(group), .state_bytes = sizeof(struct metric_rows), .open = open_##group,         \
    .read = read_rows, .close = close_rows

/* Floating-point operations. */
GROUP(flops, RM_PERF_FLOPS_SP, RM_PERF_FLOPS_DP, RM_PERF_FLOPS_ANY, RM_PERF_VECTOR_RATIO)
const struct rm_collector rm_collect_perf_flops = {COLLECTOR(flops, RM_COUNTERS_FLOPS)};

/* Data transfers between L1 and L2. */
GROUP(l2, RM_PERF_L2_BANDWIDTH)
const struct rm_collector rm_collect_perf_l2 = {COLLECTOR(l2, RM_COUNTERS_L2)};

/* Requests to the L2, and misses. */
GROUP(l2cache, RM_PERF_L2_REQUEST_RATE, RM_PERF_L2_MISS_RATE, RM_PERF_L2_MISS_RATIO)
const struct rm_collector rm_collect_perf_l2cache = {COLLECTOR(l2cache, RM_COUNTERS_L2CACHE)};

/* Data transfers between L2 and L3. */
GROUP(l3, RM_PERF_L3_BANDWIDTH)
const struct rm_collector rm_collect_perf_l3 = {COLLECTOR(l3, RM_COUNTERS_L3)};

/* Requests to the L3, and misses. */
GROUP(l3cache, RM_PERF_L3_REQUEST_RATE, RM_PERF_L3_MISS_RATE, RM_PERF_L3_MISS_RATIO)
const struct rm_collector rm_collect_perf_l3cache = {COLLECTOR(l3cache, RM_COUNTERS_L3CACHE)};

/* Reads from memory: estimated by a proxy event, and by what answered the cores. */
GROUP(memory, RM_PERF_MEM_READ_BANDWIDTH, RM_PERF_MEM_LOCAL_BANDWIDTH, RM_PERF_MEM_REMOTE_BANDWIDTH)
const struct rm_collector rm_collect_perf_memory = {COLLECTOR(memory, RM_COUNTERS_MEMORY)};

/* ---- collector perf_running ----------------------------------------------------------------- */

static const uint16_t running_metrics[] = {RM_PERF_RUNNING};

struct running_state {
    const struct rm_counters *counters;
};

static resmon_status open_running(struct rm_collect *collect, void *state_)
{
    struct running_state *state = state_;
    state->counters = collect->counters;
    return state->counters != NULL && state->counters->set_count > 0
               ? RESMON_OK
               : rm_error(RESMON_ENODEV, "no hardware events are counted");
}

static resmon_status read_running(struct rm_collect *collect, void *state_, double *values)
{
    const struct running_state *state = state_;
    rm_counters_remark_lack(collect);
    for (size_t i = 0; i < state->counters->set_count; i++) {
        values[i] = 100.0 * state->counters->sets[i]->share;
    }
    return RESMON_OK;
}

static size_t count_sets(const void *state)
{
    return ((const struct running_state *)state)->counters->set_count;
}

static const char *name_of_set(const void *state, size_t index)
{
    return ((const struct running_state *)state)->counters->sets[index]->name;
}

const struct rm_collector rm_collect_perf_running = {
    .name = "perf_running",
    .domain = RM_DOMAIN_COUNTERS,
    .after = RM_AFTER("perf_events", "perf_flops", "perf_hardware", "perf_l2", "perf_l2cache",
                      "perf_l3", "perf_l3cache", "perf_memory", "tree"),
    RM_METRICS(running_metrics),
    .state_bytes = sizeof(struct running_state),
    .open = open_running,
    .read = read_running,
    .instances = count_sets,
    .instance_name = name_of_set,
};
