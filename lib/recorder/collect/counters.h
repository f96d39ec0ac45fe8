/* SPDX-License-Identifier: MIT */
/*
 * Owns performance counters of the process tree, as the collectors perf_*.c use them: sets of
 * events that are counted at the same time, on every thread that there is at the start, and on all
 * that those make (inheritance); and what all sets have in common: the machine's processor, what
 * may be counted on it, and the threads that are counted.  Threads of this library are left out as
 * far as they are there.
 *
 * A set that shares the processor's counters with others runs for a part of the time only: its
 * counts are scaled by time enabled / time running of each interval, and the part is published.
 */
#ifndef RM_COLLECT_COUNTERS_H
#define RM_COLLECT_COUNTERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "counter/group.h"
#include "os/perf.h"

#define RM_MAX_SETS  32
#define RM_MAX_TASKS 1024 /* threads at the start */

/* System calls, or what tests put in their place. */
struct rm_counter_ops {
    int (*open)(const struct rm_perf_request *request);
    bool (*start)(int fd);
    bool (*read)(int fd, struct rm_perf_count *ret_count);
    void (*close)(int fd);
    uint64_t (*id)(int fd); /* of the event, to tell it from others of ours; NULL: by the number */
};

extern const struct rm_counter_ops rm_counter_ops_live;
extern const struct rm_counter_ops rm_counter_ops_none; /* below another root */

struct rm_counter_set;

/* One per monitor. */
struct rm_counters {
    const struct rm_counters_wanted *wanted; /* NULL: there are to be none */
    const struct rm_counter_ops *ops;        /* NULL: by the root */
    uint32_t arch;
    bool is_open, skips_kernel, has_pmu;
    bool has_more_tasks; /* than are counted */
    int64_t *tasks;
    size_t task_count;
    struct rm_counter_set *sets[RM_MAX_SETS]; /* of hardware, that are open */
    size_t set_count;
    double
        counted_s;  /* CPU time that events were enabled for: those of a thread are when it runs */
    double begun_s; /* what the tree had used when they were opened */
    bool has_begun; /* that is known */
};

struct rm_collect;

/** Finds out about the machine and its threads, once per monitor. */
resmon_status rm_counters_open(struct rm_collect *collect);
void rm_counters_close(struct rm_counters *counters);

#define RM_SET_NAME_BYTES 40 /* as names of instances */

/* An event on one task. */
struct rm_counter_task {
    int fd; /* -1: not open */
    uint64_t id;
    struct rm_perf_count last;
};

struct rm_counter {
    struct rm_perf_event event;
    resmon_status status;
    char why[160]; /* it is not counted */
    double total;  /* since it was opened, scaled */
    double change; /* since the reading before; NaN: it did not run */
    bool has_run;
    bool was_enabled;
};

struct rm_counter_set {
    char name[RM_SET_NAME_BYTES];
    size_t count;
    struct rm_counter counters[RM_FORMULA_EVENTS];
    struct rm_counter_task *tasks; /* [counter][task] */
    size_t task_count;
    double share; /* of the time since the reading before in which it ran; NaN: no thread ran */
    struct rm_counters *owner;
    bool is_listed; /* among its sets */
};

static inline struct rm_counter_task *rm_counter_task_of(const struct rm_counter_set *set,
                                                         size_t counter, size_t task)
{
    return &set->tasks[counter * set->task_count + task];
}

/** Whether the descriptor of a task's event is still that: programs close what they do not know,
 * and another event may get the number. */
static inline bool rm_counter_task_is_own(const struct rm_counter_set *set,
                                          const struct rm_counter_task *task)
{
    const struct rm_counter_ops *ops = set->owner->ops;
    uint64_t id = task->fd >= 0 && ops->id != NULL ? ops->id(task->fd) : 0;
    return task->fd >= 0 && (id == 0 || id == task->id);
}

struct rm_collect;

/** Opens a set of events; one that cannot be counted keeps the reason.  RESMON_ENOMEM. */
resmon_status rm_counter_set_open(struct rm_collect *collect, struct rm_counter_set *set,
                                  const char *name, const struct rm_perf_event *events,
                                  size_t count);

void rm_counter_set_close(struct rm_counter_set *set);

/** RESMON_OK if any event of the set is counted; else the failure of the first one. */
resmon_status rm_counter_set_check(const struct rm_counter_set *set);

/** Leaves a remark on the events of the set that are not counted. */
void rm_counter_set_remark(struct rm_collect *collect, const struct rm_counter_set *set);

/* ---- reading ----------------------------------------------------------------------------- */

void rm_counter_set_read(struct rm_counter_set *set);

/** Leaves a remark when the tree has used more CPU time than its events were enabled for: the
 * kernel takes those of a process away when that begins a program with other rights than its
 * user's, or that its user may not read, and nobody that it starts has any.  For collectors that
 * come after the tree. */
void rm_counters_remark_lack(struct rm_collect *collect);

/** A counter's total; NaN: it is not counted. */
double rm_counter_total(const struct rm_counter *counter);

/** A formula over the totals or the changes of a set's events; NaN: one of them is not there. */
double rm_counter_set_evaluate(const struct rm_counter_set *set, const char *formula,
                               bool of_changes);

#endif
