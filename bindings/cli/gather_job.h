/* SPDX-License-Identifier: MIT */
/*
 * Owns making one run of a job when it is over: by the first of its ranks, which waits a while for
 * the others.
 */
#ifndef RESMON_CLI_GATHER_JOB_H
#define RESMON_CLI_GATHER_JOB_H

#include "arguments.h"

/** Our own run is over, and its file in the directory.  Of another rank than the first, and without
 * a job, nothing is done. */
void cli_gather_job(const struct cli_arguments *arguments, const char *directory);

#endif
