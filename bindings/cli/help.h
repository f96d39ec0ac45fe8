/* SPDX-License-Identifier: MIT */
/*
 * Owns the texts about the command: help and completions of shells, made from commands.def and the
 * tables of the library.
 */
#ifndef RESMON_CLI_HELP_H
#define RESMON_CLI_HELP_H

#include <stdbool.h>

#include "command.h"

/** Help of a verb: one screen, or all; NULL: of the command as a whole.  False: stdout cannot be
 * written to. */
bool cli_help_print(const struct cli_command *command, bool is_all);

/** False, and a line that says why, also of a shell that is none of bash, zsh and fish. */
bool cli_help_completion(const char *shell);

#endif
