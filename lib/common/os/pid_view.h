/* SPDX-License-Identifier: MIT */
/*
 * Owns the numbers of processes: those of a /proc, against those that system calls take here.  They
 * differ where /proc was mounted for another pid namespace (unshare --pid without --mount-proc, a
 * container with the host's /proc): proc/self is right there, and proc/<getpid()> is a stranger.
 * Called by collect, by engine, and by the other files of sys.
 */
#ifndef RM_OS_PID_VIEW_H
#define RM_OS_PID_VIEW_H

#include "os/file.h"

enum rm_pid_view_kind {
    RM_PID_VIEW_SAME = 0,   /* of this process's namespace: the numbers are those of system calls */
    RM_PID_VIEW_OUTER = 1,  /* of one that holds this process's: each process has another number */
    RM_PID_VIEW_FOREIGN = 2 /* of one that does not have this process: nothing there is ours */
};

struct rm_pid_view {
    enum rm_pid_view_kind kind;
    int64_t own;    /* the number of this process in /proc; 0: FOREIGN */
    unsigned depth; /* of namespaces between; 0: SAME, or the kernel does not tell (before 4.1) */
};

/** Looks how the /proc below `root` counts; `pid` is of this process.  Without a /proc: SAME. */
struct rm_pid_view rm_pid_view_find(const struct rm_root *root, struct rm_scratch *scratch,
                                    int64_t pid);

/** The number that system calls take for the process or thread with `number` in /proc; 0: unknown,
 * or it is not in this process's namespace. */
int64_t rm_pid_view_here(const struct rm_pid_view *view, const struct rm_root *root,
                         struct rm_scratch *scratch, int64_t number);

/** The number in /proc of process `pid`; 0: it has none there, has ended, or the kernel does not
 * tell (before 5.3). */
int64_t rm_pid_view_there(const struct rm_pid_view *view, const struct rm_root *root,
                          struct rm_scratch *scratch, int64_t pid);

/** What to do about a /proc that is FOREIGN, for messages. */
#define RM_PID_VIEW_REMEDY                                                                  \
    "/proc is of another pid namespace: mount it again (unshare --mount-proc, or mount -t " \
    "proc proc /proc)"

#endif
