/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* RTLD_NEXT, secure_getenv */
/*
 * Scopes without a frame on a thread's stack: tasks, and the threads and tasks of OpenMP.
 */
#include "scope/ompt.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <resmon/monitor.h>
#include <resmon/scope.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/compiler.h"
#include "base/fork.h"
#include "base/status.h"
#include "scope/scope.h"
#include "scope/site.h"
#include "store/scope_tree.h"

/* ---- tasks ---------------------------------------------------------------------------------- */

/*
 * A task is an object of its own.  At its end, its values go to the node of its path in the tree
 * of the thread that ends it.  The count of open tasks is increased in the node where it began,
 * and decreased in the node where it ended.
 */

/* Meters of a thread are not valid for a task, which may move between threads. */
#define METERS_OF_THREADS ((uint32_t)(RESMON_METER_CPU | RESMON_METER_PERF))

struct resmon_task {
    uint32_t session; /* number of the session */
    uint32_t forks;
    resmon_site *site;
    uint32_t above; /* parent path */
    uint32_t kind;  /* RM_NODE_* */
    uint32_t own;   /* own path; `above` if there is no capacity, or if it is a part of that */
    bool is_part;   /* a part of the scope around it: not counted */
    bool has_failed;
    uint64_t start; /* ticks */
    struct rm_meter_frame meters;
};

static void place(struct resmon_task *task, struct rm_scope_session *session, uint64_t under,
                  uint64_t flags)
{
    uint32_t path = rm_session_path(session, under);
    bool is_inside = (flags & RESMON_INSIDE) != 0 && path != 0;
    task->kind = is_inside ? RM_NODE_TASK_INSIDE : RM_NODE_TASK;
    task->above = rm_session_path_above(session, path, rm_site_number(task->site));
    task->is_part = is_inside && task->above != path;
    task->own = path;
}

/* The task's node in this thread's tree; NULL: none, which is counted. */
static struct rm_scope_node *node_for(const struct resmon_task *task,
                                      struct rm_scope_thread *thread)
{
    struct rm_block_header *header = thread->session->block.header;
    if (thread->record == NULL) {
        (void)RM_FETCH_ADD(&header->dropped_scopes, 1);
        return NULL;
    }
    struct rm_scope_node *parent = rm_session_follow(thread, task->above);
    return parent != NULL ? rm_session_child_of_kind(thread, parent, task->site,
                                                     rm_site_number(task->site), task->kind)
                          : NULL;
}

resmon_status resmon_task_begin(resmon_site *site, uint64_t under, uint64_t flags,
                                resmon_task **ret_task)
{
    RM_KEEP_ERRNO;
    if (site == NULL || ret_task == NULL || (flags & ~(uint64_t)RESMON_INSIDE) != 0) {
        return rm_error(RESMON_EINVAL,
                        "a task needs a site, known flags and a place for the result");
    }
    struct rm_scope_thread *thread = rm_scope_attached();
    if (thread == NULL) {
        *ret_task = NULL;
        return RESMON_OK;
    }
    struct rm_scope_session *session = thread->session;
    struct resmon_task *task = rm_alloc(1, sizeof *task);
    if (task == NULL) {
        return rm_error(RESMON_ENOMEM, "out of memory for the task '%s'", site->name);
    }
    task->session = session->number;
    task->forks = rm_forks();
    task->site = site;
    task->meters.without = METERS_OF_THREADS;
    place(task, session, under, flags);
    struct rm_scope_node *node = task->is_part ? NULL : node_for(task, thread);
    if (node != NULL) {
        uint32_t own = rm_session_path_of(session, node);
        task->own = own != 0 ? own : task->own;
        uint64_t now = rm_meters_begin(&session->metering, node, &task->meters, 0);
        task->start = now != 0 ? now : rm_clock_ticks();
        rm_node_open_task(node, task->start);
    }
    task->is_part = node == NULL;
    *ret_task = task;
    return RESMON_OK;
}

uint64_t resmon_task_here(const resmon_task *task)
{
    return task != NULL && task->own != 0 ? (uint64_t)task->session << 32 | task->own : 0;
}

static void count(struct resmon_task *task, struct rm_scope_thread *thread, uint64_t now)
{
    struct rm_scope_node *node = node_for(task, thread);
    if (node == NULL) {
        rm_meters_abandon(&task->meters);
        return; /* the task stays open */
    }
    uint64_t ticks = now > task->start ? now - task->start : 0;
    rm_node_add_instance(node, ticks);
    rm_node_close_task(node, task->start);
    if (task->has_failed) {
        rm_node_count_failure(node);
    }
    rm_meters_end(&thread->session->metering, node, &task->meters, ticks);
}

void resmon_task_fail(resmon_task *task)
{
    if (task != NULL) {
        task->has_failed = true;
    }
}

void resmon_task_end(resmon_task *task)
{
    RM_KEEP_ERRNO;
    uint64_t now = rm_clock_ticks();
    if (task == NULL) {
        return;
    }
    struct rm_scope_thread *thread = rm_scope_attached();
    bool is_of_session = thread != NULL && thread->session->number == task->session;
    if (!task->is_part && is_of_session) {
        count(task, thread, now);
    } else if (!task->is_part && task->forks == rm_forks()) {
        rm_meters_abandon(&task->meters); /* its monitor was stopped */
        rm_session_count_stale_end();
    }
    rm_free(task);
}

/* ---- OpenMP --------------------------------------------------------------------------------- */

/*
 * The threads of a parallel region are in a scope "omp parallel" below the scope in which the
 * region began.  A thread that executes an explicit task is in a scope "omp task" below the
 * scope in which the task was created.  Runs on threads of the program, at the begin and end of
 * regions and tasks.
 */

static resmon_site region = {"omp parallel", "", "", 0, 0};
static resmon_site explicit_task = {"omp task", "", "", 0, 0};

/* Flag in the data of an explicit task that has not begun; the other bits are a handle.  No token
 * has this bit. */
#define NOT_BEGUN (UINT64_C(1) << 63)

/* ---- callbacks -------------------------------------------------------------------------- */

static void on_parallel_begin(rm_ompt_data *encountering, const void *frame, rm_ompt_data *parallel,
                              unsigned wanted, int flags, const void *code)
{
    (void)encountering, (void)frame, (void)wanted, (void)flags, (void)code;
    parallel->value = resmon_scope_here();
}

static void end_scope(rm_ompt_data *task)
{
    uint64_t scope = task->value;
    task->value = 0;
    if (scope != 0) {
        resmon_scope_end(scope);
    }
}

/* The primary thread, 0, stays in its own scope. */
static void on_implicit_task(int endpoint, rm_ompt_data *parallel, rm_ompt_data *task,
                             unsigned threads, unsigned index, int flags)
{
    (void)threads;
    if ((flags & RM_OMPT_TASK_INITIAL) != 0) {
        return;
    }
    if (endpoint == RM_OMPT_END) {
        end_scope(task);
    } else if (index == 0 || parallel == NULL) {
        task->value = resmon_scope_begin(&region);
    } else {
        task->value = resmon_scope_begin_under(&region, parallel->value, 0);
    }
}

/* The runtime reports the end of a worker's implicit task when the worker gets the next one, or
 * never.  The worker's arrival at the region's last barrier is reported in time.  Runtimes that do
 * not distinguish this barrier from those inside the region (LLVM before 15) give a code address
 * for the latter only. */
static void on_sync_region(int kind, int endpoint, rm_ompt_data *parallel, rm_ompt_data *task,
                           const void *code)
{
    (void)parallel;
    bool is_of_region =
        kind == RM_OMPT_BARRIER_PARALLEL || (kind == RM_OMPT_BARRIER_IMPLICIT && code == NULL);
    if (is_of_region && endpoint == RM_OMPT_BEGIN && task != NULL) {
        end_scope(task);
    }
}

static void on_task_create(rm_ompt_data *encountering, const void *frame, rm_ompt_data *task,
                           int flags, int has_dependences, const void *code)
{
    (void)encountering, (void)frame, (void)has_dependences, (void)code;
    if ((flags & RM_OMPT_TASK_EXPLICIT) != 0 && task != NULL) {
        task->value = resmon_scope_here() | NOT_BEGUN;
    }
}

/* A waiting task stays open below the tasks that its thread executes meanwhile. */
static void on_task_schedule(rm_ompt_data *prior, int status, rm_ompt_data *next)
{
    bool is_at_end = status == RM_OMPT_TASK_COMPLETE || status == RM_OMPT_TASK_CANCEL;
    if (is_at_end && prior != NULL) {
        end_scope(prior);
    }
    if (next != NULL && (next->value & NOT_BEGUN) != 0) {
        next->value = resmon_scope_begin_under(&explicit_task, next->value & ~NOT_BEGUN, 0);
    }
}

/* ---- registration ----------------------------------------------------------------------- */

union callback {
    rm_ompt_function any;
    rm_ompt_parallel_begin parallel_begin;
    rm_ompt_implicit_task implicit_task;
    rm_ompt_sync_region sync_region;
    rm_ompt_task_create task_create;
    rm_ompt_task_schedule task_schedule;
};

static int initialize(rm_ompt_lookup lookup, int device, rm_ompt_data *tool)
{
    (void)device, (void)tool;
    const struct {
        int event;
        union callback callback;
    } callbacks[] = {
        {RM_OMPT_PARALLEL_BEGIN, {.parallel_begin = on_parallel_begin}},
        {RM_OMPT_IMPLICIT_TASK, {.implicit_task = on_implicit_task}},
        {RM_OMPT_SYNC_REGION, {.sync_region = on_sync_region}},
        {RM_OMPT_TASK_CREATE, {.task_create = on_task_create}},
        {RM_OMPT_TASK_SCHEDULE, {.task_schedule = on_task_schedule}},
    };
    union {
        rm_ompt_function any;
        rm_ompt_set_callback set;
    } found = {lookup("ompt_set_callback")};
    for (size_t i = 0; i < RM_ARRAY_LEN(callbacks) && found.any != NULL; i++) {
        (void)found.set(callbacks[i].event, callbacks[i].callback.any);
    }
    return found.any != NULL ? 1 : 0;
}

static void finalize(rm_ompt_data *tool)
{
    (void)tool;
}

struct rm_ompt_result *rm_ompt_tool(void)
{
    static struct rm_ompt_result result = {.initialize = initialize, .finalize = finalize};
    return &result;
}

/* The runtime looks for a tool once, at its first use, which may be before a monitor exists.  So
 * the existence of a monitor does not matter.  But a runtime has one tool.  ThreadSanitizer needs
 * Archer, which comes last, to know about barriers. */
static bool is_another_wanted(void)
{
    const char *libraries = secure_getenv("OMP_TOOL_LIBRARIES");
    bool is_named = libraries != NULL && libraries[0] != '\0';
    return (is_named && strstr(libraries, "libresmon") == NULL) ||
           dlsym(RTLD_DEFAULT, "__tsan_init") != NULL;
}

/* Our function hides those of later libraries, which are called when ours declines. */
static struct rm_ompt_result *ask_next(unsigned omp_version, const char *runtime_version)
{
    struct rm_ompt_result *(*next)(unsigned, const char *) = NULL;
    void *found = dlsym(RTLD_NEXT, "ompt_start_tool");
    if (found == NULL) {
        return NULL;
    }
    memcpy(&next, &found, sizeof next);
    return next(omp_version, runtime_version);
}

__attribute__((weak, visibility("default"))) struct rm_ompt_result *
ompt_start_tool(unsigned omp_version, const char *runtime_version)
{
    return is_another_wanted() ? ask_next(omp_version, runtime_version) : rm_ompt_tool();
}
