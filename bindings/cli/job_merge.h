/* SPDX-License-Identifier: MIT */
/*
 * Owns making one run of the files of a job: several are loaded at a time, as parsing JSON takes
 * far longer than merging.
 */
#ifndef RESMON_CLI_JOB_MERGE_H
#define RESMON_CLI_JOB_MERGE_H

#include <resmon/run.h>

#include "job_files.h"

/** Merges the files into one run; files that do not belong to it are left out, with a line for
 * each. NULL, and a line that says why: there is nothing. */
resmon_run *cli_job_merge(const char *verb, const struct cli_job_files *files);

#endif
