/* SPDX-License-Identifier: MIT */
#include "store/run.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/status.h"

const char *const rm_series_names[RM_SERIES_KINDS] = {"last", "min", "max", "mean"};

struct resmon_run *rm_run_new(void)
{
    struct resmon_run *run = rm_alloc(1, sizeof *run);
    if (run != NULL) {
        run->references = 1;
        run->state = "";
        run->label = "";
        run->profile = rm_profile_none();
    }
    return run;
}

struct resmon_run *rm_run_ref(const struct resmon_run *run)
{
    union {
        const struct resmon_run *read;
        struct resmon_run *held;
    } both = {.read = run}; /* a holder more is no change that a reader sees */
    if (run != NULL) {
        (void)__atomic_add_fetch(&both.held->references, 1, __ATOMIC_RELAXED);
    }
    return both.held;
}

void rm_run_free(struct resmon_run *run)
{
    if (run == NULL || __atomic_sub_fetch(&run->references, 1, __ATOMIC_ACQ_REL) > 0) {
        return;
    }
    /* Everything that belongs to a run lives in its arena. */
    rm_arena_free(&run->strings);
    rm_arena_free(&run->working);
    rm_free(run);
}

struct rm_run_statistics rm_run_statistics_none(void)
{
    return (struct rm_run_statistics){
        .first = RM_NAN,
        .last = RM_NAN,
        .min = RM_NAN,
        .max = RM_NAN,
        .mean = RM_NAN,
        .integral = RM_NAN,
        .p50 = RM_NAN,
        .p95 = RM_NAN,
    };
}

int64_t rm_run_realtime_ns(const struct resmon_run *run, int64_t t_ns)
{
    int64_t start_ns = run->start_realtime_ns;
    if (t_ns > 0 && start_ns > INT64_MAX - t_ns) {
        return INT64_MAX;
    }
    return t_ns < 0 && start_ns < INT64_MIN - t_ns ? INT64_MIN : start_ns + t_ns;
}

static int compare_events(const void *left, const void *right)
{
    const struct rm_run_event *a = left, *b = right;
    if (a->thread != b->thread) {
        return a->thread < b->thread ? -1 : 1;
    }
    if (a->start_ns != b->start_ns) {
        return a->start_ns < b->start_ns ? -1 : 1;
    }
    return (a->depth > b->depth) - (a->depth < b->depth);
}

void rm_run_sort_events(struct resmon_run *run)
{
    qsort(run->events, run->event_count, sizeof *run->events, compare_events);
}

const struct rm_fact *rm_run_fact(const struct resmon_run *run, const char *group, const char *key)
{
    for (size_t i = 0; i < run->fact_count; i++) {
        if (strcmp(run->facts[i].group, group) == 0 && strcmp(run->facts[i].key, key) == 0) {
            return &run->facts[i];
        }
    }
    return NULL;
}

const char *rm_run_node_name(const struct resmon_run *run)
{
    const struct rm_fact *fact = rm_run_fact(run, "job", "node_name");
    if (fact == NULL || fact->value[0] == '\0') {
        fact = rm_run_fact(run, "machine", "host_name");
    }
    return fact != NULL ? fact->value : "";
}

bool rm_run_reports_host(const struct resmon_run *run)
{
    const struct rm_fact *fact = rm_run_fact(run, "job", "reports_host");
    return fact == NULL || fact->kind != RM_FACT_NUMBER || rm_fact_number(fact) != 0.0;
}

int64_t rm_run_find_column(const struct resmon_run *run, const char *metric, const char *instance)
{
    for (size_t i = 0; i < run->column_count; i++) {
        if (strcmp(run->columns[i].metric, metric) == 0 &&
            (instance == NULL || strcmp(run->columns[i].instance, instance) == 0)) {
            return (int64_t)i;
        }
    }
    return -1;
}
