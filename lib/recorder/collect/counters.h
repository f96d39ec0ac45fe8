/* SPDX-License-Identifier: MIT */
/*
 * Owns performance counters of the process tree, for the collectors of perf.c: sets of events
 * that are counted at the same time, on every thread that exists at the start and on all threads
 * and processes that these create (inheritance); and what the sets share: the processor, the
 * events that may be counted, and the counted threads.  Threads of this library that exist at
 * the start are left out.
 *
 * A set that shares the processor's counters with others runs for a part of the time only.  Its
 * counts are scaled by (time enabled / time running) of each interval, and the part is
 * published.
 */
#ifndef RM_COLLECT_COUNTERS_H
#define RM_COLLECT_COUNTERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "counter/group.h"
#include "os/perf.h"

#define RM_MAX_SETS  32
#define RM_MAX_TASKS 1024 /* threads that exist at the start */

/* System calls, or replacements by tests. */
struct rm_counter_ops {
    int (*open)(const struct rm_perf_request *request);
    bool (*start)(int fd);
    bool (*read)(int fd, struct rm_perf_count *ret_count);
    void (*close)(int fd);
    uint64_t (*id)(int fd); /* id of the event, to recognize its descriptor; NULL: by the
                               descriptor's number */
};

extern const struct rm_counter_ops rm_counter_ops_live;
extern const struct rm_counter_ops rm_counter_ops_none; /* for another root than / */

struct rm_counter_set;

/* One per monitor, freed with its struct rm_collect. */
struct rm_counters {
    const struct rm_counter_ops *ops;
    uint32_t arch;
    bool skips_kernel, has_pmu;
    bool has_more_tasks; /* more than RM_MAX_TASKS */
    size_t task_count;
    int64_t tasks[RM_MAX_TASKS];
    struct rm_counter_set *sets[RM_MAX_SETS]; /* open sets of hardware events */
    size_t set_count;
    double counted_s; /* CPU time of the threads while their events were enabled */
    double begun_s;   /* CPU time of the tree when the events were opened */
    bool has_begun;   /* begun_s is known */
};

struct rm_collect;

/** Makes collect->counters, once per monitor: detects the processor and the threads. RESMON_ENOMEM.
 */
resmon_status rm_counters_open(struct rm_collect *collect);

#define RM_SET_NAME_BYTES 40 /* length of instance names */

/* An event on one task. */
struct rm_counter_task {
    int fd; /* -1: not open */
    uint64_t id;
    struct rm_perf_count last;
};

struct rm_counter {
    struct rm_perf_event event;
    resmon_status status;
    char why[160]; /* reason if it is not counted */
    double total;  /* since it was opened, scaled */
    double change; /* since the previous reading; NaN: it did not run */
    bool has_run;
    bool was_enabled;
};

struct rm_counter_set {
    char name[RM_SET_NAME_BYTES];
    size_t count;
    struct rm_counter counters[RM_FORMULA_EVENTS];
    struct rm_counter_task *tasks; /* [counter][task] */
    size_t task_count;
    double share; /* part of the time since the previous reading in which the set ran; NaN: no
                     thread ran */
    struct rm_counters *owner;
    bool is_listed; /* in owner->sets */
};

static inline struct rm_counter_task *rm_counter_task_of(const struct rm_counter_set *set,
                                                         size_t counter, size_t task)
{
    return &set->tasks[counter * set->task_count + task];
}

/** Whether the descriptor still belongs to the task's event: programs close descriptors that they
 * do not know, and another event may get the number. */
static inline bool rm_counter_task_is_own(const struct rm_counter_set *set,
                                          const struct rm_counter_task *task)
{
    const struct rm_counter_ops *ops = set->owner->ops;
    uint64_t id = task->fd >= 0 && ops->id != NULL ? ops->id(task->fd) : 0;
    return task->fd >= 0 && (id == 0 || id == task->id);
}

struct rm_collect;

/** Opens a set of events.  Events that cannot be counted keep the reason.  RESMON_ENOMEM. */
resmon_status rm_counter_set_open(struct rm_collect *collect, struct rm_counter_set *set,
                                  const char *name, const struct rm_perf_event *events,
                                  size_t count);

void rm_counter_set_close(struct rm_counter_set *set);

/** RESMON_OK if any event of the set is counted; else the failure of the first event. */
resmon_status rm_counter_set_check(const struct rm_counter_set *set);

/** Sets a remark about the events of the set that are not counted. */
void rm_counter_set_remark(struct rm_collect *collect, const struct rm_counter_set *set);

/* ---- reading ----------------------------------------------------------------------------- */

void rm_counter_set_read(struct rm_counter_set *set);

/** Sets a remark if the tree has used more CPU time than its events were enabled for.  The kernel
 * disables the events of a process when it executes a setuid program or a file that its user may
 * not read; its children inherit none.  For collectors with "tree" in .after. */
void rm_counters_remark_lack(struct rm_collect *collect);

/** A counter's total; NaN: not counted. */
double rm_counter_total(const struct rm_counter *counter);

/** A formula over the totals or the changes of a set's events; NaN: an event is not counted. */
double rm_counter_set_evaluate(const struct rm_counter_set *set, const char *formula,
                               bool of_changes);

#endif
