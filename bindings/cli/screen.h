/* SPDX-License-Identifier: MIT */
/*
 * Owns the full-screen terminal, by the control sequences of ECMA-48.  It is the terminal of stdin
 * and stdout, else of stderr, else of the session.  It is restored at any end of this process but
 * SIGKILL.
 */
#ifndef RESMON_CLI_SCREEN_H
#define RESMON_CLI_SCREEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "frame.h"

#define CLI_KEY_NONE   (-1)
#define CLI_KEY_ESCAPE 27
#define CLI_KEY_DOWN   256 /* above all bytes */
#define CLI_KEY_UP     257

/** Opens the full-screen terminal.  False, and a message with the alternative `instead`: there is
 * no terminal for it. */
bool cli_screen_open(const char *verb, const char *instead);

/** Restores the terminal; does nothing if it is not open. */
void cli_screen_close(void);

/** Restores the terminal until the next page is shown, before this process stops or ends.
 * Async-signal-safe. */
void cli_screen_pause(void);

unsigned cli_screen_columns(void);
unsigned cli_screen_rows(void);

/** Shows lines from `first` on, with the scope `selected` marked, and a bottom line. */
void cli_screen_show(const struct cli_frame *frame, size_t first, uint64_t selected,
                     const char *bottom);

/** Waits for a key, the timeout, or until `fd` (below 0: none) is readable; returns the key or
 * CLI_KEY_NONE. */
int cli_screen_key(int fd, int milliseconds);

/** Whether the terminal still exists. */
bool cli_screen_is_there(void);

#endif
