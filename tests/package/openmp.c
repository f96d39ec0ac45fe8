/* SPDX-License-Identifier: MIT */
/*
 * For openmp.sh: regions, loops, tasks and nested regions of a real runtime of OpenMP, and no line
 * of code for their threads.  Prints what is wrong.
 */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <omp.h>
#include <resmon/resmon.h>

#define THREADS 3
#define ROUNDS  5

static int failures;

static resmon_run_scope scope_at(const resmon_run *run, size_t index)
{
    resmon_run_scope scope = {.struct_size = sizeof scope};
    (void)resmon_run_get_scope(run, index, &scope);
    return scope;
}

static int64_t find(const resmon_run *run, int64_t parent, const char *name)
{
    for (size_t i = 0; i < resmon_run_scope_count(run); i++) {
        resmon_run_scope scope = scope_at(run, i);
        if (scope.parent == parent && strcmp(scope.name, name) == 0) {
            return (int64_t)i;
        }
    }
    printf("no scope %s inside of %lld\n", name, (long long)parent);
    failures++;
    return -2;
}

static void expect(const char *what, uint64_t found, uint64_t expected)
{
    if (found != expected) {
        printf("%s: %llu, not %llu\n", what, (unsigned long long)found,
               (unsigned long long)expected);
        failures++;
    }
}

static void run_regions(resmon_monitor *monitor)
{
    RESMON_SCOPE("regions");
    for (int i = 0; i < ROUNDS; i++) {
#pragma omp parallel num_threads(THREADS)
        {
            RESMON_SCOPE("chunk");
#pragma omp for
            for (int k = 0; k < 100; k++) {
                __asm__ volatile("" ::: "memory");
            }
        }
        resmon_run *run = NULL;
        if (resmon_monitor_scopes(monitor, &run) == RESMON_OK) { /* nobody is in it any more */
            int64_t regions = find(run, -1, "regions");
            expect("open", scope_at(run, (size_t)find(run, regions, "omp parallel")).open, 0);
        }
        resmon_run_free(run);
    }
}

static void run_tasks(void)
{
    RESMON_SCOPE("tasks");
#pragma omp parallel num_threads(THREADS)
#pragma omp single nowait
    for (int i = 0; i < 10; i++) {
#pragma omp task
        {
            RESMON_SCOPE("item");
        }
    }
}

static void run_nested(void)
{
    RESMON_SCOPE("nested");
    omp_set_max_active_levels(2);
#pragma omp parallel num_threads(2)
#pragma omp parallel num_threads(2)
    {
        RESMON_SCOPE("leaf");
    }
}

static void check(const resmon_run *run)
{
    int64_t regions = find(run, -1, "regions");
    int64_t parallel = find(run, regions, "omp parallel");
    int64_t chunk = find(run, parallel, "chunk");
    int64_t task = find(run, find(run, find(run, -1, "tasks"), "omp parallel"), "omp task");
    int64_t item = find(run, task, "item");
    int64_t leaf = find(run, find(run, find(run, -1, "nested"), "omp parallel"), "leaf");
    if (failures > 0) {
        return;
    }
    expect("scopes", resmon_run_scope_count(run), 10);
    expect("calls of a region", scope_at(run, (size_t)parallel).calls, ROUNDS * THREADS);
    expect("threads of a region", scope_at(run, (size_t)parallel).threads, THREADS);
    expect("concurrency", scope_at(run, (size_t)parallel).concurrent_ns > 0.0, 1);
    expect("of what is inside", scope_at(run, (size_t)chunk).concurrent_ns > 0.0, 0);
    expect("calls of a chunk", scope_at(run, (size_t)chunk).calls, ROUNDS * THREADS);
    expect("calls of a task", scope_at(run, (size_t)task).calls, 10);
    expect("calls of an item", scope_at(run, (size_t)item).calls, 10);
    expect("calls of a leaf", scope_at(run, (size_t)leaf).calls, 4);
}

int main(void)
{
    resmon_monitor_options options = {.struct_size = sizeof options, .scopes = RESMON_METER_WALL};
    resmon_monitor *monitor = NULL;
    resmon_run *run = NULL;
    omp_set_dynamic(0);
    if (resmon_monitor_new(&options, &monitor) != RESMON_OK ||
        resmon_monitor_start(monitor) != RESMON_OK) {
        printf("%s\n", resmon_last_error());
        return 1;
    }
    run_regions(monitor);
    run_tasks();
    run_nested();
    (void)resmon_monitor_stop(monitor);
    (void)resmon_monitor_snapshot(monitor, &run);
    check(run);
    resmon_run_free(run);
    resmon_monitor_free(monitor);
    return failures > 0 ? 1 : 0;
}
