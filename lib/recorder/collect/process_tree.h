/* SPDX-License-Identifier: MIT */
/*
 * Owns the set of a process and all of its descendants: its members, their usage, and the usage
 * of members that have ended.
 *
 * A member is (pid, start time): a reused pid is another process.  A member stays until it ends,
 * even if its parent ends first.  When a member ends, the kernel adds its CPU time and I/O to
 * the process that waits for it.  If the waited-for CPU time and I/O of the nearest living
 * ancestor grew by at least as much, nothing is lost, not even children too short-lived to be
 * sampled.  Otherwise the last values seen are carried on, and the member counts as uncounted.
 *
 * Where our own process started the root and adopts orphans (PR_SET_CHILD_SUBREAPER, or process
 * 1), every process reparented to it belongs to the set, sampled before or not.  The usage of
 * these is in the kernel's account of the children that we have waited for.
 *
 * Elsewhere the kernel's fork events are used, where they are available (orphans.h); else the
 * lists of children at each sample, which lack processes whose parent began and ended between
 * two samples.
 *
 * The set of a cgroup is its members and those of the cgroups below it; a process that leaves it
 * has ended.
 */
#ifndef RM_COLLECT_PROCESS_TREE_H
#define RM_COLLECT_PROCESS_TREE_H

#include <stdint.h>
#include <time.h>

#include "base/map.h"
#include "collect/collect.h"
#include "collect/orphans.h"
#include "os/proc_pid.h"

#define RM_TREE_MAX_MEMBERS 8192U

enum {
    RM_TREE_READ_CHARS,
    RM_TREE_WRITE_CHARS,
    RM_TREE_READ_COUNT,
    RM_TREE_WRITE_COUNT,
    RM_TREE_READ_BYTES,
    RM_TREE_WRITE_BYTES,
    RM_TREE_IO_FIELDS
};

enum { RM_TREE_STAT, RM_TREE_STATM, RM_TREE_IO, RM_TREE_FD_DIRECTORY, RM_TREE_FILES };

struct rm_tree_member {
    uint64_t pid; /* in this /proc */
    uint64_t ppid;
    uint64_t starttime;
    clockid_t clock; /* valid if has_clock */
    bool has_clock;
    bool is_alive;
    bool is_zombie;
    bool has_left; /* the observed cgroup; or its pid belongs to a process outside of the tree */
    bool has_io;   /* `io` was read, and grows from there */
    bool has_lost_main; /* its main thread has ended, other threads live */
    bool waits;         /* its main thread is in uninterruptible sleep */
    bool is_apart;      /* it has its own memory, for good */
    bool shares; /* it shares its parent's memory (vfork, until exec), where that memory counts */
    uint64_t memory_thread; /* a thread that still has its memory, if the main thread has ended;
                               else 0 */
    int64_t here;           /* its pid for system calls; 0: none in our namespace */
    struct rm_kept kept[RM_TREE_FILES];
    double own_s;           /* CPU time */
    double waited_s;        /* CPU time of the children it waited for */
    double waited_growth_s; /* growth since the previous settled reading */
    double ended_s;         /* CPU time of members below it that ended in this reading */
    double ended_io[RM_TREE_IO_FIELDS]; /* their I/O */
    double ended_count;                 /* their number */
    double io[RM_TREE_IO_FIELDS];
    double io_growth[RM_TREE_IO_FIELDS]; /* growth since the previous settled reading */
    double rss, vms, shared, threads, fds;
    double own_threads; /* threads of the library among `threads` */
};

struct rm_process_tree {
    struct rm_tree_member *members; /* [0] is the root, except for a cgroup */
    size_t count;
    size_t room;
    struct rm_map by_pid;          /* index into `members` */
    struct rm_reaper reaper;       /* used if orphans are reparented to us */
    struct rm_tree_member orphans; /* CPU time and I/O of the orphans that we have waited for */
    struct rm_births births;       /* used otherwise */
    size_t open_files;
    uint32_t generation;     /* generation of the root at which members' files were opened */
    size_t open_bound;       /* upper bound of open_files, a share of RLIMIT_NOFILE */
    bool reads_details;      /* reads memory, I/O and descriptors of members, not only CPU time */
    bool has_children_files; /* else /proc is scanned */
    bool has_missed;         /* the last search for children was incomplete: search again */
    bool is_full;            /* processes were left out at RM_TREE_MAX_MEMBERS */
    bool has_hidden;         /* some processes are hidden from us (hidepid) */
    bool has_lost;           /* fork events were lost */
    resmon_status missed;    /* why the last search missed a process; the text is in why_missed */
    char why_missed[160];
    bool has_fds;   /* descriptors of at least one member could be counted */
    bool lists_fds; /* the kernel does not show the number of descriptors as the directory's size */
    uint64_t io_found; /* bit f: io[f] of at least one member could be read */
    struct rm_file loadavg;
    uint64_t seen_changes; /* of the observed group's members */
    uint64_t newest_pid;   /* of the machine at the last search; unchanged: no new process */
    uint64_t task_count;   /* number of threads; unchanged: no new thread */
    double carried_s;      /* CPU time of uncounted members */
    double carried_io[RM_TREE_IO_FIELDS];
    double exited, uncounted;
};

/** Finds the tree below collect->proc_pid.  Without details, only its members and their CPU time
 * are read, and no file is kept open. */
resmon_status rm_tree_open(struct rm_process_tree *tree, struct rm_collect *collect,
                           bool wants_details);

/** Takes the fork events that the kernel has queued, which are a few hundred at most, also between
 * updates.  Returns the time in ns until the next call is due; INT64_MAX: there are no events. */
int64_t rm_tree_take_forks(struct rm_process_tree *tree);

/** Updates members and values.  RESMON_ESRCH: the root has ended, or the cgroup was removed. */
resmon_status rm_tree_update(struct rm_process_tree *tree, struct rm_collect *collect);

/** The pid of the root's child that a member is or descends from; 0: the member is the root or an
 * orphan. */
uint64_t rm_tree_child_above(const struct rm_process_tree *tree,
                             const struct rm_tree_member *member);

void rm_tree_close(struct rm_process_tree *tree);

#endif
