/* SPDX-License-Identifier: MIT */
/*
 * Owns how the ranks of a job on one node know of each other: a file of this node that each of them
 * has locked as long as it lives; the kernel unlocks it when one dies.
 */
#ifndef RESMON_CLI_NODE_RANKS_H
#define RESMON_CLI_NODE_RANKS_H

#include <stdbool.h>

#include "job_place.h"

struct cli_node_ranks {
    char path[CLI_JOB_PATH_BYTES];
    int fd; /* below 0: nothing is known */
};

/** Before our command begins: from now on we are one of them. */
void cli_node_ranks_enter(struct cli_node_ranks *ranks, const struct cli_job_place *place);

/** Whether there are others. */
bool cli_node_ranks_are_left(const struct cli_node_ranks *ranks);

/** The last one removes the file. */
void cli_node_ranks_leave(struct cli_node_ranks *ranks);

#endif
