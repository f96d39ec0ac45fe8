/* SPDX-License-Identifier: MIT */
/*
 * Owns the control group of a process: finding it, the limits of memory that hold there, and the
 * processes in it.
 */
#ifndef RM_OS_CGROUP_H
#define RM_OS_CGROUP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/compiler.h"
#include "os/file.h"

/* ---- finding it ------------------------------------------------------------------------- */

/*
 * Finding the control group of a process: for each controller the directory below the root, in
 * either version of the interface, through bind mounts, namespaces and hybrid set-ups.
 */

enum rm_cgroup_controller {
    RM_CGROUP_MEMORY = 0,
    RM_CGROUP_CPU = 1,
    RM_CGROUP_CPUACCT = 2, /* version 2: the same directory as cpu */
    RM_CGROUP_IO = 3,      /* version 1: blkio */
    RM_CGROUP_PIDS = 4,
    RM_CGROUP_CONTROLLERS = 5
};

#define RM_CGROUP_PATH_BYTES 400

struct rm_cgroup_place {
    int version;                     /* 1, 2; 0: not found */
    char path[RM_CGROUP_PATH_BYTES]; /* of the group, relative to the root directory */
    size_t mount_length;             /* the part of it that is the mount point */
    bool is_outside;                 /* the group is not below the mount: only the mount point */
    bool has_local_events; /* version 2: memory.events are without those of groups below */
};

struct rm_cgroup {
    struct rm_cgroup_place places[RM_CGROUP_CONTROLLERS];
};

/** Finds the groups of the process behind `proc_dir` ("proc/self"). */
RM_SHARED resmon_status rm_cgroup_find(struct rm_cgroup *cgroup, const struct rm_root *root,
                                       struct rm_scratch *scratch, const char *proc_dir);

/** Finds a group by its path: with the mount point ("/sys/fs/cgroup/a.slice/b", also of one
 * hierarchy of version 1), or without ("/a.slice/b"); it is looked for in all hierarchies.
 * RESMON_ENOENT: there is none; RESMON_EINVAL: that is no such path. */
resmon_status rm_cgroup_find_path(struct rm_cgroup *cgroup, const struct rm_root *root,
                                  struct rm_scratch *scratch, const char *path);

/** "`path`/`file`" into `target`; RESMON_ENOENT when the controller was not found. */
RM_SHARED resmon_status rm_cgroup_file(const struct rm_cgroup_place *place, const char *file,
                                       char target[RM_FILE_PATH_BYTES]);

/** Visits the group's directory and each ancestor's up to the mount point. */
typedef void (*rm_cgroup_visit_fn)(void *context, const char *path);
void rm_cgroup_visit_ancestors(const struct rm_cgroup_place *place, rm_cgroup_visit_fn visit,
                               void *context);

/* ---- limits of memory ------------------------------------------------------------------- */

/*
 * The limits of memory that hold for a process: its control group's and those of all groups above
 * it, each with what is charged there.  The one that leaves the least is the one that kills.
 * Called by collect, engine/sampler and stack/memory_watch.
 */

/* Deeper nests are cut: the outermost groups are left out. */
#define RM_CGROUP_MOST_LEVELS 16U

/* Version 1 says "no limit" with a huge number, the largest multiple of the page size. */
#define RM_CGROUP_UNLIMITED (UINT64_C(1) << 60)

struct rm_cgroup_level {
    char path[RM_CGROUP_PATH_BYTES]; /* relative to the root directory */
    uint64_t limit;                  /* UINT64_MAX: none */
    struct rm_file used;
    bool is_hidden; /* a group that is not mounted here: nothing but its limit is known */
};

struct rm_cgroup_limits {
    const struct rm_root *root;
    int version;
    struct rm_cgroup_level *levels; /* the process's own group first */
    size_t count;
    int64_t read_ns; /* when the limits were read; they are changed while programs run */
};

/* The limit that leaves the least. */
struct rm_cgroup_headroom {
    size_t level;
    uint64_t limit; /* UINT64_MAX: there is none; `level` is the process's own group */
    uint64_t used;  /* at that level, file cache included */
    uint64_t left;
};

/** Finds the groups and their limits; the root stays where it is until close. */
resmon_status rm_cgroup_limits_open(struct rm_cgroup_limits *limits,
                                    const struct rm_cgroup_place *place, const struct rm_root *root,
                                    struct rm_scratch *scratch, int64_t now_ns);
void rm_cgroup_limits_close(struct rm_cgroup_limits *limits);

/** Reads what is charged at each level with a limit; the limits again every 10 s.  What a group
 * does not tell is at least what is charged in the one below it. */
struct rm_cgroup_headroom rm_cgroup_limits_look(struct rm_cgroup_limits *limits,
                                                struct rm_scratch *scratch, int64_t now_ns);

/** Reads the limits again, if they were read 10 s ago or before. */
void rm_cgroup_limits_refresh(struct rm_cgroup_limits *limits, struct rm_scratch *scratch,
                              int64_t now_ns);

/** The tightest limit of all levels in bytes; NaN: there is none. */
double rm_cgroup_limits_tightest(const struct rm_cgroup_limits *limits);

/** The tightest limit of a group and those above it, looked up for this once; NaN: there is none.
 */
double rm_cgroup_tightest_limit(const struct rm_cgroup_place *place, const struct rm_root *root,
                                struct rm_scratch *scratch);

/* ---- processes in it -------------------------------------------------------------------- */

/*
 * The list of processes in a control group and in those below it (cgroup.procs).
 */

struct rm_cgroup_members {
    uint64_t *pids;
    size_t count, room;
};

/** Lists them anew; what the scratch held is lost.  RESMON_ENOENT: the group is gone; others: some
 * are missing. */
resmon_status rm_cgroup_members_read(struct rm_cgroup_members *members,
                                     const struct rm_cgroup *cgroup, const struct rm_root *root,
                                     struct rm_scratch *scratch);

bool rm_cgroup_members_has(const struct rm_cgroup_members *members, uint64_t pid);

void rm_cgroup_members_free(struct rm_cgroup_members *members);

#endif
