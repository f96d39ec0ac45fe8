/* SPDX-License-Identifier: MIT */
/*
 * Owns the events of tasks that the kernel sends through netlink sockets: forks (the process
 * connector, linux/cn_proc.h), and the accounts of ended tasks (taskstats,
 * Documentation/accounting/taskstats.rst of Linux).
 */
#ifndef RM_OS_TASK_EVENTS_H
#define RM_OS_TASK_EVENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <resmon/status.h>

#include "base/compiler.h"
#include "os/file.h"
#include "os/kept.h"

/* ---- forks ------------------------------------------------------------------------------- */

/*
 * Forks on the whole machine.  Any user may listen since Linux 6.6, where a killed listener leaves
 * no state behind.  Older kernels would continue to send events, so they are not used.  There are
 * no events inside a container (namespaces of users, pids and networks that are not the host's).
 *
 * Each listener costs every fork and every new thread of the machine (0.4 and 0.2 us; 2-vCPU Intel
 * guest, Linux 6.18, 2026-11-27).  If several processes listen already, such as the ranks of a job,
 * a further one does not.
 */

#define RM_FORK_LISTENERS 8U /* maximum on a machine, including other programs */

/* The reason why there are no events, for messages. */
#define RM_FORKS_UNTOLD                                                                \
    "the kernel does not tell who forks (before 6.6, in a container, or eight listen " \
    "already)"

/* Zeroed: closed. */
struct rm_fork_events {
    struct rm_kept socket;
    size_t latest; /* number of forks in the latest reading */
};

/* A process, not a thread: both numbers are of the pid namespace of the host. */
typedef void rm_fork_visit_fn(void *context, uint64_t parent, uint64_t child);

/** Listens to forks from here on; false: not possible here. */
RM_SHARED bool rm_fork_events_open(struct rm_fork_events *events, const struct rm_root *root,
                                   struct rm_scratch *scratch);

/** The number of listeners on the machine. */
size_t rm_fork_events_listeners(const struct rm_root *root, struct rm_scratch *scratch);

/** Visits the forks since the last call, in their order, without waiting; false when some are lost:
 * after more than a few hundred, or when the program closed the socket, which then stays closed. */
bool rm_fork_events_read(struct rm_fork_events *events, rm_fork_visit_fn *visit, void *context);

/** Visits the fork of one message of the socket. */
void rm_fork_events_parse(const void *message, size_t length, rm_fork_visit_fn *visit,
                          void *context);

RM_SHARED void rm_fork_events_close(struct rm_fork_events *events);

/* ---- ends of tasks ----------------------------------------------------------------------- */

/* Of all tasks on this machine, for processes with CAP_NET_ADMIN. */

/* A thread that ended. */
struct rm_task_account {
    uint32_t pid, thread;
    uint64_t cpu_ns;      /* until the latest tick or wait */
    uint64_t most_ns;     /* at least `cpu_ns`: by counted ticks if that is more (nohz_full CPUs) */
    uint64_t rss_peak;    /* of its process so far; 0: not known */
    uint32_t wait_status; /* of the process, if it is the first thread */
};

/** A descriptor; RESMON_EACCES, RESMON_ENOTSUP. */
resmon_status rm_taskstats_open(int *ret_fd);
void rm_taskstats_close(int fd);

/** Calls `take` for each task that ended since the last call.  False: some were lost. */
bool rm_taskstats_read(int fd, void (*take)(void *context, const struct rm_task_account *account),
                       void *context);

#endif
