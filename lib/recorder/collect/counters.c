/* SPDX-License-Identifier: MIT */
#include "collect/counters.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/thread.h"
#include "collect/collect.h"
#include "os/dir.h"

const struct rm_counter_ops rm_counter_ops_live = {rm_perf_open_task, rm_perf_start, rm_perf_read,
                                                   rm_perf_close, rm_perf_id};
const struct rm_counter_ops rm_counter_ops_none = {rm_perf_open_task_none, rm_perf_start,
                                                   rm_perf_read, rm_perf_close, NULL};

/* ---- threads ------------------------------------------------------------------------------ */

struct listing {
    struct rm_collect *collect;
    char path[128];
};

static bool add_task(void *context, const char *name)
{
    struct listing *listing = context;
    struct rm_counters *counters = &listing->collect->counters;
    struct rm_text text = rm_text_of(name, strlen(name));
    uint64_t tid;
    if (!rm_parse_u64(&text, &tid)) {
        return true;
    }
    if (counters->task_count == RM_MAX_TASKS) {
        counters->has_more_tasks = true;
        return false;
    }
    counters->tasks[counters->task_count++] = (int64_t)tid;
    return true;
}

static void add_tasks_of(struct listing *listing, const char *proc_dir)
{
    (void)snprintf(listing->path, sizeof listing->path, "%s/task", proc_dir);
    (void)rm_dir_visit(&listing->collect->root, listing->path, add_task, listing);
}

/* Its threads' children are appended, and then looked at in their turn: a main thread has the
 * number of its process. */
static void add_children_of(struct listing *listing, int64_t tid)
{
    char path[96];
    struct rm_text text;
    uint64_t child;
    (void)snprintf(path, sizeof path, "proc/%lld/task/%lld/children", (long long)tid,
                   (long long)tid);
    if (rm_file_read_once(&listing->collect->root, path, &listing->collect->scratch, &text) !=
        RESMON_OK) {
        return;
    }
    int64_t children[64];
    size_t count = 0;
    while (count < RM_ARRAY_LEN(children) && rm_parse_u64(&text, &child)) {
        children[count++] = (int64_t)child;
    }
    if (count == RM_ARRAY_LEN(children) && rm_parse_u64(&text, &child)) {
        listing->collect->counters.has_more_tasks = true;
    }
    for (size_t i = 0; i < count; i++) {
        (void)snprintf(path, sizeof path, "proc/%lld", (long long)children[i]);
        add_tasks_of(listing, path);
    }
}

/* perf_event_open() takes the numbers of this process's namespace, which /proc may not have.  The
 * sampling thread itself is left out. */
static void translate_tasks(struct rm_collect *collect)
{
    struct rm_counters *counters = &collect->counters;
    int64_t own_tid = collect->is_self ? (int64_t)rm_thread_id() : 0;
    size_t kept = 0;
    for (size_t i = 0; i < counters->task_count; i++) {
        int64_t tid =
            rm_pid_view_here(&collect->view, &collect->root, &collect->scratch, counters->tasks[i]);
        if (tid > 0 && tid != own_tid) {
            counters->tasks[kept++] = tid;
        }
    }
    counters->task_count = kept;
}

/* "proc/TID/task/TID/children" is there for every thread by its own number. */
static void list_tasks(struct rm_collect *collect)
{
    struct listing listing = {.collect = collect};
    add_tasks_of(&listing, collect->proc_dir);
    if (collect->counters.task_count == 0 && collect->proc_pid > 0) {
        collect->counters.tasks[collect->counters.task_count++] = collect->proc_pid;
    }
    for (size_t i = 0; i < collect->counters.task_count; i++) {
        add_children_of(&listing, collect->counters.tasks[i]);
    }
    translate_tasks(collect);
}

/* ---- the machine -------------------------------------------------------------------------- */

static bool try_open(struct rm_counters *counters, const struct rm_perf_request *request)
{
    int fd = counters->ops->open(request);
    if (fd >= 0) {
        counters->ops->close(fd);
    }
    return fd >= 0;
}

/* On this thread, which lives. */
static void look_at_pmu(struct rm_counters *counters)
{
    struct rm_perf_request request = {.type = RM_EVENT_SOFTWARE, .config = 1, .leader = -1};
    counters->skips_kernel = !try_open(counters, &request);
    request = (struct rm_perf_request){
        .type = RM_EVENT_HARDWARE, .leader = -1, .skips_kernel = counters->skips_kernel};
    for (uint64_t i = 0; i < 2 && !counters->has_pmu; i++) {
        request.config = i; /* cycles, instructions */
        counters->has_pmu = try_open(counters, &request) ||
                            (errno != ENOENT && errno != ENODEV && errno != EOPNOTSUPP);
    }
}

resmon_status rm_counters_open(struct rm_collect *collect)
{
    struct rm_counters *counters = &collect->counters;
    if (counters->is_open) {
        return RESMON_OK;
    }
    counters->tasks = rm_alloc(RM_MAX_TASKS, sizeof *counters->tasks);
    if (counters->tasks == NULL) {
        return rm_error(RESMON_ENOMEM, "out of memory for counters");
    }
    if (counters->ops == NULL) {
        counters->ops = collect->root.is_live ? &rm_counter_ops_live : &rm_counter_ops_none;
    }
    const struct rm_cpu_kind *kind = &collect->cpu.kind;
    counters->arch = rm_arch_of(kind->vendor, kind->family, kind->model);
    look_at_pmu(counters);
    list_tasks(collect);
    counters->is_open = true;
    return RESMON_OK;
}

void rm_counters_close(struct rm_counters *counters)
{
    rm_free(counters->tasks);
    counters->tasks = NULL;
    counters->is_open = false;
}
