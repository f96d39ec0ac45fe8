/* SPDX-License-Identifier: MIT */
/*
 * Owns the search, by name, for the cgroup that a batch system made for a job on this node.
 */
#ifndef RM_JOB_JOB_CGROUP_H
#define RM_JOB_JOB_CGROUP_H

#include "os/cgroup.h"

/** Absolute path of the cgroup.  RESMON_ENOENT: no cgroup of the job is on this node;
 * RESMON_EINVAL: not an id. */
resmon_status rm_job_cgroup(const char *fs_root, const char *id, char ret_path[RM_FILE_PATH_BYTES]);

/** The cgroups of the job that contain a process's cgroups `own`, which may belong to a step or
 * task.  `id` is the job's id.  For Slurm, any id matches, as the parts of a heterogeneous job have
 * different ids.  False: no cgroup in `own` belongs to a job. */
bool rm_job_cgroup_around(const struct rm_cgroup *own, const char *id, struct rm_cgroup *ret_group);

#endif
