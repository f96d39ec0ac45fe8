/* SPDX-License-Identifier: MIT */
/*
 * Owns the view of other processes through /proc/PID: pids, stat, statm and maps; files in their
 * mount namespaces; threads and descendants; exit status; capabilities.
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
 * Pids in a /proc, and pids that system calls take here.  They differ where /proc was mounted for
 * another pid namespace (unshare --pid without --mount-proc, a container with the host's /proc).
 * Then proc/self is correct, and proc/<getpid()> is another process.
 */

enum rm_pid_view_kind {
    RM_PID_VIEW_SAME = 0,   /* the /proc is of this process's namespace: pids are equal */
    RM_PID_VIEW_OUTER = 1,  /* of an ancestor namespace: each process has another pid there */
    RM_PID_VIEW_FOREIGN = 2 /* of a namespace without this process */
};

struct rm_pid_view {
    enum rm_pid_view_kind kind;
    int64_t own;    /* the pid of this process in /proc; 0: FOREIGN */
    unsigned depth; /* levels of namespaces between; 0: SAME, or not known (before Linux 4.1) */
};

/** Finds out which pids the /proc below `root` has; `pid` is of this process.  Without a /proc:
 * SAME. */
struct rm_pid_view rm_pid_view_find(const struct rm_root *root, struct rm_scratch *scratch,
                                    int64_t pid);

/** The number for system calls of the process or thread with `number` in /proc; 0: unknown, or not
 * in this process's namespace. */
int64_t rm_pid_view_here(const struct rm_pid_view *view, const struct rm_root *root,
                         struct rm_scratch *scratch, int64_t number);

/** The number in /proc of process `pid`; 0: not visible there, ended, or the kernel lacks the
 * information (before 5.3). */
int64_t rm_pid_view_there(const struct rm_pid_view *view, const struct rm_root *root,
                          struct rm_scratch *scratch, int64_t pid);

/** Advice about a FOREIGN /proc, for messages. */
#define RM_PID_VIEW_REMEDY                                                                  \
    "/proc is of another pid namespace: mount it again (unshare --mount-proc, or mount -t " \
    "proc proc /proc)"

/* ---- stat and statm --------------------------------------------------------------------- */

/*
 * The text forms of /proc/PID/stat and /proc/PID/statm.
 */

/* Times in clock ticks, sizes as the kernel prints them; 0 for fields that an old kernel lacks. */
struct rm_pid_stat {
    char state; /* 'R', 'S', 'Z' ... */
    uint64_t ppid;
    uint64_t session; /* pid of its leader */
    uint64_t flags;   /* PF_* of the kernel */
    uint64_t minflt, majflt;
    uint64_t utime, stime;   /* own */
    uint64_t cutime, cstime; /* of waited-for children, including their own waited-for children */
    uint64_t threads;
    uint64_t starttime;  /* since boot; with the pid, it identifies a process uniquely */
    uint64_t vsize;      /* B */
    uint64_t rss;        /* pages */
    uint64_t startstack; /* start address of the stack, which an exec changes; 0: not permitted to
                            read */
    uint64_t blkio_delay;
    uint64_t exit_code; /* of a zombie, in the form of wait(2); 0: not permitted to read */
};

/** False when the text is not a stat line. */
bool rm_pid_stat_parse(struct rm_text text, struct rm_pid_stat *ret_stat);

/** Whether the process was removed while the kernel wrote the line.  The kernel then prints 0 for
 * missing parts; any other process, even a zombie, has at least one thread. */
static inline bool rm_pid_stat_is_removed(const struct rm_pid_stat *stat)
{
    return stat->threads == 0;
}

/* In pages.  All are 0 if the main thread of the process has ended. */
struct rm_pid_statm {
    uint64_t size, resident, shared; /* shared: of files, and of shared memory */
    uint64_t text, lib, data;
};

/** False when the text is not a statm line. */
bool rm_pid_statm_parse(struct rm_text text, struct rm_pid_statm *ret_statm);

/* ---- lines of maps ---------------------------------------------------------------------- */

/*
 * Parses lines of /proc/PID/maps (proc(5)).
 */

struct rm_proc_map {
    uint64_t start, end, offset;
    uint64_t device; /* its major number << 32 | its minor one */
    uint64_t inode;  /* 0: no file */
    bool is_code, is_private;
    struct rm_text path; /* the last field: a path, "[stack]", or empty */
};

/** False: the text is not a line of maps. */
bool rm_proc_map_parse(struct rm_text line, struct rm_proc_map *ret_map);

/* ---- mappings of files ------------------------------------------------------------------ */

/*
 * The mappings of files of a process, from /proc/PID/maps: decides whether a new page belongs to a
 * file.
 */

struct rm_mapped_range {
    uint64_t start, end;
    bool is_file;
    bool is_private; /* a page becomes the process's own at the first write */
};

struct rm_file_mappings {
    struct rm_mapped_range *ranges; /* by address */
    size_t count, room;
};

/** Reads the list again from `path`.  If the file cannot be read or memory is short, the old list
 * stays. */
void rm_file_mappings_read(struct rm_file_mappings *mappings, const char *path,
                           const struct rm_root *root, struct rm_scratch *scratch);
void rm_file_mappings_free(struct rm_file_mappings *mappings);

/** The range that contains an address, or NULL. */
const struct rm_mapped_range *rm_file_mappings_find(const struct rm_file_mappings *mappings,
                                                    uint64_t address);

/* ---- files as another process sees them ------------------------------------------------- */

/*
 * Access to files as another process sees them: in a container, a path may lead to another file.
 */

/* A file that a process has mapped, as the kernel identifies it. */
struct rm_process_file {
    uint32_t pid;
    const char *path;
    uint64_t device; /* its major number << 32 | its minor one */
    uint64_t inode;
};

/** A path by which this process can open the file.  First choice: the same path, if it leads to the
 * same file.  Second: /proc/PID/exe, if the file is the program of the process, which also works
 * for a deleted or replaced program.  Third: through /proc/PID/root.  If that is inaccessible: the
 * same path. */
void rm_process_file_path(const struct rm_process_file *file, char *path, size_t room);

/** The path of the executable of a process (/proc/PID/exe), also if that file was deleted. */
void rm_process_file_program(uint32_t pid, char *path, size_t room);

/** Whether an open regular file belongs to this user, to root, or to the user of the process.
 * Files of other users are not trusted. */
bool rm_process_file_is_trusted(int fd, uint32_t pid);

/* ---- threads of a process and its descendants -------------------------------------------- */

/** Called for each thread; the threads of one process are consecutive.  False ends the walk. */
typedef bool (*rm_task_visit_fn)(void *context, uint32_t pid, uint32_t thread);

/** Visits the present threads of a process and of all its descendants.  RESMON_ESRCH: no such
 * process. */
resmon_status rm_task_walk(const struct rm_root *root, uint32_t pid, rm_task_visit_fn visit,
                           void *context);

/** A living thread of a process whose main thread has ended.  "proc/PID" then shows no memory,
 * files or program, but the directory of a living thread does.  `proc_dir`: "proc/7". 0: no such
 * thread. */
uint64_t rm_task_living(const struct rm_root *root, const char *proc_dir);

/* ---- ends of processes ------------------------------------------------------------------- */

/*
 * Whether and how a process ended that need not be a child of this process.  From Linux 6.15 on, a
 * pidfd has the exit status after the parent has reaped the process.  On older kernels, /proc has
 * the status while the process is a zombie.
 */

/** A pidfd of a process; -1: the process has ended, or the kernel does not support pidfds. */
int rm_process_end_watch(uint32_t pid);

/** The status in the form of wait(2); false: not known (yet). */
bool rm_process_end_learn(int fd, uint32_t pid, uint32_t *ret_status);

void rm_process_end_forget(int fd);

enum rm_process_life {
    RM_PROCESS_RUNS,
    RM_PROCESS_WITHOUT_MAIN, /* its main thread has ended or is about to end; other threads run */
    RM_PROCESS_IS_OVER,      /* ended, about to end, or another process has its pid now */
};

/** The state, from /proc, of a process that began before a moment (CLOCK_MONOTONIC). */
enum rm_process_life rm_process_life_of(uint32_t pid, int64_t before_ns);

/* ---- capabilities (capabilities(7)) ------------------------------------------------------ */

enum rm_capability {
    RM_CAP_SYS_ADMIN = 21,
    RM_CAP_PERFMON = 38 /* since Linux 5.8 */
};

/**
 * Whether the process of `proc_dir` has an effective capability in the first user namespace.  A
 * capability in another user namespace does not count: it is limited to that namespace.
 */
RM_SHARED bool rm_capability_has(const struct rm_root *root, struct rm_scratch *scratch,
                                 const char *proc_dir, enum rm_capability capability);

#endif
