/* SPDX-License-Identifier: MIT */
/*
 * Owns the set of a process and all of its descendants: who is in it, what each one used, and what
 * those that ended had used.
 *
 * A member is (pid, start time), so a reused pid is another process.  Once in, it stays in until it
 * ends, also when its parent ends first.  When a member ends, the kernel adds its CPU time and I/O
 * to the process that waits for it; where the nearest living ancestor shows at least that much more
 * waited-for CPU time and I/O, nothing is lost, not even of children too short-lived to be seen.
 * Otherwise the last figures seen are carried on, and what ended counts as uncounted.
 *
 * Where our own process started the root and takes in orphans (PR_SET_CHILD_SUBREAPER, or process
 * 1), whoever is handed to it belongs to the set, seen before or not; what these had used is in the
 * kernel's account of what we have waited for.
 *
 * Elsewhere the kernel's word of who forked whom is taken, where it can be had (orphans.h); else
 * the lists of children at each sample are, in which nobody stands whose parent came and went
 * between two of them.
 *
 * Of a control group the set is who is in it and in those below; who leaves it has ended.
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
    RM_TREE_READ_BYTES,
    RM_TREE_WRITE_BYTES,
    RM_TREE_IO_FIELDS
};

enum { RM_TREE_STAT, RM_TREE_STATM, RM_TREE_IO, RM_TREE_FD_DIRECTORY, RM_TREE_FILES };

struct rm_tree_member {
    uint64_t pid; /* as /proc has it */
    uint64_t ppid;
    uint64_t starttime;
    clockid_t clock; /* if has_clock */
    bool has_clock;
    bool is_alive;
    bool is_zombie;
    bool has_left;      /* the control group that is observed; or its number, to a stranger */
    bool has_io;        /* `io` was read: it grows from there on */
    bool has_lost_main; /* its first thread has ended, others live */
    bool waits;         /* its main thread, for something that cannot be interrupted */
    bool is_apart;      /* it has memory of its own, and keeps it */
    bool shares;        /* it has its parent's (vfork, until exec): there, that counts */
    uint64_t speaker;   /* a thread that has its memory, when the main one has ended; else 0 */
    int64_t here;       /* its number for system calls; 0: it has none here */
    struct rm_kept kept[RM_TREE_FILES];
    double own_s;           /* CPU time */
    double waited_s;        /* of children that were waited for */
    double waited_growth_s; /* since the reading before that was settled */
    double ended_s;         /* of members below it that ended in this reading: CPU time, */
    double ended_io[RM_TREE_IO_FIELDS]; /* I/O, */
    double ended_count;                 /* and how many */
    double io[RM_TREE_IO_FIELDS];
    double io_growth[RM_TREE_IO_FIELDS]; /* as waited_growth_s */
    double rss, vms, shared, threads, fds;
    double own_threads; /* of the library, among `threads` */
};

struct rm_process_tree {
    struct rm_tree_member *members; /* [0] is the root, but of a control group */
    size_t count;
    size_t room;
    struct rm_map by_pid;          /* of `members` */
    struct rm_reaper reaper;       /* if orphans are handed to us, */
    struct rm_tree_member orphans; /* what we have waited for of them: CPU time and I/O */
    struct rm_births births;       /* if they are not */
    size_t open_files;
    uint32_t generation;     /* of the root that members' files were opened below */
    size_t open_bound;       /* of those, a share of RLIMIT_NOFILE */
    bool reads_details;      /* also memory, I/O and descriptors of members, and not CPU alone */
    bool has_children_files; /* else /proc is scanned */
    bool has_missed;         /* the last look for children failed somewhere: look again */
    bool is_full;            /* processes were left out */
    bool has_hidden;         /* some are hidden from us (hidepid) */
    bool has_lost;           /* births were not told */
    resmon_status missed;    /* why the latest look missed somebody, with the text */
    char why_missed[160];
    bool has_fds;      /* somebody's descriptors could be counted */
    bool lists_fds;    /* the kernel does not tell how many a directory of them has */
    uint64_t io_found; /* bit f: somebody's io[f] could be read */
    struct rm_file loadavg;
    uint64_t newest_pid; /* of the machine at the last look for children; unchanged, and no more */
    uint64_t task_count; /* threads: no new ones */
    double carried_s;    /* of uncounted members */
    double carried_io[RM_TREE_IO_FIELDS];
    double exited, uncounted;
};

/** Finds the tree below collect->proc_pid.  Without details, only who is in it and their CPU time
 * are read, and no file is kept open. */
resmon_status rm_tree_open(struct rm_process_tree *tree, struct rm_collect *collect,
                           bool wants_details);

/** Takes what the kernel tells of births, of which it keeps a few hundred: between two updates,
 * too.  In how many ns to do that again; INT64_MAX: it tells nothing. */
int64_t rm_tree_hear(struct rm_process_tree *tree);

/** Brings members and figures up to date; RESMON_ESRCH when the root has ended, or the group. */
resmon_status rm_tree_update(struct rm_process_tree *tree, struct rm_collect *collect);

/** The child of the root that a member descends from, or is; 0: none, it is the root or an orphan.
 */
uint64_t rm_tree_child_above(const struct rm_process_tree *tree,
                             const struct rm_tree_member *member);

void rm_tree_close(struct rm_process_tree *tree);

#endif
