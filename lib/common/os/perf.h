/* SPDX-License-Identifier: MIT */
/*
 * Owns opening and reading of performance counters (perf_event_open(2)).
 */
#ifndef RM_OS_PERF_H
#define RM_OS_PERF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <resmon/status.h>

#include "base/compiler.h"

struct perf_event_attr; /* <linux/perf_event.h> */

/** Any event: all that is opened here is close-on-exec and tagged as ours (os/kept.h); -1 with
 * errno. */
int rm_perf_open_event(struct perf_event_attr *attributes, int64_t tid, int cpu, int leader);

#ifdef RM_FAULT_INJECTION
/** What a test has in place of the kernel's perf_event_open(2): a descriptor, or -1 with errno; it
 * needs no start.  NULL: nothing.  Set while nothing is opened. */
extern int (*rm_perf_made_open)(const struct perf_event_attr *attributes, int64_t tid);
#endif

/** A counter of a PMU of the machine, on `cpu`, for all processes; -1 with errno. */
RM_SHARED int rm_perf_open(uint32_t type, uint64_t config, int cpu);

/** A software event of this thread, in user space: the least that can be asked for; -1 with errno.
 */
RM_SHARED int rm_perf_open_least(void);

/** There is no PMU: -1 with ENOENT. */
int rm_perf_open_none(uint32_t type, uint64_t config, int cpu);

/* A counter of a thread, wherever it runs. */
struct rm_perf_request {
    uint32_t type;
    uint64_t config, config1, config2;
    int64_t tid;         /* 0: the calling thread */
    int leader;          /* descriptor of the group's first event; -1: this is the first */
    bool inherits;       /* counts threads and processes that it makes, too */
    bool skips_user;     /* counts in the kernel only */
    bool skips_kernel;   /* counts in user mode only */
    bool reads_as_group; /* for rm_perf_read_group() */
    bool waits;          /* for rm_perf_start(), by the first of a group */
};

/** A descriptor; -1 with errno.  Half of the descriptors that the process may have stay the
 * program's: EMFILE. */
int rm_perf_open_task(const struct rm_perf_request *request);

/** Takes the place of rm_perf_open_task() below another root: -1 with ENOENT, as without counters.
 */
int rm_perf_open_task_none(const struct rm_perf_request *request);

/* What a counter has counted; it ran in `running` of the `enabled` ns of its thread. */
struct rm_perf_count {
    uint64_t value, enabled, running;
};

/** Starts a group whose first event waits, all at once: a member that joins a group at work may be
 * left out until the thread is scheduled next. */
bool rm_perf_start(int leader);

/** Whether the descriptor is still one of ours: programs close what they do not know. */
bool rm_perf_is_ours(int fd);

/** The number that the kernel gave the event, and no other: descriptors that are ours may have been
 * closed, and their numbers given to others of ours.  0: it is none of ours, or nobody tells. */
uint64_t rm_perf_id(int fd);

/** Whether a descriptor is still the event with this number; where the kernel does not tell the
 * number, whether it is one of ours. */
bool rm_perf_is_event(int fd, uint64_t id);

/** Closes the event of a descriptor, if it is ours. */
void rm_perf_close(int fd);

/** Reads one, with what it inherited; false: it is not ours any more, or cannot be read. */
bool rm_perf_read(int fd, struct rm_perf_count *ret_count);

#define RM_PERF_GROUP 8

/* The counts of a group, as the kernel writes them: struct read_format of perf_event_open(2). */
struct rm_perf_group {
    uint64_t count;
    uint64_t enabled, running;
    uint64_t values[RM_PERF_GROUP]; /* in the order in which they were opened */
};

/** Reads all `count` of a group, by its leader, in one call; false: it is no such group, and what
 * `ret_group` holds means nothing.  Whether it is ours is for the caller to know, and to note the
 * call (os/own_io.h).  No cancellation point: a thread is not cancelled inside a scope's end. */
bool rm_perf_read_group(int fd, size_t count, struct rm_perf_group *ret_group);

/** CLOCK_MONOTONIC as it is here, of the time that a record tells: the kernel takes it without what
 * a time namespace (time_namespaces(7)) adds. */
int64_t rm_perf_time_ns(uint64_t time);

/** Whether this process may count what the kernel does. */
bool rm_perf_sees_kernel(void);

/** Records why `name` could not be opened; `has_pmu`: other hardware events could. */
resmon_status rm_perf_refuse(int error, const char *name, bool has_pmu);

#endif
