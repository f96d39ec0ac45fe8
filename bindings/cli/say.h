/* SPDX-License-Identifier: MIT */
/*
 * Owns what every verb needs of this process: lines on stderr, each in one write, whatever becomes
 * of it; text on stdout; the width of a terminal; memory.
 */
#ifndef RESMON_CLI_SAY_H
#define RESMON_CLI_SAY_H

#include <stdbool.h>
#include <stddef.h>

#include <resmon/status.h>

/** A line, of what verb ("resmon run: ..."; NULL: of none). */
__attribute__((format(printf, 2, 3))) void cli_say(const char *verb, const char *format, ...);

/** Names of files and commands are anybody's: what a terminal would obey is shown as '?'. */
void cli_clean(char *text);

/** Whether a call of the library succeeded; if not, its error is printed. */
bool cli_check(const char *verb, resmon_status status);

/** The library's last error, without the path of the file in front. */
const char *cli_reason(const char *path);

/** Memory that can be had; else the end of the command. */
void *cli_grow(void *memory, unsigned long bytes);

/** Writes all bytes, also to a terminal that has no room just now.  False, and errno: nobody can
 * read them any more.  Async-signal-safe. */
bool cli_write(int fd, const char *bytes, size_t length);

/** Writes all of a text to stdout; false, and a line that says why: it could not be. */
bool cli_print(const char *verb, const char *text);

/** Prints to stdout the text that a call of the library with this status returned, and frees it.
 * False, and a message: the call failed, or stdout cannot be written. */
bool cli_print_made(const char *verb, resmon_status status, char *text);

/** Columns of the terminal that a descriptor is, or what the variable COLUMNS says; 0: neither. */
unsigned cli_columns(int fd);

#endif
