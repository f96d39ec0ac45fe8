/* SPDX-License-Identifier: MIT */
/*
 * Owns the letters that stand for something in the path of a file, "run-%j-%r.json", and
 * makes outside text fit for one.
 */
#ifndef RM_JOB_PATH_PATTERN_H
#define RM_JOB_PATH_PATTERN_H

#include <stddef.h>

#include "base/compiler.h"
#include "job/environment.h"
#include "os/outfile.h"

/**
 * Replaces "%p" (process id), "%h" (host name), "%j" (id of the job, or "nojob"), "%n" (name of the
 * node, or of the host), "%r" (rank, or 0) and "%%" in `pattern`.  What comes from outside is made
 * fit for a file name first: it never leaves the directory.
 * RESMON_EINVAL: another letter, too long, or empty; RESMON_ENOMEM.
 */
RM_SHARED resmon_status rm_path_expand(const char *pattern, char path[RM_PATH_BYTES]);

/** rm_path_expand() by the variables of `environment` instead of the process's own. */
resmon_status rm_path_expand_in(const struct rm_job_environment *environment, const char *pattern,
                                char path[RM_PATH_BYTES]);

/**
 * `text` as a part of a file name in `name`: bytes other than [A-Za-z0-9._+=-] become '_', and so
 * do the dots of "." and "..", and "" becomes "_".  What does not fit is cut off.
 */
void rm_file_name_clean(char *name, size_t capacity, const char *text);

#endif
