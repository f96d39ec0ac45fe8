/* SPDX-License-Identifier: MIT */
/*
 * scope/ompt: what a runtime of OpenMP tells becomes scopes below the one that a region began in;
 * with a runtime that this test plays, in the order of LLVM's (tests/package/openmp.sh has a real
 * one).
 */
#define _GNU_SOURCE
#include "scopes.h"

#include <pthread.h>

#include "sanitizer.h"
#include "scope/ompt.h"

/* ---- a runtime ------------------------------------------------------------------------------ */

static rm_ompt_function callbacks[64];

static int set_callback(int event, rm_ompt_function callback)
{
    callbacks[event] = callback;
    return 5; /* ompt_set_always */
}

static rm_ompt_function lookup(const char *name)
{
    return strcmp(name, "ompt_set_callback") == 0 ? (rm_ompt_function)set_callback : NULL;
}

static rm_ompt_function lookup_nothing(const char *name)
{
    (void)name;
    return NULL;
}

static void begin_region(rm_ompt_data *parallel)
{
    rm_ompt_data encountering = {0};
    ((rm_ompt_parallel_begin)callbacks[RM_OMPT_PARALLEL_BEGIN])(&encountering, NULL, parallel, 2, 0,
                                                                NULL);
}

static void begin_implicit(rm_ompt_data *parallel, rm_ompt_data *task, unsigned index)
{
    ((rm_ompt_implicit_task)callbacks[RM_OMPT_IMPLICIT_TASK])(RM_OMPT_BEGIN, parallel, task, 2,
                                                              index, 2);
}

static void end_implicit(rm_ompt_data *task, unsigned index)
{
    ((rm_ompt_implicit_task)callbacks[RM_OMPT_IMPLICIT_TASK])(RM_OMPT_END, NULL, task, 0, index, 2);
}

static void barrier(rm_ompt_data *parallel, rm_ompt_data *task, int kind, const void *code)
{
    rm_ompt_sync_region sync = (rm_ompt_sync_region)callbacks[RM_OMPT_SYNC_REGION];
    sync(kind, RM_OMPT_BEGIN, parallel, task, code);
    if (code != NULL) {
        sync(kind, RM_OMPT_END, parallel, task, code);
    }
}

static void create(rm_ompt_data *encountering, rm_ompt_data *task)
{
    ((rm_ompt_task_create)callbacks[RM_OMPT_TASK_CREATE])(encountering, NULL, task,
                                                          RM_OMPT_TASK_EXPLICIT, 0, NULL);
}

static void schedule(rm_ompt_data *prior, int status, rm_ompt_data *next)
{
    ((rm_ompt_task_schedule)callbacks[RM_OMPT_TASK_SCHEDULE])(prior, status, next);
}

#define SWITCH 7 /* ompt_task_switch */

FIXTURE(register_tool)
{
    struct rm_ompt_result *tool = rm_ompt_tool();
    rm_ompt_data data = {0};
    return tool->initialize(lookup, 0, &data) == 1 ? 0 : -1;
}

/* ---- runs ----------------------------------------------------------------------------------- */

static resmon_monitor *started(void)
{
    return start_with(&(resmon_monitor_options){.scopes = RESMON_METER_WALL});
}

/* ---- regions -------------------------------------------------------------------------------- */

struct region {
    rm_ompt_data parallel;
    rm_ompt_data tasks[3]; /* explicit ones */
    resmon_monitor *monitor;
    int kind; /* of the barrier at the end */
};

/* With a barrier inside, and a scope around that. */
static void *run_worker(void *region_)
{
    struct region *region = region_;
    rm_ompt_data task = {0};
    begin_implicit(&region->parallel, &task, 1);
    {
        RESMON_SCOPE("chunk");
        barrier(&region->parallel, &task, RM_OMPT_BARRIER_IMPLICIT, &task);
    }
    barrier(&region->parallel, &task, region->kind, NULL);
    resmon_run *run = NULL;
    assert_ok(resmon_monitor_scopes(region->monitor, &run));
    resmon_run_scope parallel = scope_at(run, "train/omp parallel");
    assert_int_equal(parallel.open, 1); /* that of thread 0: it waits for the next region outside */
    resmon_run_free(run);
    end_implicit(&task, 1); /* told when the next one comes */
    return NULL;
}

static void run_region(int kind)
{
    struct region region = {.monitor = started(), .kind = kind};
    {
        RESMON_SCOPE("train");
        rm_ompt_data task = {0};
        begin_region(&region.parallel);
        begin_implicit(&region.parallel, &task, 0);
        {
            RESMON_SCOPE("chunk");
        }
        in_thread(run_worker, &region);
        end_implicit(&task, 0);
    }
    resmon_run *run = finish(region.monitor);
    assert_int_equal(resmon_run_scope_count(run), 3);
    resmon_run_scope parallel = scope_at(run, "train/omp parallel");
    resmon_run_scope chunk = scope_at(run, "train/omp parallel/chunk");
    assert_int_equal(parallel.calls, 2);
    assert_int_equal(parallel.threads, 2);
    assert_int_equal(chunk.calls, 2);
    assert_true(parallel.concurrent_ns > 0.0 && parallel.concurrent_ns < parallel.wall_ns);
    assert_int_equal(info_of(run).stale_ends + info_of(run).misordered_ends, 0);
    resmon_run_free(run);
}

TEST(threads_of_a_region_are_below_where_it_began)
{
    run_region(RM_OMPT_BARRIER_PARALLEL);
    run_region(RM_OMPT_BARRIER_IMPLICIT);
}

static void *run_inner_worker(void *parallel)
{
    rm_ompt_data task = {0};
    begin_implicit(parallel, &task, 1);
    barrier(parallel, &task, RM_OMPT_BARRIER_PARALLEL, NULL);
    end_implicit(&task, 1);
    return NULL;
}

/* A region inside of a region is a part of it: paths do not grow with the depth of nesting. */
TEST(nested_regions_are_one)
{
    resmon_monitor *monitor = started();
    rm_ompt_data outer = {0}, inner = {0}, task = {0}, inner_task = {0};
    begin_region(&outer);
    begin_implicit(&outer, &task, 0);
    begin_region(&inner);
    begin_implicit(&inner, &inner_task, 0);
    in_thread(run_inner_worker, &inner);
    end_implicit(&inner_task, 0);
    end_implicit(&task, 0);
    resmon_run *run = finish(monitor);
    assert_int_equal(resmon_run_scope_count(run), 1);
    assert_int_equal(scope_of(run, 0).calls, 2);
    assert_int_equal(scope_of(run, 0).folded, 1);
    resmon_run_free(run);
}

/* It executes a task that thread 0 created, waits in it, and executes another meanwhile. */
static void *execute(void *region_)
{
    struct region *region = region_;
    rm_ompt_data implicit = {0};
    begin_implicit(&region->parallel, &implicit, 1);
    barrier(&region->parallel, &implicit, RM_OMPT_BARRIER_PARALLEL, NULL);
    schedule(&implicit, SWITCH, &region->tasks[0]);
    {
        RESMON_SCOPE("item");
        schedule(&region->tasks[0], SWITCH, &region->tasks[1]);
        schedule(&region->tasks[1], RM_OMPT_TASK_COMPLETE, &region->tasks[0]);
    }
    schedule(&region->tasks[0], RM_OMPT_TASK_COMPLETE, &implicit);
    end_implicit(&implicit, 1);
    return NULL;
}

TEST(tasks_are_below_where_they_were_created)
{
    struct region region = {.monitor = started()};
    rm_ompt_data implicit = {0};
    {
        RESMON_SCOPE("train");
        begin_region(&region.parallel);
        begin_implicit(&region.parallel, &implicit, 0);
        for (int i = 0; i < 3; i++) {
            create(&implicit, &region.tasks[i]);
        }
        in_thread(execute, &region);
        schedule(&implicit, SWITCH, &region.tasks[2]); /* one of its own */
        schedule(&region.tasks[2], RM_OMPT_TASK_COMPLETE, &implicit);
        schedule(&implicit, 8, NULL); /* ompt_taskwait_complete */
        end_implicit(&implicit, 0);
    }
    resmon_run *run = finish(region.monitor);
    resmon_run_scope parallel = scope_at(run, "train/omp parallel");
    resmon_run_scope task = scope_at(run, "train/omp parallel/omp task");
    assert_int_equal(resmon_run_scope_count(run), 4);
    assert_int_equal(parallel.calls, 2);
    assert_int_equal(task.calls, 3);
    assert_int_equal(scope_at(run, "train/omp parallel/omp task/item").calls, 1);
    assert_int_equal(info_of(run).stale_ends + info_of(run).misordered_ends, 0);
    resmon_run_free(run);
}

/* Monitors that come or go in the middle of a region, and none at all. */
TEST(a_region_may_outlive_a_monitor)
{
    rm_ompt_data parallel = {0}, task = {0}, explicit_task = {0};
    begin_region(&parallel);
    begin_implicit(&parallel, &task, 0);
    create(&task, &explicit_task);
    resmon_monitor *monitor = started();
    in_thread(run_inner_worker, &parallel); /* of a handle that is none */
    end_implicit(&task, 0);
    begin_region(&parallel);
    begin_implicit(&parallel, &task, 0);
    resmon_run *run = finish(monitor);
    assert_int_equal(resmon_run_scope_count(run), 1);
    assert_int_equal(scope_of(run, 0).calls, 2);
    assert_int_equal(scope_of(run, 0).open, 1);
    resmon_run_free(run);
    schedule(&task, SWITCH, &explicit_task);
    schedule(&explicit_task, RM_OMPT_TASK_COMPLETE, &task);
    monitor = started();
    end_implicit(&task, 0);
    rm_ompt_data initial = {0};
    ((rm_ompt_implicit_task)callbacks[RM_OMPT_IMPLICIT_TASK])(RM_OMPT_BEGIN, &parallel, &initial, 1,
                                                              1, RM_OMPT_TASK_INITIAL);
    run = finish(monitor);
    assert_int_equal(resmon_run_scope_count(run), 0);
    resmon_run_free(run);
}

/* ---- registration --------------------------------------------------------------------------- */

TEST(who_names_another_tool_gets_that)
{
    rm_ompt_data data = {0};
    struct rm_ompt_result *const ours = HAS_THREAD_SANITIZER ? NULL : rm_ompt_tool(); /* Archer */
    assert_int_equal(rm_ompt_tool()->initialize(lookup_nothing, 0, &data), 0);
    (void)unsetenv("OMP_TOOL_LIBRARIES");
    assert_ptr_equal(ompt_start_tool(201611, "test"), ours);
    (void)setenv("OMP_TOOL_LIBRARIES", "", 1);
    assert_ptr_equal(ompt_start_tool(201611, "test"), ours);
    (void)setenv("OMP_TOOL_LIBRARIES", "/usr/lib/libresmon.so", 1);
    assert_ptr_equal(ompt_start_tool(201611, "test"), ours);
    (void)setenv("OMP_TOOL_LIBRARIES", "libother.so", 1);
    assert_null(ompt_start_tool(201611, "test"));
    (void)unsetenv("OMP_TOOL_LIBRARIES");
}

TEST_FILE(.set_up = register_tool);
