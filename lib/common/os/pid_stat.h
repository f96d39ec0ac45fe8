/* SPDX-License-Identifier: MIT */
/*
 * Owns the text forms of /proc/PID/stat and /proc/PID/statm.
 */
#ifndef RM_OS_PID_STAT_H
#define RM_OS_PID_STAT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/parse.h"

/* Times in clock ticks, sizes as the kernel prints them; 0 for what an old kernel does not have. */
struct rm_pid_stat {
    char state; /* 'R', 'S', 'Z' ... */
    uint64_t ppid;
    uint64_t flags; /* PF_* of the kernel */
    uint64_t minflt, majflt;
    uint64_t utime, stime;   /* own */
    uint64_t cutime, cstime; /* of children that were waited for, and theirs */
    uint64_t threads;
    uint64_t starttime;  /* since boot: with the pid, it names a process for ever */
    uint64_t vsize;      /* B */
    uint64_t rss;        /* pages */
    uint64_t startstack; /* where the stack of the program begins, which an exec changes; 0: not
                            ours to know */
    uint64_t blkio_delay;
    uint64_t exit_code; /* of a zombie, as wait(2) has it; 0: not ours to know */
};

/** False when the text is not a stat line. */
bool rm_pid_stat_parse(struct rm_text text, struct rm_pid_stat *ret_stat);

/** Whether the process was removed while the kernel wrote the line: it prints 0 for what had gone,
 * and no other process, not even a zombie, is without a thread. */
static inline bool rm_pid_stat_is_removed(const struct rm_pid_stat *stat)
{
    return stat->threads == 0;
}

/* In pages.  Of a process whose main thread has ended, all are 0. */
struct rm_pid_statm {
    uint64_t size, resident, shared; /* shared: of files, and of shared memory */
    uint64_t text, lib, data;
};

/** False when the text is not a statm line. */
bool rm_pid_statm_parse(struct rm_text text, struct rm_pid_statm *ret_statm);

#endif
