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

#endif
