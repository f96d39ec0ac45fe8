/* SPDX-License-Identifier: MIT */
/*
 * Owns the live view of a command (`resmon run --live`): its run so far, its last lines of output,
 * and the scopes of its programs.  The terminal output of the command is buffered in an unnamed
 * file in TMPDIR, and written to the terminal when the view closes.
 */
#ifndef RESMON_CLI_WATCH_H
#define RESMON_CLI_WATCH_H

#include <stdbool.h>
#include <sys/types.h>

#include <resmon/monitor.h>

#include "gather.h"
#include "launch.h"
#include "view.h"

struct cli_kept {
    int fd;      /* of the buffer file; -1: none */
    off_t shown; /* bytes that were written to the terminal */
};

/** Creates the file; false, and a message: it cannot be created. */
bool cli_kept_open(struct cli_kept *kept);
void cli_kept_close(struct cli_kept *kept);

/** In the process of the command: replaces stdin by /dev/null, and stdout and stderr by the file,
 * where they are a terminal.  Async-signal-safe. */
void cli_kept_take(const struct cli_kept *kept);

#define CLI_WATCH_PARTS 8U

struct cli_watch {
    struct cli_view view; /* first member: its callbacks cast the pointer */
    struct cli_launch *launch;
    const struct cli_gather *gather;
    resmon_monitor *monitor; /* NULL: no view */
    bool has_page;
    resmon_run *run; /* latest snapshot; NULL: none */
    resmon_run *parts[CLI_WATCH_PARTS];
    size_t part_count;
};

/** Opens the view, before the command begins; false, and a message: there is no terminal. */
bool cli_watch_open(struct cli_watch *watch);

/** Waits until the command has ended.  If a key closes the view before, the output of the command
 * is written as it comes. */
void cli_watch_wait(struct cli_watch *watch);

/** Closes the view, and writes the buffered output. */
void cli_watch_close(struct cli_watch *watch);

#endif
