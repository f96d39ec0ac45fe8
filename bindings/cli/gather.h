/* SPDX-License-Identifier: MIT */
/*
 * Owns what programs that libresmon is in record for themselves while a command runs: a directory
 * in memory, which they know by RESMON_RUN, and which is gone when the command is.  It is ours as
 * long as we hold its lock.
 */
#ifndef RESMON_CLI_GATHER_H
#define RESMON_CLI_GATHER_H

#include <resmon/monitor.h>

#include "launch.h"

#define CLI_GATHER_PATH_BYTES 512U

struct cli_gather {
    char directory[64];           /* "": there is none */
    int fd;                       /* of it, locked */
    char variable[CLI_RUN_BYTES]; /* the value of RESMON_RUN */
};

/** Makes the directory.  Programs that record there do so with these options, as RESMON has them
 * (NULL: none).  Where it cannot be made, they are not asked to. */
void cli_gather_begin(struct cli_gather *gather, const char *options);

/** Recordings that were written last, in the order of their names; how many. */
size_t cli_gather_newest(const struct cli_gather *gather, char (*paths)[CLI_GATHER_PATH_BYTES],
                         size_t most);

/** Joins all that was recorded into the run of a monitor (NULL: of none), and removes it. */
void cli_gather_end(struct cli_gather *gather, resmon_monitor *monitor);

#endif
