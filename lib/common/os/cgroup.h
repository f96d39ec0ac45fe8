/* SPDX-License-Identifier: MIT */
/*
 * Owns finding the control group of a process: for each controller the directory below the root,
 * in either version of the interface, through bind mounts, namespaces and hybrid set-ups.
 */
#ifndef RM_OS_CGROUP_H
#define RM_OS_CGROUP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/compiler.h"
#include "os/file.h"

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

#endif
