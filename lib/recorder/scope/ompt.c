/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* RTLD_NEXT, secure_getenv */
/*
 * The threads of a parallel region are in a scope "omp parallel" below the scope that the region
 * began in, and who executes an explicit task in a scope "omp task" below where it was created.
 * Runs on threads of the program, at the beginning and the end of regions and tasks.
 */
#include "scope/ompt.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <resmon/scope.h>

#include "base/compiler.h"

static resmon_site region = {"omp parallel", "", "", 0, 0};
static resmon_site explicit_task = {"omp task", "", "", 0, 0};

/* In the data of an explicit task: it has not begun, and the rest is a handle.  No token has it. */
#define NOT_BEGUN (UINT64_C(1) << 63)

/* ---- callbacks -------------------------------------------------------------------------- */

static void on_parallel_begin(rm_ompt_data *encountering, const void *frame, rm_ompt_data *parallel,
                              unsigned wanted, int flags, const void *code)
{
    (void)encountering, (void)frame, (void)wanted, (void)flags, (void)code;
    parallel->value = resmon_scope_here();
}

static void end(rm_ompt_data *task)
{
    uint64_t scope = task->value;
    task->value = 0;
    if (scope != 0) {
        resmon_scope_end(scope);
    }
}

/* The primary thread, 0, goes on in its own scope. */
static void on_implicit_task(int endpoint, rm_ompt_data *parallel, rm_ompt_data *task,
                             unsigned threads, unsigned index, int flags)
{
    (void)threads;
    if ((flags & RM_OMPT_TASK_INITIAL) != 0) {
        return;
    }
    if (endpoint == RM_OMPT_END) {
        end(task);
    } else if (index == 0 || parallel == NULL) {
        task->value = resmon_scope_begin(&region);
    } else {
        task->value = resmon_scope_begin_under(&region, parallel->value, 0);
    }
}

/* The runtime tells the end of a worker's implicit task when it has the next one, or never; what is
 * at an end when it happens is its way to the barrier there.  Runtimes that do not tell that one
 * from those inside of the region (LLVM before 15) say for those alone where they are. */
static void on_sync_region(int kind, int endpoint, rm_ompt_data *parallel, rm_ompt_data *task,
                           const void *code)
{
    (void)parallel;
    bool is_of_region =
        kind == RM_OMPT_BARRIER_PARALLEL || (kind == RM_OMPT_BARRIER_IMPLICIT && code == NULL);
    if (is_of_region && endpoint == RM_OMPT_BEGIN && task != NULL) {
        end(task);
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

/* A task that waits stays open below those that its thread executes meanwhile. */
static void on_task_schedule(rm_ompt_data *prior, int status, rm_ompt_data *next)
{
    bool is_at_end = status == RM_OMPT_TASK_COMPLETE || status == RM_OMPT_TASK_CANCEL;
    if (is_at_end && prior != NULL) {
        end(prior);
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

/* The runtime asks once, at its first use, which may come before there is a monitor: so not whether
 * there is one decides.  But a runtime has one tool.  ThreadSanitizer needs Archer, which comes
 * last, to know of barriers. */
static bool is_another_wanted(void)
{
    const char *libraries = secure_getenv("OMP_TOOL_LIBRARIES");
    bool is_named = libraries != NULL && libraries[0] != '\0';
    return (is_named && strstr(libraries, "libresmon") == NULL) ||
           dlsym(RTLD_DEFAULT, "__tsan_init") != NULL;
}

/* Ours hides those of libraries behind it: what they say counts when this one says no. */
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
