/* SPDX-License-Identifier: MIT */
#include "collect/counters.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/compiler.h"
#include "base/human.h"
#include "base/status.h"
#include "base/text.h"
#include "base/thread.h"
#include "collect/collect.h"
#include "counter/group.h"
#include "os/file.h"
#include "os/pfm.h"

/* ---- data of all sets ----------------------------------------------------------------------- */

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
    struct rm_counters *counters = listing->collect->counters;
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

/* Appends the children of a process's threads to the list, which is visited up to its end.  A main
 * thread has its process's number. */
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
        listing->collect->counters->has_more_tasks = true;
    }
    for (size_t i = 0; i < count; i++) {
        (void)snprintf(path, sizeof path, "proc/%lld", (long long)children[i]);
        add_tasks_of(listing, path);
    }
}

/* perf_event_open() takes pids of our own namespace, which may differ from /proc's.  The sampling
 * thread is left out. */
static void translate_tasks(struct rm_collect *collect)
{
    struct rm_counters *counters = collect->counters;
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

/* "proc/TID/task/TID/children" exists for every thread, by its own number. */
static void list_tasks(struct rm_collect *collect)
{
    struct listing listing = {.collect = collect};
    add_tasks_of(&listing, collect->proc_dir);
    if (collect->counters->task_count == 0 && collect->proc_pid > 0) {
        collect->counters->tasks[collect->counters->task_count++] = collect->proc_pid;
    }
    for (size_t i = 0; i < collect->counters->task_count; i++) {
        add_children_of(&listing, collect->counters->tasks[i]);
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

/* Tries the PMU on this thread. */
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
    if (collect->counters != NULL) {
        return RESMON_OK;
    }
    struct rm_counters *counters = rm_alloc(1, sizeof *counters);
    if (counters == NULL) {
        return rm_error(RESMON_ENOMEM, "out of memory for counters");
    }
    counters->ops = collect->counter_ops;
    if (counters->ops == NULL) {
        counters->ops = collect->root.is_live ? &rm_counter_ops_live : &rm_counter_ops_none;
    }
    const struct rm_cpu_kind *kind = &collect->cpu.kind;
    counters->arch = rm_arch_of(kind->vendor, kind->family, kind->model);
    look_at_pmu(counters);
    collect->counters = counters;
    list_tasks(collect);
    return RESMON_OK;
}

/* ---- sets ----------------------------------------------------------------------------------- */

static void close_counter(struct rm_counter_set *set, size_t counter)
{
    for (size_t t = 0; t < set->task_count; t++) {
        struct rm_counter_task *task = rm_counter_task_of(set, counter, t);
        if (rm_counter_task_is_own(set, task)) {
            set->owner->ops->close(task->fd);
        }
        task->fd = -1;
    }
}

/* The descriptor of the first open event of the set on the task. */
static int leader_of(const struct rm_counter_set *set, size_t counter, size_t task)
{
    for (size_t c = 0; c < counter; c++) {
        if (rm_counter_task_of(set, c, task)->fd >= 0) {
            return rm_counter_task_of(set, c, task)->fd;
        }
    }
    return -1;
}

/* If the processor has too few counters for the group, opens the event alone. */
static int open_on(const struct rm_counter_set *set, struct rm_perf_request *request)
{
    int fd = set->owner->ops->open(request);
    if (fd < 0 && request->leader >= 0 && (errno == EINVAL || errno == ENOSPC || errno == EBUSY)) {
        request->leader = -1;
        request->waits = true;
        fd = set->owner->ops->open(request);
    }
    return fd;
}

/* Opens the event on all tasks, or on none: a sum over some tasks would be wrong. */
static resmon_status open_tasks(struct rm_collect *collect, struct rm_counter_set *set,
                                size_t counter)
{
    const struct rm_counters *counters = collect->counters;
    const struct rm_perf_event *event = &set->counters[counter].event;
    size_t open = 0;
    for (size_t t = 0; t < set->task_count; t++) {
        struct rm_perf_request request = {
            .type = event->type,
            .config = event->config,
            .config1 = event->config1,
            .config2 = event->config2,
            .tid = counters->tasks[t],
            .leader = leader_of(set, counter, t),
            .inherits = true,
            .skips_user = event->skips_user,
            .skips_kernel = counters->skips_kernel || event->skips_kernel,
        };
        request.waits = request.leader < 0;
        int fd = open_on(set, &request);
        if (fd < 0 && errno != ESRCH) { /* ESRCH: the task has ended meanwhile */
            resmon_status status = rm_perf_refuse(errno, event->name, counters->has_pmu);
            close_counter(set, counter);
            return status;
        }
        struct rm_counter_task *task = rm_counter_task_of(set, counter, t);
        task->fd = fd;
        task->id = fd >= 0 && set->owner->ops->id != NULL ? set->owner->ops->id(fd) : 0;
        open += fd >= 0 ? 1 : 0;
    }
    return open > 0 ? RESMON_OK : rm_error(RESMON_ESRCH, "the process has ended");
}

static resmon_status encode(struct rm_perf_event *event)
{
    struct rm_pfm_code code;
    resmon_status status = rm_pfm_encode(event->name, &code);
    if (status == RESMON_OK) {
        rm_perf_event_encode(event, code.type, code.config);
        event->skips_user = code.skips_user;
        event->skips_kernel = code.skips_kernel;
    }
    return status;
}

static resmon_status open_counter(struct rm_collect *collect, struct rm_counter_set *set,
                                  size_t index)
{
    struct rm_perf_event *event = &set->counters[index].event;
    resmon_status status = event->is_named ? encode(event) : RESMON_OK;
    if (status == RESMON_OK && (event->is_of_kernel || event->skips_user) &&
        collect->counters->skips_kernel) {
        status = rm_perf_refuse(EACCES, event->name, true);
    }
    return status == RESMON_OK ? open_tasks(collect, set, index) : status;
}

/* Opens the events; returns whether any of them is a hardware event. */
static bool open_counters(struct rm_collect *collect, struct rm_counter_set *set,
                          const struct rm_perf_event *events)
{
    bool is_hardware = false;
    for (size_t i = 0; i < set->count; i++) {
        struct rm_counter *counter = &set->counters[i];
        counter->event = events[i];
        counter->change = RM_NAN;
        counter->status = open_counter(collect, set, i);
        if (counter->status != RESMON_OK) {
            (void)rm_text_set(counter->why, sizeof counter->why, resmon_last_error());
        } else if (!rm_perf_event_is_software(&counter->event)) {
            is_hardware = true;
        }
    }
    return is_hardware;
}

static void start(const struct rm_counter_set *set)
{
    for (size_t i = 0; i < set->count * set->task_count; i++) {
        if (set->tasks[i].fd >= 0) {
            (void)set->owner->ops->start(set->tasks[i].fd);
        }
    }
}

resmon_status rm_counter_set_open(struct rm_collect *collect, struct rm_counter_set *set,
                                  const char *name, const struct rm_perf_event *events,
                                  size_t count)
{
    struct rm_counters *counters = collect->counters;
    size_t tasks = counters->task_count;
    *set = (struct rm_counter_set){.count = count, .owner = counters, .share = RM_NAN};
    /* Of a long name, the end is kept. */
    size_t length = strlen(name);
    size_t cut = length < sizeof set->name ? 0 : length - sizeof set->name + 1;
    (void)rm_text_set(set->name, sizeof set->name, name + cut);
    set->tasks = rm_alloc(count * (tasks > 0 ? tasks : 1), sizeof *set->tasks);
    if (set->tasks == NULL) {
        set->count = 0;
        return rm_error(RESMON_ENOMEM, "out of memory for counters");
    }
    set->task_count = tasks;
    for (size_t i = 0; i < count * tasks; i++) {
        set->tasks[i].fd = -1;
    }
    bool is_hardware = open_counters(collect, set, events);
    start(set);
    set->is_listed = is_hardware && counters->set_count < RM_MAX_SETS;
    if (set->is_listed) {
        counters->sets[counters->set_count++] = set;
    }
    return RESMON_OK;
}

static void unlist(struct rm_counters *counters, const struct rm_counter_set *set)
{
    size_t kept = 0;
    for (size_t i = 0; i < counters->set_count; i++) {
        if (counters->sets[i] != set) {
            counters->sets[kept++] = counters->sets[i];
        }
    }
    counters->set_count = kept;
}

void rm_counter_set_close(struct rm_counter_set *set)
{
    if (set->is_listed) {
        unlist(set->owner, set);
        set->is_listed = false;
    }
    for (size_t c = set->count; c-- > 0;) {
        close_counter(set, c);
    }
    rm_free(set->tasks);
    set->tasks = NULL;
    set->count = 0;
}

resmon_status rm_counter_set_check(const struct rm_counter_set *set)
{
    for (size_t i = 0; i < set->count; i++) {
        if (set->counters[i].status == RESMON_OK) {
            return RESMON_OK;
        }
    }
    return set->count > 0 ? rm_error(set->counters[0].status, "%s", set->counters[0].why)
                          : rm_error(RESMON_ENOTSUP, "there are no events to count");
}

void rm_counter_set_remark(struct rm_collect *collect, const struct rm_counter_set *set)
{
    if (collect->counters->has_more_tasks) {
        rm_collect_remark(collect,
                          "the program had more than 1024 threads: the others are not counted");
    }
    for (size_t i = 0; i < set->count; i++) {
        if (set->counters[i].status != RESMON_OK) {
            rm_collect_remark(collect, set->counters[i].why);
        }
    }
}

/* ---- reading -------------------------------------------------------------------------------- */

/* The count is scaled from the time in which the counter ran to the time enabled.  An interval in
 * which it never ran is included in the next one. */
static void take(struct rm_counter *counter, struct rm_counter_task *task,
                 const struct rm_perf_count *now, struct rm_perf_count *sums)
{
    uint64_t value = now->value - task->last.value;
    uint64_t enabled = now->enabled - task->last.enabled;
    uint64_t running = now->running - task->last.running;
    counter->was_enabled = counter->was_enabled || enabled > 0;
    sums->enabled += enabled;
    sums->running += running;
    if (running > 0 || (enabled == 0 && value > 0)) {
        double scale = running < enabled ? (double)enabled / (double)running : 1.0;
        counter->change += (double)value * (running > 0 ? scale : 1.0);
        counter->has_run = true;
        task->last = *now;
    }
}

static void lose(struct rm_counter *counter)
{
    counter->status = RESMON_EIO;
    (void)snprintf(counter->why, sizeof counter->why, "%s cannot be read any more",
                   counter->event.name);
}

void rm_counter_set_read(struct rm_counter_set *set)
{
    struct rm_perf_count sums = {0, 0, 0};
    double counted_s = 0.0;
    for (size_t c = 0; c < set->count; c++) {
        struct rm_counter *counter = &set->counters[c];
        counter->change = 0.0;
        sums = (struct rm_perf_count){0, 0, 0};
        counted_s = 0.0;
        for (size_t t = 0; t < set->task_count; t++) {
            struct rm_counter_task *task = rm_counter_task_of(set, c, t);
            struct rm_perf_count now;
            if (task->fd < 0) {
                continue;
            }
            if (rm_counter_task_is_own(set, task) && set->owner->ops->read(task->fd, &now)) {
                take(counter, task, &now, &sums);
                counted_s += (double)now.enabled * 1e-9;
            } else {
                lose(counter);
            }
        }
        counter->total += counter->change;
        if (sums.enabled > 0 && sums.running == 0) {
            counter->change = RM_NAN;
        }
        if (counter->status == RESMON_OK) {
            set->share = sums.enabled > 0 ? (double)sums.running / (double)sums.enabled : RM_NAN;
            set->owner->counted_s = fmax(set->owner->counted_s, counted_s);
        }
    }
}

#define LACKS_S     0.05 /* more than the difference of two clocks read in succession */
#define LACKS_SHARE 0.02 /* and more than what ends between the readings has used */

/* Not for our own process: the library's threads are in one sum only. */
void rm_counters_remark_lack(struct rm_collect *collect)
{
    struct rm_counters *counters = collect->counters;
    const struct rm_found *found = &collect->found;
    char lacks[RM_HUMAN_BYTES], all[RM_HUMAN_BYTES], text[160];
    if (collect->is_self || found->tree_ns == 0) {
        return;
    }
    if (!counters->has_begun) {
        counters->has_begun = true;
        counters->begun_s = found->tree_cpu_s - counters->counted_s;
    }
    double all_s = found->tree_cpu_s - counters->begun_s;
    double lacks_s = all_s - counters->counted_s;
    if (lacks_s > LACKS_S && lacks_s > LACKS_SHARE * all_s) {
        rm_human_seconds(lacks, lacks_s);
        rm_human_seconds(all, all_s);
        (void)snprintf(text, sizeof text,
                       "not counted: %s of %s of CPU time; the kernel does not count set-user-ID "
                       "and unreadable programs",
                       lacks, all);
        rm_collect_remark(collect, text);
    }
}

/* A total of 0 is valid only if the event was enabled. */
double rm_counter_total(const struct rm_counter *counter)
{
    bool is_known = counter->status == RESMON_OK && (counter->has_run || !counter->was_enabled);
    return is_known ? counter->total : RM_NAN;
}

struct values {
    const struct rm_counter_set *set;
    bool of_changes;
};

static bool find_value(void *context, struct rm_text name, double *ret_value)
{
    const struct values *values = context;
    struct rm_perf_event generic;
    char text[RM_EVENT_NAME_BYTES];
    (void)rm_text_copy(text, sizeof text, name.at, rm_text_left(&name));
    if (rm_perf_event_generic(text, &generic)) {
        (void)rm_text_set(text, sizeof text, generic.name);
    }
    for (size_t i = 0; i < values->set->count; i++) {
        const struct rm_counter *counter = &values->set->counters[i];
        if (strcmp(counter->event.name, text) == 0) {
            double total = rm_counter_total(counter);
            *ret_value = values->of_changes && total >= 0.0 ? counter->change : total;
            return true;
        }
    }
    return false;
}

double rm_counter_set_evaluate(const struct rm_counter_set *set, const char *formula,
                               bool of_changes)
{
    struct values values = {set, of_changes};
    double value = RM_NAN;
    return rm_formula_evaluate(formula, find_value, &values, &value) == RESMON_OK ? value : RM_NAN;
}
