/* SPDX-License-Identifier: MIT */
/*
 * Owns the texts about the command: help, the manual page, completions of shells; all of
 * commands.def and the library's tables.
 */
#ifndef RESMON_CLI_HELP_H
#define RESMON_CLI_HELP_H

#include <stdbool.h>

#include "command.h"

/** Examples first; NULL: of the command as a whole.  False: stdout cannot be written to. */
bool cli_help_print(const struct cli_command *command);

/** The manual page as roff. */
bool cli_help_manual(void);

/** False, and a line that says why, also of a shell that is none of bash, zsh and fish. */
bool cli_help_completion(const char *shell);

#endif
