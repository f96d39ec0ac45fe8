/* SPDX-License-Identifier: MIT */
/*
 * Owns what all verbs use: messages on stderr, text on stdout, the width of a terminal, memory.
 */
#ifndef RESMON_CLI_SAY_H
#define RESMON_CLI_SAY_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>

#include <resmon/status.h>

/** Prints a message on stderr in one write: "resmon run: ..."; `verb` NULL: "resmon: ...". */
__attribute__((format(printf, 2, 3))) void cli_say(const char *verb, const char *format, ...);

/** Replaces control characters by '?', as names of files and commands may have any bytes. */
void cli_clean(char *text);

/** Whether a call of the library succeeded; if not, its error is printed. */
bool cli_check(const char *verb, resmon_status status);

/** The library's last error, without the path of the file in front. */
const char *cli_reason(const char *path);

/** As realloc(); without memory, the command exits. */
void *cli_grow(void *memory, unsigned long bytes);

/** Blocks SIGTTOU and returns the signal mask from before.  With SIGTTOU blocked, a background
 * process may write to the terminal and set its modes: termios(3), TOSTOP.  Async-signal-safe. */
sigset_t cli_block_ttou(void);

/** Writes all bytes, also to a non-blocking file.  False, and errno: the write failed.
 * Async-signal-safe. */
bool cli_write(int fd, const char *bytes, size_t length);

/** Writes a text to stdout and flushes it.  False, and a message: stdout cannot be written. */
bool cli_print(const char *verb, const char *text);

/** Prints to stdout the text that a call of the library with this status returned, and frees it.
 * False, and a message: the call failed, or stdout cannot be written. */
bool cli_print_made(const char *verb, resmon_status status, char *text);

/** Columns of the terminal on a descriptor, or else of the variable COLUMNS; 0: neither. */
unsigned cli_columns(int fd);

#endif
