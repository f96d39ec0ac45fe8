/* SPDX-License-Identifier: MIT */
/*
 * Owns what all sets of counters have in common: the machine's processor, what may be counted on
 * it, and the threads that are counted.  Used by counter_set.h.
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

#endif
