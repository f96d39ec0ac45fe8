/* SPDX-License-Identifier: MIT */
/*
 * Owns a directory in shared memory, in which programs that use libresmon record their own scopes
 * while the command runs.  They find it by the variable RESMON_RUN.  It is locked while this
 * process uses it, and removed at the end.
 */
#ifndef RESMON_CLI_GATHER_H
#define RESMON_CLI_GATHER_H

#include <resmon/monitor.h>

#include "launch.h"

#define CLI_GATHER_PATH_BYTES 512U

struct cli_gather {
    char directory[64];           /* "": none */
    int fd;                       /* of the directory, locked */
    char variable[CLI_RUN_BYTES]; /* the value of RESMON_RUN */
};

/** Creates the directory.  `options`: for the monitors of these programs, as in the variable RESMON
 * (NULL: none).  If it cannot be created, RESMON_RUN is not set. */
void cli_gather_begin(struct cli_gather *gather, const char *options);

/** Returns paths of the newest recordings, sorted by name, and their number. */
size_t cli_gather_newest(const struct cli_gather *gather, char (*paths)[CLI_GATHER_PATH_BYTES],
                         size_t most);

/** Joins all recordings into the run of a monitor (NULL: into none), and removes the directory. */
void cli_gather_end(struct cli_gather *gather, resmon_monitor *monitor);

#endif
