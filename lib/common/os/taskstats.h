/* SPDX-License-Identifier: MIT */
/*
 * Owns the kernel's accounts of tasks that end (taskstats, Documentation/accounting/taskstats.rst
 * of Linux): of all on this machine, for those who may have them (CAP_NET_ADMIN).
 */
#ifndef RM_OS_TASKSTATS_H
#define RM_OS_TASKSTATS_H

#include <stdbool.h>
#include <stdint.h>

#include <resmon/status.h>

/* A thread that ended. */
struct rm_task_account {
    uint32_t pid, thread;
    uint64_t cpu_ns;   /* that it used until the latest tick or wait, */
    uint64_t most_ns;  /* or by the counts of ticks, if these are more (CPUs without: nohz_full) */
    uint64_t rss_peak; /* of its process so far; 0: not known */
    uint32_t wait_status; /* of the process, if it is the first thread */
};

/** A descriptor; RESMON_EACCES, RESMON_ENOTSUP. */
resmon_status rm_taskstats_open(int *ret_fd);
void rm_taskstats_close(int fd);

/** Calls `take` for each that ended since the last call.  false: some were lost. */
bool rm_taskstats_read(int fd, void (*take)(void *context, const struct rm_task_account *account),
                       void *context);

#endif
