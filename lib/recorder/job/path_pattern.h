/* SPDX-License-Identifier: MIT */
/*
 * Owns the expansion of path patterns such as "run-%j-%r.json", and the cleaning of untrusted
 * text for file names.
 */
#ifndef RM_JOB_PATH_PATTERN_H
#define RM_JOB_PATH_PATTERN_H

#include <stddef.h>

#include "base/compiler.h"
#include "job/environment.h"
#include "os/outfile.h"

/**
 * Expands "%p" (process id), "%h" (host name), "%j" (job id, or "nojob"), "%n" (node name, or
 * host name), "%r" (rank, or 0) and "%%" in `pattern`.  Values from outside are cleaned for use
 * in a file name: the result never leaves the directory.  RESMON_EINVAL: another letter, too
 * long, or empty; RESMON_ENOMEM.
 */
RM_SHARED resmon_status rm_path_expand(const char *pattern, char path[RM_PATH_BYTES]);

/** As rm_path_expand(), with the variables of `environment`. */
resmon_status rm_path_expand_in(const struct rm_job_environment *environment, const char *pattern,
                                char path[RM_PATH_BYTES]);

/**
 * Writes `text` as a part of a file name: bytes other than [A-Za-z0-9._+=-] become '_', as do
 * the dots of "." and "..", and "" becomes "_".  Cut to `capacity`.
 */
void rm_file_name_clean(char *name, size_t capacity, const char *text);

#endif
