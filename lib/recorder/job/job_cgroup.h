/* SPDX-License-Identifier: MIT */
/*
 * Owns finding the control group that a batch system made for a job on this node, by its name.
 */
#ifndef RM_JOB_JOB_CGROUP_H
#define RM_JOB_JOB_CGROUP_H

#include "os/cgroup.h"

/** Absolute path of the group.  RESMON_ENOENT: no group of that job is here; RESMON_EINVAL: that is
 * no id. */
resmon_status rm_job_cgroup(const char *fs_root, const char *id, char ret_path[RM_FILE_PATH_BYTES]);

/** The groups of the job that a process is in, whose own groups are `own`: those that the batch
 * system gave to steps and tasks are below it.  `id` of that job; a Slurm job of any id counts, as
 * the parts of a heterogeneous one have others.  False: no group is one of a job. */
bool rm_job_cgroup_around(const struct rm_cgroup *own, const char *id, struct rm_cgroup *ret_group);

#endif
