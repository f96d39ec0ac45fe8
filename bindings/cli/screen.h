/* SPDX-License-Identifier: MIT */
/*
 * Owns the terminal as a whole page, by the control sequences of ECMA-48.  The terminal is that of
 * stdin and stdout, or of stderr, or of the session where these are no terminals.  However this
 * process ends, the terminal is given back, except by SIGKILL.
 */
#ifndef RESMON_CLI_SCREEN_H
#define RESMON_CLI_SCREEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "frame.h"

#define CLI_KEY_NONE   (-1)
#define CLI_KEY_ESCAPE 27
#define CLI_KEY_DOWN   256 /* no byte has these */
#define CLI_KEY_UP     257

/** Takes the terminal; false, and a line that says why, with what is to be done `instead`. */
bool cli_screen_open(const char *verb, const char *instead);

/** Gives it back; nothing, if it is not ours. */
void cli_screen_close(void);

/** Gives it back until the next page is shown: this process is about to be stopped, or to end.
 * Async-signal-safe. */
void cli_screen_pause(void);

unsigned cli_screen_columns(void);
unsigned cli_screen_rows(void);

/** Shows lines from `first` on, those of the scope `selected` marked, and one at the bottom. */
void cli_screen_show(const struct cli_frame *frame, size_t first, uint64_t selected,
                     const char *bottom);

/** Waits for a key that long, or until `fd` (below 0: none) can be read; a key, or CLI_KEY_NONE. */
int cli_screen_key(int fd, int milliseconds);

/** Whether somebody is there to see it: a terminal that has gone away is none. */
bool cli_screen_is_there(void);

#endif
