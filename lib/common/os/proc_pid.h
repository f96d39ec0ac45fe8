/* SPDX-License-Identifier: MIT */
/*
 * Owns other processes, as /proc/PID shows them: their numbers, stat, statm and maps, files as they
 * see them, their threads and descendants, how they ended, and their capabilities.
 */
#ifndef RM_OS_PROC_PID_H
#define RM_OS_PROC_PID_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"
#include "base/parse.h"
#include "os/file.h"

/* ---- numbers of processes --------------------------------------------------------------- */

/*
 * The numbers of processes: those of a /proc, against those that system calls take here.  They
 * differ where /proc was mounted for another pid namespace (unshare --pid without --mount-proc, a
 * container with the host's /proc): proc/self is right there, and proc/<getpid()> is a stranger.
 */

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

/* ---- stat and statm --------------------------------------------------------------------- */

/*
 * The text forms of /proc/PID/stat and /proc/PID/statm.
 */

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

/* ---- lines of maps ---------------------------------------------------------------------- */

/*
 * Reading of the lines of /proc/PID/maps (proc(5)).
 */

struct rm_proc_map {
    uint64_t start, end, offset;
    uint64_t device; /* its major number << 32 | its minor one */
    uint64_t inode;  /* 0: no file */
    bool is_code, is_private;
    struct rm_text path; /* what stands there: a path, "[stack]", nothing */
};

/** false: it is no such line. */
bool rm_proc_map_parse(struct rm_text line, struct rm_proc_map *ret_map);

/* ---- mappings of files ------------------------------------------------------------------ */

/*
 * The list of a process's mappings of files, of /proc/PID/maps: whether a page that came was one of
 * a file.
 */

struct rm_mapped_range {
    uint64_t start, end;
    bool is_file;
    bool is_private; /* a page that is written to is the process's own from then on */
};

struct rm_file_mappings {
    struct rm_mapped_range *ranges; /* by address */
    size_t count, room;
};

/** Reads them anew, of `path`; what cannot be read or finds no memory leaves the old ones. */
void rm_file_mappings_read(struct rm_file_mappings *mappings, const char *path,
                           const struct rm_root *root, struct rm_scratch *scratch);
void rm_file_mappings_free(struct rm_file_mappings *mappings);

/** The range that an address is in, or NULL. */
const struct rm_mapped_range *rm_file_mappings_find(const struct rm_file_mappings *mappings,
                                                    uint64_t address);

/* ---- files as another process sees them ------------------------------------------------- */

/*
 * Looking at files as another process sees them: in a container, a path is another file there.
 */

/* A file that a process has mapped, as the kernel tells of it. */
struct rm_process_file {
    uint32_t pid;
    const char *path;
    uint64_t device; /* its major number << 32 | its minor one */
    uint64_t inode;
};

/** The path by which this process can open it: the same one, where that is the same file; that of
 * the program, which may be deleted or replaced, while it runs; else through the other's root, if
 * that may be looked into. */
void rm_process_file_path(const struct rm_process_file *file, char *path, size_t room);

/** The path of the file that a process is a program of, also when its own path is no more. */
void rm_process_file_program(uint32_t pid, char *path, size_t room);

/** Whether an open regular file belongs to this user, to root, or to who runs the process: that
 * others have put it there is not believed. */
bool rm_process_file_is_trusted(int fd, uint32_t pid);

/* ---- threads of a process and its descendants -------------------------------------------- */

/** Called for each thread, the threads of one process after each other; false ends the walk. */
typedef bool (*rm_task_visit_fn)(void *context, uint32_t pid, uint32_t thread);

/** Visits the present threads of a process and of all its descendants.  RESMON_ESRCH: there is no
 * such process. */
resmon_status rm_task_walk(const struct rm_root *root, uint32_t pid, rm_task_visit_fn visit,
                           void *context);

/** A thread through which the memory, the files and the program of a process are found when its
 * main thread has ended: "proc/PID" shows none of them then.  `proc_dir`: "proc/7".  0: there is
 * none. */
uint64_t rm_task_living(const struct rm_root *root, const char *proc_dir);

/* ---- ends of processes ------------------------------------------------------------------- */

/*
 * Whether and how a process ended that need not be a child of this one.  From Linux 6.15 on, a
 * descriptor of it has the status, once its parent has reaped it; on older kernels, /proc has it
 * while the process is a zombie.
 */

/** A descriptor of a process; -1: it is gone, or the kernel has no such descriptors. */
int rm_process_end_watch(uint32_t pid);

/** The status as of wait(2); false: it is not known (yet). */
bool rm_process_end_learn(int fd, uint32_t pid, uint32_t *ret_status);

void rm_process_end_forget(int fd);

enum rm_process_life {
    RM_PROCESS_RUNS,
    RM_PROCESS_WITHOUT_MAIN, /* its main thread has ended or is about to; other threads run */
    RM_PROCESS_IS_OVER,      /* or about to be, or another process has its number now */
};

/** The state, by /proc, of a process that began before a moment (CLOCK_MONOTONIC). */
enum rm_process_life rm_process_life_of(uint32_t pid, int64_t before_ns);

/* ---- capabilities (capabilities(7)) ------------------------------------------------------ */

enum rm_capability {
    RM_CAP_SYS_ADMIN = 21,
    RM_CAP_PERFMON = 38 /* since Linux 5.8 */
};

/**
 * Whether the process of `proc_dir` has a capability over the machine, in effect.  One that it has
 * in a user namespace of its own is over that namespace only, and does not count.
 */
RM_SHARED bool rm_capability_has(const struct rm_root *root, struct rm_scratch *scratch,
                                 const char *proc_dir, enum rm_capability capability);

#endif
