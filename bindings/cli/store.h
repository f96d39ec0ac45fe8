/* SPDX-License-Identifier: MIT */
/*
 * Owns where benchmarks are kept by a name: .resmon/NAME.json below the working directory; and text
 * files, which are there as a whole or not at all.
 */
#ifndef RESMON_CLI_STORE_H
#define RESMON_CLI_STORE_H

#include <stdbool.h>

#define CLI_STORE_DIRECTORY  ".resmon"
#define CLI_STORE_PATH_BYTES 512U
#define CLI_STDOUT           "/dev/stdout" /* what -o - stands for */

/** The path of what was kept under a name; false: a file has this name, or nothing was kept. */
bool cli_store_find(const char *name, char path[CLI_STORE_PATH_BYTES]);

/** The path for a name, in a directory that is made; false, and a line that says why. */
bool cli_store_make(const char *verb, const char *name, char path[CLI_STORE_PATH_BYTES]);

/** The directory for files that are soon gone: that of TMPDIR, or /tmp. */
const char *cli_store_temporary(void);

/** Writes a text beside the file, and puts it in its place; CLI_STDOUT: to stdout.  False, and a
 * line that says why. */
bool cli_store_write(const char *verb, const char *path, const char *text);

#endif
