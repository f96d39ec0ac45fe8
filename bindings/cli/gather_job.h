/* SPDX-License-Identifier: MIT */
/*
 * Owns what is done of a job when our own command is over: the machine is watched on as long as
 * other ranks are on it, and the first of all ranks, which waits a while for the others, makes one
 * run of them.
 */
#ifndef RESMON_CLI_GATHER_JOB_H
#define RESMON_CLI_GATHER_JOB_H

#include "job_files.h"
#include "node_ranks.h"
#include "observe.h"

/** Of the first of several ranks on a node: watches the machine until the others have ended. */
void cli_gather_machine(const struct cli_observing *observing, const struct cli_node_ranks *ranks);

/** Our own run is over, and its file in the directory.  Of another rank than the first, and without
 * a job, nothing is done. */
void cli_gather_job(const struct cli_observing *observing);

/** Makes one run of the files, "4711.json" beside them; and prints it, unless `is_quiet`.  False,
 * and a line that says why: there is none. */
bool cli_gather_files(const char *verb, const struct cli_job_place *place,
                      const struct cli_job_files *files, bool is_quiet);

#endif
