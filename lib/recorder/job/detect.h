/* SPDX-License-Identifier: MIT */
/*
 * Owns the detection of the job that a process belongs to: the batch system's data about the job
 * and its nodes, and the rank by the launcher nearest to the process.
 *
 * Called by api, engine, job/leader and job/path_pattern.
 */
#ifndef RM_JOB_DETECT_H
#define RM_JOB_DETECT_H

#include <resmon/job.h>

#include "base/alloc.h"
#include "job/environment.h"
#include "job/hosts.h"

struct resmon_job {
    resmon_job_info info; /* its texts are in `strings`, never NULL */
    struct rm_hosts hosts;
    struct rm_arena strings;
};

/** Detects the job of the process with this environment.  The only failure is RESMON_ENOMEM. */
resmon_status rm_job_detect(const struct rm_job_environment *environment,
                            struct resmon_job **ret_job);

void rm_job_free(struct resmon_job *job);

#endif
