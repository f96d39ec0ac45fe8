/* SPDX-License-Identifier: MIT */
/*
 * Owns the terminal as a whole page: ncurses, which is loaded when a page is wanted.
 */
#ifndef RESMON_CLI_SCREEN_H
#define RESMON_CLI_SCREEN_H

#include <stdbool.h>
#include <stddef.h>

#include "frame.h"

#define CLI_KEY_NONE   (-1)
#define CLI_KEY_DOWN   258 /* as ncurses has them */
#define CLI_KEY_UP     259
#define CLI_KEY_RESIZE 410

/** Takes the terminal; false, and a line that says why. */
bool cli_screen_open(const char *verb);
void cli_screen_close(void);

unsigned cli_screen_columns(void);
unsigned cli_screen_rows(void);

/** Shows lines from `first` on, and one at the bottom. */
void cli_screen_show(const struct cli_frame *frame, size_t first, const char *bottom);

/** A key, waited for that long; CLI_KEY_NONE. */
int cli_screen_key(int milliseconds);

#endif
