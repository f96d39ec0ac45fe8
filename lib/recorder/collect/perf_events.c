/* SPDX-License-Identifier: MIT */
/*
 * Collector perf_events: the events that the options name, one instance each.
 */
#include "collect/collect.h"

static const uint16_t metrics[] = {RM_PERF_EVENT};

struct state {
    size_t count;
    struct rm_counter_set sets[RM_WANTED_EVENTS]; /* of one event each */
};

static resmon_status open_counters(struct rm_collect *collect, void *state_)
{
    struct state *state = state_;
    resmon_status status = rm_counters_open(collect);
    const struct rm_counters_wanted *wanted = collect->counters.wanted;
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

static resmon_status read_counters(struct rm_collect *collect, void *state_, double *values)
{
    struct state *state = state_;
    for (size_t i = 0; i < state->count; i++) {
        rm_counter_set_read(&state->sets[i]);
        values[i] = rm_counter_total(&state->sets[i].counters[0]);
    }
    rm_counters_remark_lack(collect);
    return RESMON_OK;
}

static void close_counters(void *state_)
{
    struct state *state = state_;
    for (size_t i = 0; i < state->count; i++) {
        rm_counter_set_close(&state->sets[i]);
    }
}

static size_t count_events(const void *state)
{
    return ((const struct state *)state)->count;
}

static const char *name_of_event(const void *state, size_t index)
{
    return ((const struct state *)state)->sets[index].name;
}

const struct rm_collector rm_collect_perf_events = {
    .name = "perf_events",
    .domain = RM_DOMAIN_COUNTERS,
    .after = RM_AFTER("tree"),
    .needs_flag = RM_FLAG_COUNTERS(RM_COUNTERS_EVENTS),
    RM_METRICS(metrics),
    .state_bytes = sizeof(struct state),
    .open = open_counters,
    .read = read_counters,
    .close = close_counters,
    .instances = count_events,
    .instance_name = name_of_event,
};
