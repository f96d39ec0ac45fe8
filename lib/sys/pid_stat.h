/* SPDX-License-Identifier: MIT */
/*
 * Owns the text form of /proc/PID/stat.
 */
#ifndef RM_SYS_PID_STAT_H
#define RM_SYS_PID_STAT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/parse.h"

/* Times in clock ticks, sizes as the kernel prints them; 0 for what an old kernel does not have. */
struct rm_pid_stat {
    char state; /* 'R', 'S', 'Z' ... */
    uint64_t ppid;
    uint64_t minflt, majflt;
    uint64_t utime, stime;   /* own */
    uint64_t cutime, cstime; /* of children that were waited for, and theirs */
    uint64_t threads;
    uint64_t starttime; /* since boot: with the pid, it names a process for ever */
    uint64_t vsize;     /* B */
    uint64_t rss;       /* pages */
    uint64_t blkio_delay;
};

/** False when the text is not a stat line. */
bool rm_pid_stat_parse(struct rm_text text, struct rm_pid_stat *ret_stat);

/** Whether the process was removed while the kernel wrote the line: it prints 0 for what had gone,
 * and no other process, not even a zombie, is without a thread. */
static inline bool rm_pid_stat_is_removed(const struct rm_pid_stat *stat)
{
    return stat->threads == 0;
}

#endif
