/* SPDX-License-Identifier: MIT */
/*
 * Owns the letters that stand for something in the path of a file: "run-%j-%r.json".
 * Called by api and engine.
 */
#ifndef RM_JOB_PATH_PATTERN_H
#define RM_JOB_PATH_PATTERN_H

#include "job/environment.h"
#include "sys/outfile.h"

/**
 * Replaces "%p" (process id), "%h" (host name), "%j" (id of the job, or "nojob"), "%n" (name of the
 * node, or of the host), "%r" (rank, or 0) and "%%" in `pattern`.  What comes from outside is made
 * fit for a file name first: it never leaves the directory.
 * RESMON_EINVAL: another letter, too long, or empty; RESMON_ENOMEM.
 */
resmon_status rm_path_expand(const char *pattern, char path[RM_PATH_BYTES]);

/** The same in another environment. */
resmon_status rm_path_expand_in(const struct rm_job_environment *environment, const char *pattern,
                                char path[RM_PATH_BYTES]);

#endif
