/* SPDX-License-Identifier: MIT */
/*
 * Owns what a command prints while a page has its terminal: it goes to a file without a name, in
 * TMPDIR, and from there to the terminal when the page is gone.
 */
#ifndef RESMON_CLI_KEPT_H
#define RESMON_CLI_KEPT_H

#include <stdbool.h>
#include <sys/types.h>

#include "frame.h"

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

/** Writes to the terminal what it has not had yet. */
void cli_kept_show(struct cli_kept *kept);

/** Adds the last lines to a page. */
void cli_kept_add(const struct cli_kept *kept, struct cli_frame *frame);

#endif
