/* SPDX-License-Identifier: MIT */
/*
 * Owns the page of a command that runs (`resmon run --live`): its run so far, the last lines that
 * it printed, and the open scopes of programs in it.  What the command prints meanwhile goes to a
 * file without a name, in TMPDIR, and from there to the terminal when the page is gone.
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
    int fd;      /* of the file; -1: there is none */
    off_t shown; /* so much of it */
};

/** Makes the file; false, and a line that says why. */
bool cli_kept_open(struct cli_kept *kept);
void cli_kept_close(struct cli_kept *kept);

/** In the process that becomes the command: where its input, output or stderr is a terminal, there
 * is nothing to read, and what is written goes to the file.  Async-signal-safe. */
void cli_kept_take(const struct cli_kept *kept);

#define CLI_WATCH_PARTS 8U

struct cli_watch {
    struct cli_view view; /* the first member: that is how its functions get here */
    struct cli_launch *launch;
    const struct cli_gather *gather;
    resmon_monitor *monitor; /* NULL: there is no page */
    bool has_page;
    resmon_run *run; /* the latest; NULL: none */
    resmon_run *parts[CLI_WATCH_PARTS];
    size_t part_count;
};

/** Takes the terminal for a page, before the command begins; false, and a line that says why. */
bool cli_watch_open(struct cli_watch *watch);

/** Until the command has ended.  A key may end the page before: then what the command prints is
 * shown as it comes. */
void cli_watch_wait(struct cli_watch *watch);

/** Gives the terminal back, and shows what was printed. */
void cli_watch_close(struct cli_watch *watch);

#endif
