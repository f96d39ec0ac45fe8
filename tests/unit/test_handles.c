/* SPDX-License-Identifier: MIT */
/*
 * scope: handles, scopes that are begun under them on other threads, and tasks: where they stand in
 * a run, whose time is whose, and what becomes of handles that mean nothing.
 */
#define _GNU_SOURCE
#include "scopes.h"

#include <pthread.h>
#include <unistd.h>

#include "format/json.h"
#include "sanitizer.h"
#include "scope/scope.h"
#include "scope/site.h"

static uint64_t begin_under(uint64_t under, const char *name)
{
    return resmon_scope_begin_under(site(name), under, 0);
}

static resmon_task *task(uint64_t under, const char *name, uint64_t flags)
{
    resmon_task *made = NULL;
    assert_ok(resmon_task_begin(site(name), under, flags, &made));
    return made;
}

static resmon_monitor *started(void)
{
    return start_with(&(resmon_monitor_options){.scopes = RESMON_METER_WALL});
}

/* Two times that are one sum of ticks, turned into nanoseconds in another order. */
static void assert_ns(double found, double expected)
{
    assert_near(found, expected, 1e-9 * expected + 1e-3);
}

struct job {
    uint64_t under;
    const char *around; /* a scope that the thread has open before */
    uint64_t here;
};

static void *work(void *job_)
{
    struct job *job = job_;
    uint64_t around = job->around != NULL ? begin(job->around) : 0;
    uint64_t scope = begin_under(job->under, "work");
    uint64_t step = begin("step");
    job->here = resmon_scope_here();
    resmon_scope_end(step);
    resmon_scope_end(scope);
    resmon_scope_end(around);
    return NULL;
}

/* ---- handles -------------------------------------------------------------------------------- */

TEST(a_handle_is_of_the_path)
{
    assert_true(resmon_scope_here() == 0);
    resmon_monitor *monitor = started();
    assert_true(resmon_scope_here() == 0);
    uint64_t train = begin("train");
    uint64_t of_train = resmon_scope_here();
    assert_true(of_train != 0 && resmon_scope_here() == of_train);
    uint64_t epoch = begin("epoch");
    uint64_t of_epoch = resmon_scope_here();
    assert_true(of_epoch != 0 && of_epoch != of_train);
    resmon_scope_end(epoch);
    assert_true(resmon_scope_here() == of_train);
    epoch = begin("epoch");
    assert_true(resmon_scope_here() == of_epoch); /* of each instance */
    resmon_scope_end(epoch);
    resmon_scope_end(train);
    assert_true(resmon_scope_here() == 0);
    resmon_run_free(finished(monitor));
}

TEST(a_worker_stands_below_who_started_it)
{
    resmon_monitor *monitor = started();
    uint64_t train = begin("train");
    struct job job = {.under = resmon_scope_here()};
    for (int i = 0; i < 3; i++) {
        in_thread(work, &job);
    }
    resmon_scope_end(train);
    resmon_run *run = finished(monitor);
    assert_int_equal(resmon_run_scope_count(run), 3);
    resmon_run_scope outer = scope_at(run, "train");
    resmon_run_scope worker = scope_at(run, "train/work");
    resmon_run_scope step = scope_at(run, "train/work/step");
    assert_int_equal(outer.calls, 1);
    assert_int_equal(outer.threads, 1); /* the workers were never in it themselves */
    assert_int_equal(worker.calls, 3);
    assert_int_equal(worker.threads, 3);
    assert_ns(outer.self_ns, outer.wall_ns);
    assert_ns(worker.concurrent_ns, worker.wall_ns);
    assert_ns(worker.self_ns, worker.wall_ns - step.wall_ns);
    assert_true(step.concurrent_ns == 0.0 && outer.concurrent_ns == 0.0);
    resmon_run_free(run);
}

TEST(a_handle_outlives_its_scope_and_thread)
{
    resmon_monitor *monitor = started();
    struct job first = {.under = 0}, second = {.under = 0};
    in_thread(work, &first); /* at the top */
    second.under = first.here;
    in_thread(work, &second);
    resmon_run *run = finished(monitor);
    assert_int_equal(resmon_run_scope_count(run), 4);
    assert_int_equal(scope_at(run, "work").calls, 1);
    assert_true(scope_at(run, "work").concurrent_ns == 0.0);
    assert_int_equal(scope_at(run, "work/step/work").calls, 1);
    assert_int_equal(scope_at(run, "work/step/work/step").calls, 1);
    resmon_run_free(run);
}

TEST(who_gave_the_work_does_it)
{
    resmon_monitor *monitor = started();
    uint64_t train = begin("train");
    uint64_t here = resmon_scope_here();
    struct job job = {.under = here};
    (void)work(&job); /* at once */
    resmon_run *run = scopes_of(monitor);
    assert_true(scope_at(run, "train/work").concurrent_ns == 0.0);
    double own_ns = scope_at(run, "train/work").wall_ns;
    resmon_run_free(run);
    uint64_t wait = begin("wait");
    (void)work(&job); /* or while waiting */
    resmon_scope_end(wait);
    resmon_scope_end(train);
    run = finished(monitor);
    assert_int_equal(resmon_run_scope_count(run), 4);
    resmon_run_scope outer = scope_at(run, "train");
    resmon_run_scope both = scope_at(run, "train/work");
    resmon_run_scope waits = scope_at(run, "train/wait");
    assert_int_equal(both.calls, 2);
    assert_true(both.concurrent_ns > 0.0 && both.concurrent_ns < both.wall_ns);
    /* To the tick one of the two; which, by a clock that was compared with few ticks. */
    double alone_ns = both.wall_ns - both.concurrent_ns;
    bool is_least = fabs(alone_ns - both.wall_min_ns) < fabs(alone_ns - both.wall_max_ns);
    assert_ns(alone_ns, is_least ? both.wall_min_ns : both.wall_max_ns);
    assert_near(alone_ns, own_ns, 0.05 * own_ns);
    assert_ns(waits.self_ns, waits.wall_ns - both.concurrent_ns);
    assert_ns(outer.self_ns, outer.wall_ns - (both.wall_ns - both.concurrent_ns) - waits.wall_ns);
    resmon_run_free(run);
}

/* Thread 0 of a team is inside, the others are beside: one row, and the time of one is subtracted.
 */
TEST(a_row_may_be_both)
{
    resmon_monitor *monitor = started();
    uint64_t train = begin("train");
    struct job job = {.under = resmon_scope_here()};
    in_thread(work, &job);
    (void)work(&job);
    resmon_scope_end(train);
    resmon_run *run = finished(monitor);
    resmon_run_scope outer = scope_at(run, "train");
    resmon_run_scope row = scope_at(run, "train/work");
    assert_int_equal(row.calls, 2);
    assert_int_equal(row.threads, 2);
    assert_true(row.concurrent_ns > 0.0 && row.concurrent_ns < row.wall_ns);
    assert_ns(outer.self_ns, outer.wall_ns - (row.wall_ns - row.concurrent_ns));
    resmon_run_free(run);
}

TEST(what_a_thread_has_open_around_keeps_its_place)
{
    resmon_monitor *monitor = started();
    uint64_t train = begin("train");
    struct job job = {.under = resmon_scope_here(), .around = "pool"};
    in_thread(work, &job);
    in_thread(work, &job);
    resmon_scope_end(train);
    resmon_run *run = finished(monitor);
    assert_int_equal(resmon_run_scope_count(run), 4);
    resmon_run_scope pool = scope_at(run, "pool");
    resmon_run_scope worker = scope_at(run, "train/work");
    assert_int_equal(pool.calls, 2);
    assert_int_equal(worker.calls, 2);
    assert_ns(pool.self_ns, pool.wall_ns - worker.wall_ns); /* its time went there */
    assert_int_equal(scope_at(run, "train/work/step").calls, 2);
    assert_int_equal(info_of(run).misordered_ends + info_of(run).stale_ends, 0);
    resmon_run_free(run);
}

static void *leave_open(void *job_)
{
    struct job *job = job_;
    (void)begin("pool");
    (void)begin_under(job->under, "work");
    (void)begin("step");
    return NULL;
}

TEST(what_a_worker_leaves_open_is_closed_at_its_end)
{
    resmon_monitor *monitor = started();
    uint64_t train = begin("train");
    struct job job = {.under = resmon_scope_here()};
    in_thread(leave_open, &job);
    resmon_scope_end(train);
    resmon_run *run = finished(monitor);
    assert_int_equal(info_of(run).misordered_ends, 3);
    resmon_run_scope worker = scope_at(run, "train/work");
    assert_int_equal(worker.calls, 1);
    assert_ns(scope_at(run, "pool").self_ns, scope_at(run, "pool").wall_ns - worker.wall_ns);
    resmon_run_free(run);
}

static void *take_handle(void *job_)
{
    struct job *job = job_;
    uint64_t train = begin("train");
    job->under = resmon_scope_here();
    resmon_scope_end(train);
    return NULL;
}

TEST(what_the_end_of_the_program_ends_keeps_its_place)
{
    resmon_monitor *monitor = started();
    struct rm_scope_session *session = rm_session_current();
    struct job job = {.under = 0};
    in_thread(take_handle, &job);
    (void)leave_open(&job);
    rm_scope_end_with_program(&session->block);
    rm_session_unref(session);
    resmon_run *run = finished(monitor);
    resmon_run_scope worker = scope_at(run, "train/work");
    assert_int_equal(worker.ended_at_exit, 1);
    assert_ns(scope_at(run, "pool").self_ns, scope_at(run, "pool").wall_ns - worker.wall_ns);
    resmon_run_free(run);
}

static void *recurse(void *under_)
{
    const uint64_t *under = under_;
    uint64_t scope = begin_under(*under, "task");
    uint64_t folded = begin("task"); /* direct recursion, as ever */
    uint64_t here = resmon_scope_here();
    static int left = 20;
    if (--left > 0) {
        in_thread(recurse, &here);
    }
    resmon_scope_end(folded);
    resmon_scope_end(scope);
    return NULL;
}

TEST(work_that_begets_work_of_its_name_does_not_go_deeper)
{
    resmon_monitor *monitor = started();
    uint64_t train = begin("train");
    uint64_t here = resmon_scope_here();
    in_thread(recurse, &here);
    resmon_scope_end(train);
    resmon_run *run = finished(monitor);
    assert_int_equal(resmon_run_scope_count(run), 2);
    assert_int_equal(scope_at(run, "train/task").calls, 20);
    assert_int_equal(scope_at(run, "train/task").folded, 20);
    assert_int_equal(scope_at(run, "train/task").threads, 20);
    resmon_run_free(run);
}

/* ---- handles that mean nothing -------------------------------------------------------------- */

TEST(a_stale_handle_is_none)
{
    resmon_monitor *monitor = started();
    uint64_t train = begin("train");
    struct job job = {.under = resmon_scope_here()};
    resmon_scope_end(train);
    resmon_run_free(finished(monitor));
    assert_true(begin_under(job.under, "work") == 0); /* nothing is measured */
    monitor = started();
    in_thread(work, &job);
    job.under = UINT64_MAX;
    in_thread(work, &job);
    job.under = resmon_scope_here() | UINT64_C(0x100000001);
    in_thread(work, &job);
    resmon_run *run = finished(monitor);
    assert_int_equal(resmon_run_scope_count(run), 2);
    assert_int_equal(scope_at(run, "work").calls, 3);
    assert_true(scope_at(run, "work").concurrent_ns == 0.0);
    assert_int_equal(info_of(run).stale_ends, 3);
    resmon_run_free(run);
}

TEST(past_the_bound_of_paths_there_is_no_handle)
{
    resmon_monitor *monitor = start_with(&(resmon_monitor_options){
        .scopes = RESMON_METER_WALL, .scope_paths = RM_SCOPE_PATHS + 100});
    uint64_t with = 0;
    for (unsigned i = 0; i < RM_SCOPE_PATHS + 10; i++) {
        char name[32];
        (void)snprintf(name, sizeof name, "path %u", i);
        uint64_t scope = begin(name);
        with += resmon_scope_here() != 0 ? 1 : 0;
        resmon_scope_end(scope);
    }
    assert_int_equal(with, RM_SCOPE_PATHS - 1);
    resmon_run *run = finished(monitor);
    assert_int_equal(info_of(run).dropped_paths, 11);
    resmon_run_free(run);
}

/* A handle as deep as scopes can be, and what is begun under it and inside. */
TEST(trees_are_no_deeper_than_the_bound)
{
    resmon_monitor *monitor =
        start_with(&(resmon_monitor_options){.scopes = RESMON_METER_WALL, .scope_depth = 4});
    uint64_t tokens[3];
    for (size_t i = 0; i < 3; i++) {
        tokens[i] = begin((const char *[]){"a", "b", "c"}[i]);
    }
    struct job job = {.under = resmon_scope_here()};
    in_thread(work, &job); /* "step" is one too deep */
    uint64_t deepest = begin("d");
    job.under = resmon_scope_here();
    in_thread(work, &job);
    resmon_scope_end(deepest);
    for (size_t i = 3; i-- > 0;) {
        resmon_scope_end(tokens[i]);
    }
    resmon_run *run = finished(monitor);
    assert_int_equal(scope_at(run, "a/b/c/work").calls, 1);
    assert_int_equal(find(run, "a/b/c/work/step"), -1);
    assert_int_equal(find(run, "a/b/c/d/work"), -1);
    assert_int_equal(info_of(run).dropped_paths, 2);
    /* And the second "step", inside of what is not measured. */
    assert_int_equal(info_of(run).dropped_scopes, 2 + 1);
    resmon_run_free(run);
}

TEST(the_child_of_a_fork_has_no_handles)
{
    resmon_monitor *monitor = started();
    uint64_t train = begin("train");
    uint64_t here = resmon_scope_here();
    resmon_task *open = task(here, "task", 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        bool is_right = resmon_scope_here() == 0 && begin_under(here, "work") == 0;
        resmon_task_end(open);
        if (!HAS_THREAD_SANITIZER) { /* a child has no threads there */
            resmon_monitor *own = started();
            resmon_scope_end(begin_under(here, "work"));
            resmon_run *run = finished(own);
            is_right = is_right && resmon_run_scope_count(run) == 1 && info_of(run).stale_ends == 1;
            resmon_run_free(run);
        }
        _exit(is_right ? 0 : 1);
    }
    assert_exits(child, 0);
    resmon_task_end(open);
    resmon_scope_end(train);
    resmon_run *run = finished(monitor);
    assert_int_equal(scope_at(run, "train/task").calls, 1);
    resmon_run_free(run);
}

/* ---- looks at a running program ------------------------------------------------------------- */

static void *stay_open(void *job_)
{
    struct job *job = job_;
    resmon_monitor *monitor = (resmon_monitor *)(uintptr_t)job->here;
    uint64_t pool = begin("pool");
    uint64_t scope = begin_under(job->under, "work");
    uint64_t step = begin("step");
    resmon_run *run = scopes_of(monitor);
    resmon_run_scope worker = scope_at(run, "train/work");
    assert_int_equal(worker.open, 1);
    assert_int_equal(worker.calls, 1);
    assert_true(worker.open_ns > 0.0);
    assert_ns(worker.concurrent_ns, worker.open_ns);
    assert_int_equal(scope_at(run, "train/work/step").open, 1);
    assert_int_equal(scope_at(run, "train").open, 1);
    assert_ns(scope_at(run, "train").self_ns, scope_at(run, "train").open_ns);
    assert_ns(scope_at(run, "pool").self_ns, scope_at(run, "pool").open_ns - worker.open_ns);
    resmon_run_free(run);
    resmon_scope_end(step);
    resmon_scope_end(scope);
    resmon_scope_end(pool);
    return NULL;
}

TEST(an_open_worker_is_seen_where_it_hangs)
{
    resmon_monitor *monitor = started();
    uint64_t train = begin("train");
    struct job job = {.under = resmon_scope_here(), .here = (uint64_t)(uintptr_t)monitor};
    in_thread(stay_open, &job);
    resmon_scope_end(train);
    resmon_run *run = finished(monitor);
    assert_int_equal(scope_at(run, "train/work").open, 0);
    resmon_run_free(run);
}

static struct {
    uint32_t count, fitting;
    char names[3][RM_SITE_NAME_BYTES];
} looked;

static void *look_at_sites(void *job_)
{
    struct job *job = job_;
    uint32_t sites[8];
    uint64_t pool = begin("pool");
    uint64_t scope = begin_under(job->under, "work");
    uint64_t step = begin("step");
    struct rm_scope_session *session = rm_session_current();
    looked.count = rm_scope_open_sites(&session->block, sites, 8);
    for (uint32_t i = 0; i < looked.count && i < 3; i++) {
        memcpy(looked.names[i], rm_site_at(&session->block, sites[i])->name, RM_SITE_NAME_BYTES);
    }
    looked.fitting = rm_scope_open_sites(&session->block, sites, 2);
    rm_session_unref(session);
    resmon_scope_end(step);
    resmon_scope_end(scope);
    resmon_scope_end(pool);
    return NULL;
}

TEST(stacks_of_a_worker_are_of_where_it_hangs)
{
    resmon_monitor *monitor = started();
    uint64_t train = begin("train");
    struct job job = {.under = resmon_scope_here()};
    in_thread(look_at_sites, &job);
    resmon_scope_end(train);
    assert_int_equal(looked.count, 3);
    assert_string_equal(looked.names[0], "train");
    assert_string_equal(looked.names[1], "work");
    assert_string_equal(looked.names[2], "step");
    assert_int_equal(looked.fitting, 2);
    resmon_run_free(finished(monitor));
}

/* ---- tasks ---------------------------------------------------------------------------------- */

static void *end_task(void *task_)
{
    resmon_task_end(task_);
    return NULL;
}

TEST(tasks_overlap_and_end_anywhere)
{
    resmon_monitor *monitor = started();
    uint64_t train = begin("train");
    uint64_t here = resmon_scope_here();
    resmon_task *first = task(here, "request", 0);
    resmon_task *second = task(here, "request", 0);
    resmon_task *inner = task(resmon_task_here(first), "query", RESMON_INSIDE);
    resmon_task *child = task(resmon_task_here(second), "child", 0);
    resmon_run *run = scopes_of(monitor);
    assert_int_equal(scope_at(run, "train/request").open, 2);
    assert_true(scope_at(run, "train/request").open_ns > 0.0);
    assert_int_equal(scope_at(run, "train/request/query").open, 1);
    resmon_run_free(run);
    resmon_task_end(first); /* before what is inside: no order is asked for */
    in_thread(end_task, second);
    in_thread(end_task, inner);
    resmon_task_end(child);
    resmon_scope_end(train);
    run = finished(monitor);
    resmon_run_scope request = scope_at(run, "train/request");
    resmon_run_scope query = scope_at(run, "train/request/query");
    assert_int_equal(request.calls, 2);
    assert_int_equal(request.open, 0);
    assert_true(request.open_ns == 0.0);
    assert_ns(request.concurrent_ns, request.wall_ns);
    assert_true(query.concurrent_ns == 0.0);
    assert_ns(request.self_ns, fmax(request.wall_ns - query.wall_ns, 0.0));
    assert_ns(scope_at(run, "train").self_ns, scope_at(run, "train").wall_ns);
    assert_ns(scope_at(run, "train/request/child").concurrent_ns,
              scope_at(run, "train/request/child").wall_ns);
    assert_true(isnan(request.energy_j));
    assert_true(request.wall_ns >= request.wall_max_ns);
    resmon_run_free(run);
}

static void *begin_task(void *task_)
{
    resmon_task **ret_task = task_;
    *ret_task = task(0, "request", 0);
    return NULL;
}

/* The thread that began it is gone, with its tree, when it ends; and the other way round. */
TEST(tasks_outlive_threads)
{
    resmon_monitor *monitor = started();
    resmon_task *made[10];
    for (size_t i = 0; i < 10; i++) {
        in_thread(begin_task, &made[i]);
    }
    resmon_run *run = scopes_of(monitor);
    assert_int_equal(scope_at(run, "request").open, 10);
    assert_int_equal(scope_at(run, "request").calls, 10);
    resmon_run_free(run);
    for (size_t i = 0; i < 9; i++) {
        in_thread(end_task, made[i]);
    }
    run = finished(monitor);
    assert_int_equal(scope_at(run, "request").open, 1);
    assert_int_equal(scope_at(run, "request").calls, 10);
    resmon_task_end(made[9]); /* after the stop */
    resmon_run_free(run);
}

TEST(a_task_inside_of_one_of_its_name_is_a_part_of_that)
{
    resmon_monitor *monitor = started();
    resmon_task *outer = task(0, "fib", 0);
    resmon_task *inner = task(resmon_task_here(outer), "fib", RESMON_INSIDE);
    assert_true(resmon_task_here(inner) == resmon_task_here(outer));
    resmon_task *beside = task(resmon_task_here(inner), "fib", 0);
    assert_true(resmon_task_here(beside) == resmon_task_here(outer));
    resmon_task_end(beside);
    resmon_task_end(inner);
    resmon_task_end(outer);
    resmon_run *run = finished(monitor);
    assert_int_equal(resmon_run_scope_count(run), 1);
    assert_int_equal(scope_at(run, "fib").calls, 2);
    resmon_run_free(run);
}

/* A function that a coroutine calls: it has a thread while it runs. */
TEST(a_thread_does_a_part_of_a_task)
{
    resmon_monitor *monitor = started();
    uint64_t loop = begin("loop");
    resmon_task *request = task(resmon_scope_here(), "request", 0);
    uint64_t here = resmon_task_here(request);
    uint64_t part = resmon_scope_begin_under(site("parse"), here, RESMON_INSIDE);
    uint64_t folded = resmon_scope_begin_under(site("parse"), resmon_scope_here(), RESMON_INSIDE);
    resmon_run *run = scopes_of(monitor);
    assert_int_equal(scope_at(run, "loop/request/parse").open, 1);
    assert_true(scope_at(run, "loop/request/parse").concurrent_ns == 0.0);
    assert_ns(scope_at(run, "loop").self_ns,
              scope_at(run, "loop").open_ns - scope_at(run, "loop/request/parse").open_ns);
    resmon_run_free(run);
    resmon_scope_end(folded);
    resmon_scope_end(part);
    resmon_task_end(request);
    resmon_scope_end(loop);
    run = finished(monitor);
    resmon_run_scope parse = scope_at(run, "loop/request/parse");
    assert_int_equal(parse.calls, 1);
    assert_int_equal(parse.folded, 1);
    assert_true(parse.concurrent_ns == 0.0);
    assert_ns(scope_at(run, "loop/request").self_ns,
              scope_at(run, "loop/request").wall_ns - parse.wall_ns);
    assert_ns(scope_at(run, "loop").self_ns, scope_at(run, "loop").wall_ns - parse.wall_ns);
    resmon_run_free(run);
}

TEST(tasks_have_the_meters_of_the_process)
{
    resmon_monitor *monitor = start_with(&(resmon_monitor_options){
        .scopes = RESMON_METER_WALL | RESMON_METER_CPU | RESMON_METER_RSS | RESMON_METER_IO,
        .max_meter_share = 1e9});
    resmon_task *outer = task(0, "request", 0);
    in_thread(end_task, outer);
    resmon_run *run = finished(monitor);
    resmon_run_scope request = scope_at(run, "request");
    assert_int_equal(request.cpu_calls, 0); /* no thread is in it all the time */
    assert_int_equal(request.rss_calls, 1);
    assert_true(request.io_calls <= 1); /* where there is I/O accounting */
    resmon_run_free(run);
}

static void *fail_and_end_task(void *made)
{
    resmon_task_fail(made);
    resmon_task_fail(made);
    resmon_task_end(made);
    return NULL;
}

TEST(tasks_that_failed_are_counted)
{
    resmon_task_fail(NULL);
    resmon_monitor *monitor = started();
    in_thread(fail_and_end_task, task(0, "request", 0));
    resmon_task_end(task(0, "request", 0));
    resmon_run *run = finished(monitor);
    assert_int_equal(scope_at(run, "request").calls, 2);
    assert_int_equal(scope_at(run, "request").failed, 1);
    resmon_run_free(run);
}

TEST(tasks_without_a_monitor_are_nothing)
{
    resmon_task *made = task(0, "request", 0);
    assert_null(made);
    assert_true(resmon_task_here(NULL) == 0);
    resmon_task_end(NULL);
    assert_int_equal(resmon_task_begin(NULL, 0, 0, &made), RESMON_EINVAL);
    assert_int_equal(resmon_task_begin(site("request"), 0, 2, &made), RESMON_EINVAL);
    assert_int_equal(resmon_task_begin(site("request"), 0, 0, NULL), RESMON_EINVAL);
    resmon_monitor *first = started();
    made = task(0, "request", 0);
    resmon_run_free(finished(first));
    resmon_monitor *second = started();
    resmon_task_end(made); /* of a session that is over */
    resmon_run *run = finished(second);
    assert_int_equal(resmon_run_scope_count(run), 0);
    assert_int_equal(info_of(run).stale_ends, 1);
    resmon_run_free(run);
}
