/* SPDX-License-Identifier: MIT */
#include "collect/counter_set.h"

#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "base/text.h"
#include "collect/collect.h"
#include "os/pfm.h"

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

/* The first event of the set that is open on the task. */
static int leader_of(const struct rm_counter_set *set, size_t counter, size_t task)
{
    for (size_t c = 0; c < counter; c++) {
        if (rm_counter_task_of(set, c, task)->fd >= 0) {
            return rm_counter_task_of(set, c, task)->fd;
        }
    }
    return -1;
}

/* Should the processor have too few counters for the group, the event stands alone. */
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

/* On all tasks, or on none: half a figure is none. */
static resmon_status open_tasks(struct rm_collect *collect, struct rm_counter_set *set,
                                size_t counter)
{
    const struct rm_counters *counters = &collect->counters;
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
        if (fd < 0 && errno != ESRCH) { /* it may have ended meanwhile */
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
        collect->counters.skips_kernel) {
        status = rm_perf_refuse(EACCES, event->name, true);
    }
    return status == RESMON_OK ? open_tasks(collect, set, index) : status;
}

/* Whether any of them is counted by hardware. */
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
    struct rm_counters *counters = &collect->counters;
    size_t tasks = counters->task_count;
    *set = (struct rm_counter_set){.count = count, .owner = counters, .share = RM_NAN};
    /* The end of a long name tells more than its beginning. */
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
    if (collect->counters.has_more_tasks) {
        rm_collect_remark(collect,
                          "the program had more than 1024 threads: the others are not counted");
    }
    for (size_t i = 0; i < set->count; i++) {
        if (set->counters[i].status != RESMON_OK) {
            rm_collect_remark(collect, set->counters[i].why);
        }
    }
}
