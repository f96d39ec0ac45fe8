/* SPDX-License-Identifier: MIT */
/*
 * Owns the control group (cgroup) of a process: finding the cgroup, and its memory limits.
 */
#ifndef RM_OS_CGROUP_H
#define RM_OS_CGROUP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/compiler.h"
#include "os/file.h"

/* ---- finding it ------------------------------------------------------------------------- */

/*
 * Finds the cgroup of a process: for each controller, the directory below the root.  Works with
 * both versions of the interface, bind mounts, namespaces and hybrid set-ups.
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
    char path[RM_CGROUP_PATH_BYTES]; /* of the cgroup, relative to the root directory */
    size_t mount_length;             /* the length of the mount point at the start of `path` */
    bool is_outside;       /* the cgroup is not below the mount: `path` is the mount point */
    bool has_local_events; /* version 2: memory.events excludes the cgroups below */
};

struct rm_cgroup {
    struct rm_cgroup_place places[RM_CGROUP_CONTROLLERS];
};

/** Finds the cgroups of the process at `proc_dir` ("proc/self"). */
RM_SHARED resmon_status rm_cgroup_find(struct rm_cgroup *cgroup, const struct rm_root *root,
                                       struct rm_scratch *scratch, const char *proc_dir);

/** Finds a cgroup by its path, with the mount point ("/sys/fs/cgroup/a.slice/b", also of one
 * version 1 hierarchy) or without ("/a.slice/b").  All hierarchies are searched.  RESMON_ENOENT:
 * no such cgroup; RESMON_EINVAL: not a cgroup path. */
resmon_status rm_cgroup_find_path(struct rm_cgroup *cgroup, const struct rm_root *root,
                                  struct rm_scratch *scratch, const char *path);

/** Writes "`path`/`file`" to `target`; RESMON_ENOENT when the controller was not found. */
RM_SHARED resmon_status rm_cgroup_file(const struct rm_cgroup_place *place, const char *file,
                                       char target[RM_FILE_PATH_BYTES]);

/** Visits the directory of the cgroup, and of each ancestor up to the mount point. */
typedef void (*rm_cgroup_visit_fn)(void *context, const char *path);
void rm_cgroup_visit_ancestors(const struct rm_cgroup_place *place, rm_cgroup_visit_fn visit,
                               void *context);

/* ---- limits of memory ------------------------------------------------------------------- */

/*
 * The memory limits of a process: the limits of its cgroup and of all ancestors, each with the
 * memory charged there.  The process is killed at the level with the least memory left.  Called by
 * collect, engine/sampler and stack/memory_watch.
 */

/* Levels beyond this number are ignored, the outermost ones first. */
#define RM_CGROUP_MOST_LEVELS 16U

/* Version 1 writes "no limit" as a very large number, the largest multiple of the page size. */
#define RM_CGROUP_UNLIMITED (UINT64_C(1) << 60)

struct rm_cgroup_level {
    char path[RM_CGROUP_PATH_BYTES]; /* relative to the root directory */
    uint64_t limit;                  /* UINT64_MAX: no limit */
    struct rm_file used;
    bool is_hidden; /* the cgroup is not mounted here: only its limit is known */
};

struct rm_cgroup_limits {
    const struct rm_root *root;
    int version;
    struct rm_cgroup_level *levels; /* the cgroup of the process first */
    size_t count;
    int64_t read_ns; /* when the limits were read; limits can change while programs run */
};

/* The limit with the least memory left. */
struct rm_cgroup_headroom {
    size_t level;
    uint64_t limit; /* UINT64_MAX: no limit; `level` is the cgroup of the process then */
    uint64_t used;  /* at that level, file cache included */
    uint64_t left;
};

/** Finds the cgroups and their limits.  `root` must not move until close. */
resmon_status rm_cgroup_limits_open(struct rm_cgroup_limits *limits,
                                    const struct rm_cgroup_place *place, const struct rm_root *root,
                                    struct rm_scratch *scratch, int64_t now_ns);
void rm_cgroup_limits_close(struct rm_cgroup_limits *limits);

/** Reads the memory charged at each level with a limit, and every 10 s the limits.  Where a level
 * has no readable value, the charge of the level below it is a lower bound. */
struct rm_cgroup_headroom rm_cgroup_limits_look(struct rm_cgroup_limits *limits,
                                                struct rm_scratch *scratch, int64_t now_ns);

/** Reads the limits again if the last reading is at least 10 s old. */
void rm_cgroup_limits_refresh(struct rm_cgroup_limits *limits, struct rm_scratch *scratch,
                              int64_t now_ns);

/** The lowest limit of all levels in bytes; NaN: no limit. */
double rm_cgroup_limits_tightest(const struct rm_cgroup_limits *limits);

/** The lowest limit of a cgroup and its ancestors, read once; NaN: no limit. */
double rm_cgroup_tightest_limit(const struct rm_cgroup_place *place, const struct rm_root *root,
                                struct rm_scratch *scratch);

#endif
